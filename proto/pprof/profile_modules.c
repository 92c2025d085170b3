// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/profile_modules.h"

#include "base/cleanup.h"
#include "base/hash_table.h"

#include <stdlib.h>
#include <string.h>

static const char VDSO[] = "[vdso]";

static uint64_t bias_of(const struct profile_mapping *mapping) { return mapping->start - mapping->file_offset; }

static bool has_file(const struct profile_mapping *mapping)
{
	const char *file = mapping->file;

	return *file && (*file != '[' || strcmp(file, VDSO) == 0) && strncmp(file, "//anon", strlen("//anon")) != 0;
}

// The elements are the modules, and each was made of the mapping whose number stands in `made_of`.
struct modules {
	struct heap_profile *profile;
	uint32_t *made_of;
	struct hash_table table;
};

static bool is_of(const void *elements, uint32_t number, const void *wanted)
{
	const struct modules *modules = elements;
	const struct profile_mapping *a = &modules->profile->mappings[modules->made_of[number]], *b = wanted;

	return bias_of(a) == bias_of(b) && strcmp(a->file, b->file) == 0 && strcmp(a->build_id, b->build_id) == 0;
}

// The value of a hexadecimal digit; -1 = none.
static int digit(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = character ? strchr(digits, character | 0x20) : NULL;

	return found ? (int)(found - digits) : -1;
}

// As bytes, where it is such an id: gdb's and Go's own are other texts.
static void read_build_id(const char *text, struct profile_module *ret)
{
	size_t size = strlen(text) / 2;

	if (strlen(text) % 2 != 0 || size > sizeof(ret->build_id))
		return;
	for (size_t i = 0; i < size; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return;
		ret->build_id[i] = (uint8_t)(high << 4 | low);
	}
	ret->build_id_size = (uint32_t)size;
}

static struct hs_error *make(struct modules *modules, uint32_t mapping_index)
{
	struct heap_profile *profile = modules->profile;
	const struct profile_mapping *mapping = &profile->mappings[mapping_index];
	struct profile_module *module = &profile->modules[profile->module_count];

	*module = (struct profile_module){
		.path = strdup(mapping->file),
		.load_bias = bias_of(mapping),
		.start = mapping->start,
		.end = mapping->limit,
		.text_low = mapping->start,
		.text_high = mapping->limit,
		.is_main = mapping_index == 0,
		.is_vdso = strcmp(mapping->file, VDSO) == 0,
	};
	if (!module->path)
		return &hs_error_no_memory;
	modules->made_of[profile->module_count++] = mapping_index;
	read_build_id(mapping->build_id, module);
	return NULL;
}

static void extend(struct profile_module *module, const struct profile_mapping *mapping)
{
	if (mapping->start < module->start)
		module->start = module->text_low = mapping->start;
	if (mapping->limit > module->end)
		module->end = module->text_high = mapping->limit;
}

// The module of a mapping, made where there is none yet.
static struct hs_error *module_of(struct modules *modules, uint32_t mapping_index, uint32_t *ret)
{
	const struct profile_mapping *mapping = &modules->profile->mappings[mapping_index];
	struct hs_error *error = hash_table_reserve(&modules->table);
	struct hash_slot *slot;
	uint64_t hash;

	if (error)
		return error;
	// 3, so that two texts that are equal do not cancel each other
	hash = keyed_hash(&modules->table.key, mapping->file, strlen(mapping->file)) +
	       3 * keyed_hash(&modules->table.key, mapping->build_id, strlen(mapping->build_id)) +
	       hash_table_word_hash(&modules->table, bias_of(mapping));
	slot = hash_table_find(&modules->table, hash, is_of, modules, mapping);
	if (hash_slot_is_used(slot)) {
		*ret = hash_slot_number(slot);
		extend(&modules->profile->modules[*ret], mapping);
		return NULL;
	}
	*ret = (uint32_t)modules->profile->module_count;
	error = make(modules, mapping_index);
	if (!error)
		hash_table_put(&modules->table, slot, hash, *ret);
	return error;
}

struct hs_error *profile_modules_make(struct heap_profile *profile)
{
	const size_t count = profile->mapping_count;
	HS_CLEANUP_FREE uint32_t *made_of = calloc(count + 1, sizeof(*made_of));
	HS_CLEANUP_FREE uint32_t *module = calloc(count + 1, sizeof(*module)); // of each mapping
	struct modules modules = { profile, made_of, { 0 } };
	struct hs_error *error = NULL;

	profile->modules = calloc(count + 1, sizeof(*profile->modules));
	if (!profile->modules || !made_of || !module)
		return &hs_error_no_memory;
	for (uint32_t i = 0; i < count && !error; i++) {
		module[i] = UINT32_MAX;
		if (has_file(&profile->mappings[i]))
			error = module_of(&modules, i, &module[i]);
	}
	hash_table_deinit(&modules.table);
	for (size_t i = 0; i < profile->location_count && !error; i++) {
		struct profile_location *location = &profile->locations[i];

		location->module = location->mapping < count ? module[location->mapping] : UINT32_MAX;
	}
	return error;
}
