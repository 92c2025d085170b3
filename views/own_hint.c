// SPDX-License-Identifier: Apache-2.0
#include "views/own_hint.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "views/place_groups.h"

#include <stdlib.h>
#include <string.h>

#define SHARE_LEAST  0.8 // of what all sites hold, in one
#define WITHIN_LEAST 0.5 // of what that one holds: how much a library must be on the way to
enum {
	STACKS_LEAST = 8, // of one site: fewer hide nothing
	LIBRARIES_MOST = 3,
	NAME_MOST = 64
};

// What one library is on the way to.
struct library {
	double weight;
	size_t last_sample; // + 1, that was counted
};

// Nobody's own code, whatever is in it.
static bool is_everybodys(const char *module)
{
	static const char *const beginnings[] = { "libc.", "libc-",       "libstdc++",  "libc++", "libgcc_s",
						  "libm.", "libpthread.", "ld-",        "libdl.", "librt.",
						  "libm-", "ld.",         "linux-vdso", "[",      "libheapsnap" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(module, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

// The name up to ".so"; 0 = not fit to be written on a command line.
static size_t name_size(const char *module)
{
	static const char fit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *end = strstr(module, ".so");
	size_t size = end ? (size_t)(end - module) : 0;

	return size <= NAME_MOST && strspn(module, fit) >= size ? size : 0;
}

// Whether --own would make own code of it: only by where it lies is it a library's. What a rule knows by its name stays
// what it is.
static bool is_library(const struct code_place *place)
{
	return place->judgement.class == FRAME_LIBRARY &&
	       strncmp(place->judgement.why, "pattern ", strlen("pattern ")) != 0 && !is_everybodys(place->module) &&
	       name_size(place->module) > 0;
}

static struct hs_error *count_libraries(const struct place_groups *groups, const bool *of_site,
					const struct site_options *options, struct library *libraries)
{
	const struct named_profile *named = groups->named;
	struct stack_buffer stack = { 0 };
	struct hs_error *error = NULL;

	for (size_t i = 0; i < named->profile->sample_count && !error; i++) {
		if (!of_site[i] || (options->kept && !options->kept[i]))
			continue;
		error = stack_places(named, &named->profile->samples[i], &stack);
		for (size_t k = 0; k < stack.count && !error; k++) {
			struct library *library = &libraries[groups->of_place[stack.items[k]]];

			if (library->last_sample == i + 1 || !is_library(place_of(named, stack.items[k])))
				continue;
			library->last_sample = i + 1;
			library->weight += values_weight(&named->profile->samples[i].values, options->order);
		}
	}
	stack_buffer_deinit(&stack);
	return error;
}

// The library that is on the way to most of what is left; SIZE_MAX = none to enough.
static size_t take_most(struct library *libraries, size_t count, double least)
{
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < count; i++)
		if (libraries[i].weight >= least && (most == SIZE_MAX || libraries[i].weight > libraries[most].weight))
			most = i;
	if (most != SIZE_MAX)
		libraries[most].weight = -1;
	return most;
}

static struct hs_error *write_regex(const struct place_groups *groups, struct library *libraries, double least,
				    char **ret)
{
	struct hs_error *error = NULL;

	for (int i = 0; i < LIBRARIES_MOST && !error; i++) {
		HS_CLEANUP_FREE char *before = *ret;
		const size_t most = take_most(libraries, groups->count - 1, least);
		const char *module;

		if (most == SIZE_MAX) {
			before = NULL;
			break;
		}
		module = place_of(groups->named, groups->example[most])->module;
		*ret = NULL;
		error = hs_format(ret, "%s%s%.*s", before ? before : "", before ? "|" : "", (int)name_size(module),
				  module);
	}
	return error;
}

// The site that stands for nearly everything; NULL = none does.
static const struct site *dominant(const struct site_list *sites, enum values_order order, double *weight_ret,
				   double *share_ret)
{
	const struct site *most = NULL;
	double all = 0;

	*weight_ret = 0;
	for (size_t i = 0; i < sites->count; i++) {
		const double weight = values_weight(&sites->items[i].values, order);

		all += weight;
		if (!most || weight > *weight_ret) {
			most = &sites->items[i];
			*weight_ret = weight;
		}
	}
	*share_ret = all > 0 ? *weight_ret / all : 0;
	return *share_ret >= SHARE_LEAST && most->is_own && most->stack_count >= STACKS_LEAST ? most : NULL;
}

struct hs_error *own_hint_make(const struct named_profile *named, const struct site_list *sites,
			       const struct site_options *options, struct own_hint *ret)
{
	HS_CLEANUP_FREE struct library *libraries = NULL;
	HS_CLEANUP_FREE bool *of_site = NULL;
	struct place_groups groups = { 0 };
	const struct site *site;
	struct hs_error *error;
	double weight;

	*ret = (struct own_hint){ 0 };
	site = named->profile->is_difference ? NULL : dominant(sites, options->order, &weight, &ret->share);
	if (!site)
		return NULL;
	error = place_groups_make(named, UNIT_MODULE, &groups);
	if (!error) {
		libraries = calloc(groups.count, sizeof(*libraries));
		error = libraries ? site_samples(named, site, &of_site) : &hs_error_no_memory;
	}
	if (!error)
		error = count_libraries(&groups, of_site, options, libraries);
	if (!error)
		error = write_regex(&groups, libraries, WITHIN_LEAST * weight, &ret->regex);
	place_groups_deinit(&groups);
	if (error)
		own_hint_deinit(ret);
	return error;
}

void own_hint_deinit(struct own_hint *hint)
{
	free(hint->regex);
	*hint = (struct own_hint){ 0 };
}
