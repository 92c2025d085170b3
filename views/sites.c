// SPDX-License-Identifier: Apache-2.0
#include "views/sites.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/io.h"
#include "views/stack_places.h"

#include <stdlib.h>
#include <string.h>

enum { VIA_SHOWN = 3 };

struct building {
	const struct named_profile *named;
	const struct site_options *options;
	struct site_list *list;
	size_t *first_path; // of the items, index into list->paths: these may still move
	double *most;       // of the items: size of `sample`
	size_t path_count, path_room, item_room, first_room, most_room;
	struct stack_buffer stack; // of the sample at hand
	struct hash_table numbers; // of the items, by their paths
};

struct path {
	const uint32_t *places;
	uint32_t length;
};

static enum frame_class class_of(const struct building *building, uint32_t place)
{
	return building->named->places[place].judgement.class;
}

static bool runs_other_code(const struct building *building, uint32_t place)
{
	const enum frame_role role = building->named->places[place].judgement.role;

	return role == ROLE_INTERPRETER || role == ROLE_MADE_CODE;
}

// Code without a name of its own says less than what has called it, or what it has called.
static bool is_nameless(const struct building *building, uint32_t place)
{
	return place_of(building->named, place)->function == UINT32_MAX;
}

// Everything is below it.
static bool is_start(const struct building *building, uint32_t place)
{
	const struct code_place *code = place_of(building->named, place);

	return code->judgement.role == ROLE_START || strcmp(code->full_name, "main") == 0;
}

// The innermost own place that has a name and is not where the program starts; else the innermost own one. `none`:
// there is none.
static size_t find_own(const struct building *building, size_t none)
{
	size_t own = none;

	for (size_t i = 0; i < building->stack.count; i++) {
		const uint32_t place = building->stack.items[i];

		if (class_of(building, place) != FRAME_OWN)
			continue;
		if (own == none)
			own = i;
		if (!is_nameless(building, place) && !is_start(building, place))
			return i;
	}
	return own;
}

// Where in the stack the site is; stack_count = the stack is unknown.
static size_t find_site(const struct building *building, bool *own_ret)
{
	const size_t none = building->stack.count;
	const size_t own = find_own(building, none);
	size_t first = none, last = none, called = none; // that are no plumbing; `called` by an interpreter

	*own_ret = own != none;
	if (own != none)
		return own;
	for (size_t i = 0; i < building->stack.count; i++) {
		const uint32_t place = building->stack.items[i];

		if (frame_class_is_plumbing(class_of(building, place)))
			continue;
		if (called == none && runs_other_code(building, place))
			called = last != none ? last : i;
		if (first == none)
			first = i;
		if (last == none || !is_nameless(building, place) || is_nameless(building, building->stack.items[last]))
			last = i;
	}
	if (called != none)
		return called;
	return first != none ? first : none ? none - 1 : 0;
}

// Writes the path of the stack at hand behind the others. Of a site with a name, nothing nameless led to it.
static struct hs_error *put_path(struct building *building, size_t site, bool is_own, struct path *ret)
{
	struct site_list *list = building->list;
	const bool is_named = site < building->stack.count && !is_nameless(building, building->stack.items[site]);
	size_t end = building->path_count;
	struct hs_error *error = ARRAY_RESERVE(list->paths, end + building->stack.count + 1, &building->path_room);

	if (error)
		return error;
	if (site < building->stack.count)
		list->paths[end++] = building->stack.items[site];
	for (size_t i = site + 1; is_own && i < building->stack.count; i++)
		if (class_of(building, building->stack.items[i]) == FRAME_OWN &&
		    !(is_named && is_nameless(building, building->stack.items[i])))
			list->paths[end++] = building->stack.items[i];
	*ret = (struct path){ list->paths + building->path_count, (uint32_t)(end - building->path_count) };
	return NULL;
}

static bool is_path(const void *elements, uint32_t number, const void *wanted)
{
	const struct building *building = elements;
	const struct path *path = wanted;
	const struct site *item = &building->list->items[number];

	return item->path_length == path->length && memcmp(building->list->paths + building->first_path[number],
							   path->places, path->length * sizeof(*path->places)) == 0;
}

static const char *via_word(const struct code_place *place)
{
	// The site is outside of it: one word for all such code.
	if (place->judgement.class == FRAME_OWN)
		return "code without a name";
	return place->judgement.via ? place->judgement.via : place->name;
}

