// SPDX-License-Identifier: Apache-2.0
#include "snapshot/heap_profile.h"

#include <stdlib.h>
#include <string.h>

static void add(int64_t *to, int64_t from)
{
	if (__builtin_add_overflow(*to, from, to))
		*to = from > 0 ? INT64_MAX : INT64_MIN;
}

void profile_values_add(struct profile_values *to, const struct profile_values *from)
{
	add(&to->alloc_objects, from->alloc_objects);
	add(&to->alloc_bytes, from->alloc_bytes);
	add(&to->temporary_objects, from->temporary_objects);
	add(&to->live_objects, from->live_objects);
	add(&to->live_bytes, from->live_bytes);
	to->live_records += from->live_records;
	to->live_objects_variance += from->live_objects_variance;
	to->live_bytes_variance += from->live_bytes_variance;
}

const char *profile_guess_base(const char *text, size_t *size_ret)
{
	static const char near[] = "near ", offset[] = "+0x", digits[] = "0123456789abcdef";
	const char *base = text + strlen(near),
		   *last = strncmp(text, near, strlen(near)) == 0 ? strrchr(base, '+') : NULL;
	size_t count;

	if (!last || last == base || strncmp(last, offset, strlen(offset)) != 0)
		return NULL;
	count = strspn(last + strlen(offset), digits);
	if (count == 0 || last[strlen(offset) + count])
		return NULL;
	*size_ret = (size_t)(last - base);
	return base;
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

const char *profile_process_name(const struct heap_profile *profile)
{
	return profile->name && *profile->name ? profile->name : last_part(profile->program);
}

bool profile_has_own_name(const char *program, const char *name)
{
	enum { KEPT = 15 }; // TASK_COMM_LEN, without the byte that ends it
	const char *file = last_part(program);

	return *name && (strlen(name) < KEPT ? strcmp(name, file) : strncmp(name, file, KEPT)) != 0;
}

void heap_profile_deinit(struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->mapping_count; i++) {
		free(profile->mappings[i].file);
		free(profile->mappings[i].build_id);
	}
	for (size_t i = 0; i < profile->module_count; i++)
		free(profile->modules[i].path);
	for (size_t i = 0; i < profile->function_count; i++) {
		free(profile->functions[i].name);
		free(profile->functions[i].system_name);
		free(profile->functions[i].file);
	}
	for (size_t i = 0; i < profile->ledger_count; i++) {
		free(profile->ledger[i].name);
		free(profile->ledger[i].text);
	}
	for (size_t i = 0; i < profile->label_text_count; i++)
		free(profile->label_texts[i]);
	free(profile->label_texts);
	free(profile->cohorts);
	free(profile->selection);
	free(profile->mappings);
	free(profile->modules);
	free(profile->functions);
	free(profile->lines);
	free(profile->locations);
	free(profile->frames);
	free(profile->samples);
	free(profile->ledger);
	free(profile->program);
	free(profile->name);
	*profile = (struct heap_profile){ 0 };
}
