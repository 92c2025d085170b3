// SPDX-License-Identifier: Apache-2.0
#include "snapshot/top_sites.h"

#include "base/io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct profile_location *site_of(const struct heap_profile *profile, const struct profile_sample *sample)
{
	const struct profile_location *location = NULL;

	for (uint32_t i = 0; i < sample->frame_count; i++) {
		location = &profile->locations[profile->frames[sample->first_frame + i]];
		if (!location->is_allocator)
			break;
	}
	return location;
}

static struct hs_error *describe(const struct heap_profile *profile, const struct profile_location *location, struct heap_site *site)
{
	const char *path, *base;

	*site = (struct heap_site){ .file = "" };
	if (location && location->line_count) {
		const struct profile_line *line = &profile->lines[location->first_line];
		const struct profile_function *function = &profile->functions[line->function];

		site->file = function->file;
		site->line = line->line;
		site->function = strdup(function->name);
		return site->function ? NULL : &hs_error_no_memory;
	}
	if (!location) {
		site->function = strdup("[no stack]");
		return site->function ? NULL : &hs_error_no_memory;
	}
	path = location->module < profile->module_count ? profile->modules[location->module].path : profile->mappings[location->mapping].file;
	base = strrchr(path, '/');
	return hs_format(&site->function, "%s+0x%" PRIx64, base ? base + 1 : path,
			 location->module < profile->module_count ? location->address - profile->modules[location->module].load_bias
								  : location->address);
}

static int by_place(const void *left, const void *right)
{
	const struct heap_site *a = left, *b = right;
	int order = strcmp(a->function, b->function);

	if (!order)
		order = strcmp(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_live_bytes(const void *left, const void *right)
{
	const struct heap_site *a = left, *b = right;
	int order = (a->live_bytes < b->live_bytes) - (a->live_bytes > b->live_bytes);

	if (!order)
		order = (a->alloc_bytes < b->alloc_bytes) - (a->alloc_bytes > b->alloc_bytes);
	return order ? order : by_place(left, right);
}

// Adds neighbours that are the same place together; returns how many are left.
static size_t merge(struct heap_site *sites, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || by_place(&sites[kept - 1], &sites[i]) != 0) {
			sites[kept++] = sites[i];
			continue;
		}
		sites[kept - 1].live_objects += sites[i].live_objects;
		sites[kept - 1].live_bytes += sites[i].live_bytes;
		sites[kept - 1].alloc_objects += sites[i].alloc_objects;
		sites[kept - 1].alloc_bytes += sites[i].alloc_bytes;
		free(sites[i].function);
	}
	return kept;
}

struct hs_error *heap_sites_make(const struct heap_profile *profile, struct heap_site **sites_ret, size_t *count_ret)
{
	struct heap_site *sites = calloc(profile->sample_count + 1, sizeof(*sites));
	size_t count = 0;

	if (!sites)
		return &hs_error_no_memory;
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct hs_error *error = describe(profile, site_of(profile, sample), &sites[count]);

		if (error) {
			heap_sites_free(sites, count);
			return error;
		}
		sites[count].live_objects = sample->live_objects;
		sites[count].live_bytes = sample->live_bytes;
		sites[count].alloc_objects = sample->alloc_objects;
		sites[count].alloc_bytes = sample->alloc_bytes;
		count++;
	}
	qsort(sites, count, sizeof(*sites), by_place);
	count = merge(sites, count);
	qsort(sites, count, sizeof(*sites), by_live_bytes);
	*sites_ret = sites;
	*count_ret = count;
	return NULL;
}

void heap_sites_free(struct heap_site *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(sites[i].function);
	free(sites);
}
