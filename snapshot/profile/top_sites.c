// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/top_sites.h"

#include "base/io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The position in the sample's frames of the innermost one that is not the allocator's; the outermost when all are.
static uint32_t site_frame(const struct heap_profile *profile, const struct profile_sample *sample)
{
	uint32_t frame = 0;

	while (frame + 1 < sample->frame_count &&
	       profile->locations[profile->frames[sample->first_frame + frame]].is_allocator)
		frame++;
	return frame;
}

// What a location without a symbol is called: "module+0x1234".
static struct hs_error *name_address(const struct heap_profile *profile, const struct profile_location *location,
				     char **ret)
{
	bool known = location->module < profile->module_count;
	const char *path = known ? profile->modules[location->module].path : profile->mappings[location->mapping].file;
	const char *base = strrchr(path, '/');

	return hs_format(ret, "%s+0x%" PRIx64, base ? base + 1 : path,
			 known ? location->address - profile->modules[location->module].load_bias
			       : location->address - profile->mappings[location->mapping].start +
					 profile->mappings[location->mapping].file_offset);
}

static const struct profile_line *line_of(const struct heap_profile *profile, const struct profile_location *location,
					  uint32_t index)
{
	return &profile->lines[location->first_line + index];
}

static struct hs_error *describe(const struct heap_profile *profile, const struct profile_sample *sample,
				 struct heap_site *site)
{
	const struct profile_location *location;

	*site = (struct heap_site){ .file = "" };
	if (sample->frame_count == 0)
		return hs_format(&site->function, "[stack unknown]");
	location = &profile->locations[profile->frames[sample->first_frame + site_frame(profile, sample)]];
	if (location->line_count == 0)
		return name_address(profile, location, &site->function);
	site->file = profile->functions[line_of(profile, location, 0)->function].file;
	site->line = line_of(profile, location, 0)->line;
	return hs_format(&site->function, "%s", profile->functions[line_of(profile, location, 0)->function].name);
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
	int order = (a->values.live_bytes < b->values.live_bytes) - (a->values.live_bytes > b->values.live_bytes);

	if (!order)
		order = (a->values.alloc_bytes < b->values.alloc_bytes) -
			(a->values.alloc_bytes > b->values.alloc_bytes);
	return order ? order : by_place(left, right);
}

// Adds neighbours that are the same place together; returns how many are left.
static size_t merge(struct heap_site *sites, size_t count)
{
	size_t kept = 0;
	int64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || by_place(&sites[kept - 1], &sites[i]) != 0) {
			sites[kept++] = sites[i];
			most = sites[i].values.live_bytes;
			continue;
		}
		if (sites[i].values.live_bytes > most) {
			most = sites[i].values.live_bytes;
			sites[kept - 1].sample = sites[i].sample;
		}
		profile_values_add(&sites[kept - 1].values, &sites[i].values);
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
		struct hs_error *error = describe(profile, sample, &sites[count]);

		if (error) {
			heap_sites_free(sites, count);
			return error;
		}
		sites[count].sample = (uint32_t)i;
		sites[count].values = sample->values;
		count++;
	}
	qsort(sites, count, sizeof(*sites), by_place);
	count = merge(sites, count);
	qsort(sites, count, sizeof(*sites), by_live_bytes);
	*sites_ret = sites;
	*count_ret = count;
	return NULL;
}

// Appends a name, owned by this function; "" begins the text.
static struct hs_error *append(char **text, const char *separator, char *name)
{
	char *longer;
	struct hs_error *error = hs_format(&longer, "%s%s%s", *text, **text ? separator : "", name);

	free(name);
	if (error)
		return error;
	free(*text);
	*text = longer;
	return NULL;
}

struct hs_error *heap_site_callers(const struct heap_profile *profile, const struct heap_site *site, unsigned limit,
				   const char *separator, char **text_ret)
{
	const struct profile_sample *sample = &profile->samples[site->sample];
	uint32_t skip = 1; // the site itself: the first line of the first frame
	struct hs_error *error = hs_format(text_ret, "%s", "");

	if (error)
		return error;
	for (uint32_t f = sample->frame_count ? site_frame(profile, sample) : 0; f < sample->frame_count && limit;
	     f++) {
		const struct profile_location *location = &profile->locations[profile->frames[sample->first_frame + f]];
		uint32_t lines = location->line_count ? location->line_count : 1;

		for (uint32_t i = skip; i < lines && limit && !error; i++, limit--) {
			char *name;

			if (location->line_count)
				error = hs_format(&name, "%s",
						  profile->functions[line_of(profile, location, i)->function].name);
			else
				error = name_address(profile, location, &name);
			if (!error)
				error = append(text_ret, separator, name);
		}
		skip = 0;
		if (error) {
			free(*text_ret);
			return error;
		}
	}
	return NULL;
}

void heap_sites_free(struct heap_site *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(sites[i].function);
	free(sites);
}
