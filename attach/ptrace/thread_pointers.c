// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/thread_pointers.h"

#include <stdlib.h>

static int compare_words(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

struct hs_error *thread_pointers_list(const struct frozen_process *frozen, struct thread_pointers *ret)
{
	ret->items = calloc(frozen->count + 1, sizeof(*ret->items));
	ret->count = frozen->count;
	if (!ret->items)
		return &hs_error_no_memory;
	for (size_t i = 0; i < frozen->count; i++)
		ret->items[i] = registers_thread_pointer(&frozen->threads[i].registers);
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_words);
	return NULL;
}

void thread_pointers_deinit(struct thread_pointers *pointers)
{
	free(pointers->items);
	*pointers = (struct thread_pointers){ 0 };
}

size_t thread_pointers_users(const struct thread_pointers *pointers, uint64_t pointer)
{
	const uint64_t *items = pointers->items, *end = items + pointers->count;
	const uint64_t *found = bsearch(&pointer, items, pointers->count, sizeof(*items), compare_words);

	if (!found)
		return 0;
	return (found > items && found[-1] == pointer) || (found + 1 < end && found[1] == pointer) ? 2 : 1;
}