// Whether a list of words, separated by ", ", has this one.
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *found = strstr(list, word); found; found = strstr(found + 1, word))
		if ((found == list || found[-1] == ' ') && (!found[length] || found[length] == ','))
			return true;
	return false;
}

// What lies between the allocator and the site, innermost first.
static struct hs_error *make_via(const struct building *building, size_t site, char **ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = hs_format(&text, "%s", "");
	unsigned shown = 0;

	for (size_t i = 0; i < site && i < building->stack.count && !error; i++) {
		const struct code_place *place = place_of(building->named, building->stack.items[i]);
		char *longer;

		if (place->judgement.class == FRAME_ALLOCATOR || has_word(text, via_word(place)))
			continue;
		error = hs_format(&longer, "%s%s%s", text, shown ? ", " : "",
				  shown == VIA_SHOWN ? "..." : via_word(place));
		if (error)
			break;
		free(text);
		text = longer;
		if (shown++ == VIA_SHOWN)
			break;
	}
	*ret = error ? NULL : HS_STEAL_POINTER(text);
	return error;
}

static struct hs_error *add_site(struct building *building, struct hash_slot *slot, uint64_t hash, struct path path,
				 bool is_own)
{
	struct site_list *list = building->list;
	struct hs_error *error = ARRAY_RESERVE(list->items, list->count + 1, &building->item_room);

	if (!error)
		error = ARRAY_RESERVE(building->first_path, list->count + 1, &building->first_room);
	if (!error)
		error = ARRAY_RESERVE(building->most, list->count + 1, &building->most_room);
	if (error)
		return error;
	hash_table_put(&building->numbers, slot, hash, (uint32_t)list->count);
	list->items[list->count] =
		(struct site){ .path_length = path.length, .is_own = is_own, .found = (uint32_t)list->count };
	building->first_path[list->count] = building->path_count;
	building->most[list->count] = 0;
	building->path_count += path.length;
	list->count++;
	return NULL;
}

static struct hs_error *add_sample(struct building *building, uint32_t index)
{
	const struct profile_sample *sample = &building->named->profile->samples[index];
	struct hs_error *error = stack_places(building->named, sample, &building->stack);
	struct hash_slot *slot;
	struct path path;
	const double size = values_size(&sample->values, building->options->order);
	struct site *item;
	uint64_t hash;
	size_t site;
	bool is_own;

	if (error)
		return error;
	site = find_site(building, &is_own);
	error = put_path(building, site, is_own, &path);
	if (!error)
		error = hash_table_reserve(&building->numbers);
	if (error)
		return error;
	hash = keyed_hash(&building->numbers.key, path.places, path.length * sizeof(*path.places));
	slot = hash_table_find(&building->numbers, hash, is_path, building, &path);
	if (!hash_slot_is_used(slot))
		error = add_site(building, slot, hash, path, is_own);
	if (error)
		return error;

	uint32_t number = hash_slot_number(slot);

	building->list->of_samples[index] = number;
	item = &building->list->items[number];
	item->stack_count++;
	profile_values_add(&item->values, &sample->values);
	if (item->stack_count > 1 && size <= building->most[number])
		return NULL;
	building->most[number] = size;
	item->sample = index;
	free(item->via);
	item->via = NULL;
	return make_via(building, site, &item->via);
}

static int compare_paths(const struct named_profile *named, const struct site *a, const struct site *b)
{
	for (uint32_t i = 0; i < a->path_length && i < b->path_length; i++) {
		const struct code_place *left = place_of(named, a->path[i]), *right = place_of(named, b->path[i]);
		int order = strcmp(left->full_name, right->full_name);

		if (!order)
			order = strcmp(left->file, right->file);
		if (!order)
			order = (left->line > right->line) - (left->line < right->line);
		if (order)
			return order;
	}
	return (a->path_length > b->path_length) - (a->path_length < b->path_length);
}

static int by_name(const void *left, const void *right, void *building)
{
	return compare_paths(((const struct building *)building)->named, left, right);
}

