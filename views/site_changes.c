// SPDX-License-Identifier: Apache-2.0
#include "views/site_changes.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct matching {
	struct site_changes *result;
	enum site_match match;
	struct site_keys keys; // as many as items
	size_t room;
};

static struct hs_error *add_site(struct matching *matching, const struct site *site, const uint32_t *numbers,
				 bool is_old)
{
	struct site_changes *result = matching->result;
	struct site_change *item;
	uint32_t number = 0;
	bool is_new = false;
	struct hs_error *error = site_keys_number(&matching->keys, site, numbers, &number, &is_new);

	if (!error)
		error = ARRAY_RESERVE(result->items, (size_t)number + 1, &matching->room);
	if (error)
		return error;
	item = &result->items[number];
	if (is_new) {
		*item = (struct site_change){ 0 };
		result->count++;
	}
	if (is_old && !item->old)
		item->old = site;
	if (!is_old && !item->new)
		item->new = site;
	profile_values_add(is_old ? &item->before : &item->after, &site->values);
	return NULL;
}

static struct hs_error *add_sites(struct matching *matching, const struct named_profile *named,
				  const struct site_list *sites, bool is_old)
{
	uint32_t *numbers = NULL;
	struct hs_error *error = site_keys_places(&matching->keys, named, matching->match, &numbers);

	for (size_t i = 0; i < sites->count && !error; i++)
		error = add_site(matching, &sites->items[i], numbers, is_old);
	free(numbers);
	return error;
}

static uint64_t rounded_up(double error) { return error < (double)UINT64_MAX ? (uint64_t)ceil(error) : UINT64_MAX; }

// Independent errors add up as the sides of a right angle do.
static void judge(struct site_change *item, const struct heap_profile *old, const struct heap_profile *new)
{
	const struct profile_values *before = &item->before, *after = &item->after;
	const double bytes = hypot((double)profile_bytes_error(old, before->live_bytes_variance),
				   (double)profile_bytes_error(new, after->live_bytes_variance)),
		     objects = hypot((double)profile_objects_error(old, before->live_objects_variance,
								   before->live_objects, before->live_bytes),
				     (double)profile_objects_error(new, after->live_objects_variance,
								   after->live_objects, after->live_bytes));

	item->change = values_subtract(after, before);
	item->bytes_error = rounded_up(bytes);
	item->objects_error = rounded_up(objects);
	item->is_significant = fabs((double)item->change.live_bytes) > 2 * bytes;
}

static const struct site_change *compared(const void *item) { return item; }

// Then the larger site, then the order of the lists.
static int by_site(const struct site_change *a, const struct site_change *b)
{
	const int64_t a_bytes = a->after.live_bytes, b_bytes = b->after.live_bytes;

	if (a_bytes != b_bytes)
		return a_bytes < b_bytes ? 1 : -1;
	if (!a->new != !b->new)
		return a->new ? -1 : 1;
	return a->new ? (a->new > b->new) - (a->new < b->new) : (a->old > b->old) - (a->old < b->old);
}

static int by_size(const void *left, const void *right)
{
	const struct site_change *a = compared(left), *b = compared(right);
	const double a_size = values_size(&a->change, ORDER_LIVE), b_size = values_size(&b->change, ORDER_LIVE);
	const double a_made = values_size(&a->change, ORDER_ALLOCATED),
		     b_made = values_size(&b->change, ORDER_ALLOCATED);
	int order = (a_size < b_size) - (a_size > b_size);

	if (!order)
		order = (a_made < b_made) - (a_made > b_made);
	return order ? order : by_site(a, b);
}

static int by_growth(const void *left, const void *right)
{
	const struct site_change *a = compared(left), *b = compared(right);
	int order = (a->change.live_bytes < b->change.live_bytes) - (a->change.live_bytes > b->change.live_bytes);

	if (!order)
		order = (a->change.alloc_bytes < b->change.alloc_bytes) -
			(a->change.alloc_bytes > b->change.alloc_bytes);
	return order ? order : by_site(a, b);
}

struct hs_error *site_changes_make(const struct named_profile *old_named, const struct site_list *old,
				   const struct named_profile *new_named, const struct site_list *new,
				   enum site_match match, enum site_change_order order, struct site_changes *ret)
{
	struct matching matching = { .result = ret, .match = match };
	struct hs_error *error;

	*ret = (struct site_changes){ 0 };
	error = add_sites(&matching, new_named, new, false);
	if (!error)
		error = add_sites(&matching, old_named, old, true);
	site_keys_deinit(&matching.keys);
	if (error) {
		site_changes_deinit(ret);
		return error;
	}
	for (size_t i = 0; i < ret->count; i++)
		judge(&ret->items[i], old_named->profile, new_named->profile);
	if (ret->count > 0)
		qsort(ret->items, ret->count, sizeof(*ret->items), order == CHANGES_BY_SIZE ? by_size : by_growth);
	return NULL;
}

struct sorting {
	const struct named_profile *old_named, *new_named;
	enum values_order order;
};

static const char *name_of(const struct sorting *sorting, const struct site_change *change)
{
	const struct site *site = change->new ? change->new : change->old;

	if (site->path_length == 0)
		return "";
	return place_of(change->new ? sorting->new_named : sorting->old_named, site->path[0])->full_name;
}

static int by_order(const void *left, const void *right, void *of)
{
	const struct sorting *sorting = of;
	const struct site_change *a = compared(left), *b = compared(right);
	const double a_size = values_size(&a->change, sorting->order), b_size = values_size(&b->change, sorting->order);
	int order = sorting->order == ORDER_NAME ? strcmp(name_of(sorting, a), name_of(sorting, b))
						 : (a_size < b_size) - (a_size > b_size);

	return order ? order : by_size(left, right);
}

void site_changes_sort(struct site_changes *changes, const struct named_profile *old_named,
		       const struct named_profile *new_named, enum values_order order)
{
	struct sorting sorting = { old_named, new_named, order };

	if (changes->count > 0)
		qsort_r(changes->items, changes->count, sizeof(*changes->items), by_order, &sorting);
}

void site_changes_deinit(struct site_changes *changes)
{
	free(changes->items);
	*changes = (struct site_changes){ 0 };
}
