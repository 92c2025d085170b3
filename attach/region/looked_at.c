// SPDX-License-Identifier: Apache-2.0
#include "attach/region/looked_at.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

// The index of the first item whose tid is not below.
static size_t place_of(const struct looked_at_list *list, pid_t tid)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct looked_at *looked_at_find(const struct looked_at_list *list, pid_t tid)
{
	size_t place = place_of(list, tid);

	return place < list->count && list->items[place].tid == tid ? &list->items[place] : NULL;
}

struct hs_error *looked_at_make(struct looked_at_list *list, pid_t tid, struct looked_at **ret)
{
	size_t place = place_of(list, tid);

	*ret = looked_at_find(list, tid);
	if (*ret)
		return NULL;
	if (ARRAY_RESERVE(list->items, list->count + 1, &list->room))
		return &hs_error_no_memory;
	memmove(list->items + place + 1, list->items + place, (list->count - place) * sizeof(*list->items));
	list->count++;
	*ret = &list->items[place];
	**ret = (struct looked_at){ .tid = tid };
	return NULL;
}

void looked_at_deinit(struct looked_at_list *list)
{
	free(list->items);
	*list = (struct looked_at_list){ 0 };
}