static int by_size(const void *left, const void *right, void *of)
{
	const struct building *building = of;
	const struct site *a = left, *b = right;
	const struct profile_values *x = &a->values, *y = &b->values;
	const double a_size = values_size(x, building->options->order),
		     b_size = values_size(y, building->options->order);
	int order = (a_size < b_size) - (a_size > b_size);

	if (!order)
		order = (x->live_bytes < y->live_bytes) - (x->live_bytes > y->live_bytes);
	if (!order)
		order = (x->alloc_bytes < y->alloc_bytes) - (x->alloc_bytes > y->alloc_bytes);
	return order ? order : compare_paths(building->named, a, b);
}

// Numbers of sites in the order in which they were found become those of the sorted list.
static struct hs_error *number_samples(struct site_list *list, size_t sample_count)
{
	HS_CLEANUP_FREE uint32_t *sorted = calloc(list->count + 1, sizeof(*sorted));

	if (!sorted)
		return &hs_error_no_memory;
	for (size_t i = 0; i < list->count; i++)
		sorted[list->items[i].found] = (uint32_t)i;
	for (size_t i = 0; i < sample_count; i++)
		if (list->of_samples[i] != UINT32_MAX)
			list->of_samples[i] = sorted[list->of_samples[i]];
	return NULL;
}

struct hs_error *sites_make_of(const struct named_profile *named, const struct site_options *options,
			       struct site_list *ret)
{
	struct building building = { .named = named, .options = options, .list = ret };
	const size_t sample_count = named->profile->sample_count;
	struct hs_error *error;

	*ret = (struct site_list){ .of_samples = malloc((sample_count + 1) * sizeof(*ret->of_samples)) };
	error = ret->of_samples ? NULL : &hs_error_no_memory;
	for (size_t i = 0; i < sample_count && !error; i++)
		ret->of_samples[i] = UINT32_MAX;
	for (size_t i = 0; i < sample_count && !error; i++)
		if (!options->kept || options->kept[i])
			error = add_sample(&building, (uint32_t)i);
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i].path = ret->paths + building.first_path[i];
	if (!error && ret->count)
		qsort_r(ret->items, ret->count, sizeof(*ret->items), options->order == ORDER_NAME ? by_name : by_size,
			&building);
	if (!error)
		error = number_samples(ret, sample_count);
	free(building.first_path);
	free(building.most);
	stack_buffer_deinit(&building.stack);
	hash_table_deinit(&building.numbers);
	if (error)
		sites_deinit(ret);
	return error;
}

struct hs_error *sites_make(const struct named_profile *named, struct site_list *ret)
{
	return sites_make_of(named, &(struct site_options){ .order = ORDER_LIVE }, ret);
}

struct hs_error *site_samples(const struct named_profile *named, const struct site *site, bool **kept_ret)
{
	struct site_list scratch = { 0 }; // for one path at a time
	struct building building = { .named = named, .list = &scratch };
	bool *kept = calloc(named->profile->sample_count + 1, sizeof(*kept));
	struct hs_error *error = kept ? NULL : &hs_error_no_memory;
	struct path path = { 0 };
	bool is_own;

	for (size_t i = 0; i < named->profile->sample_count && !error; i++) {
		error = stack_places(named, &named->profile->samples[i], &building.stack);
		if (error)
			break;
		const size_t at = find_site(&building, &is_own);

		error = put_path(&building, at, is_own, &path);
		kept[i] = !error && path.length == site->path_length &&
			  memcmp(path.places, site->path, path.length * sizeof(*path.places)) == 0;
	}
	stack_buffer_deinit(&building.stack);
	sites_deinit(&scratch);
	if (error) {
		free(kept);
		kept = NULL;
	}
	*kept_ret = kept;
	return error;
}

void sites_deinit(struct site_list *sites)
{
	for (size_t i = 0; i < sites->count; i++)
		free(sites->items[i].via);
	free(sites->items);
	free(sites->paths);
	free(sites->of_samples);
	*sites = (struct site_list){ 0 };
}

struct hs_error *site_path_text(const struct named_profile *named, const struct site *site, uint32_t first,
				uint32_t limit, char **ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = hs_format(&text, "%s", "");

	for (uint32_t i = first; i < site->path_length && i - first < limit && !error; i++) {
		char *longer;

		error = hs_format(&longer, "%s%s%s", text, *text ? " < " : "", place_of(named, site->path[i])->name);
		if (error)
			break;
		free(text);
		text = longer;
	}
	*ret = error ? NULL : HS_STEAL_POINTER(text);
	return error;
}
