// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbol_cache.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "snapshot/symbols/stored_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Bytes of all files.
#define FOLDER_BYTES_MAX (UINT64_C(256) << 20)

struct symbol_lookup {
	const struct cache_folder *folder;
	const struct module_files *files;
	const struct symbol_question *question;
	char name[2 * 32 + sizeof(".symbols")];
	uint8_t *data; // of the file
	struct stored_symbols stored;
	bool has_stored; // and its files are met
	struct file_trail trail;
	struct symbol_answer fresh; // of missing[i]
	uint64_t *missing;          // run-time addresses
	size_t missing_count;
	struct symbol_question asked; // these
	struct symbol_talk *talk;     // NULL = nothing is missing
	bool is_kept;                 // the folder is used
};

static const uint64_t NOT_STORED = UINT64_MAX;

static void name_file(const struct profile_module *module, char name[2 * 32 + sizeof(".symbols")])
{
	char *end = name;

	for (uint32_t i = 0; i < module->build_id_size; i++)
		end += sprintf(end, "%02x", module->build_id[i]);
	strcpy(end, ".symbols");
}

// What cannot be used counts as not there.
static struct hs_error *load(struct symbol_lookup *lookup)
{
	const struct profile_module *module = lookup->question->module;
	size_t size = 0;
	struct hs_error *error;

	lookup->data = cache_folder_read(lookup->folder, lookup->name, STORED_BYTES_MAX, &size);
	if (!lookup->data)
		return NULL;
	error = stored_symbols_decode(lookup->data, size, &lookup->stored);
	if (error) {
		if (error->code == HS_ERROR_NO_MEMORY)
			return error;
		hs_error_destroy(error);
		return NULL;
	}
	lookup->has_stored = lookup->stored.build_id_size == module->build_id_size &&
			     memcmp(lookup->stored.build_id, module->build_id, module->build_id_size) == 0 &&
			     file_trail_is_met(lookup->stored.trail, lookup->stored.trail_size, lookup->files, module);
	if (!lookup->has_stored)
		stored_symbols_deinit(&lookup->stored);
	return NULL;
}

static uint64_t in_file(const struct symbol_lookup *lookup, uint64_t address)
{
	return address - lookup->question->module->load_bias;
}

// Where an address of the file is among those that are kept.
static uint64_t find_stored(const struct symbol_lookup *lookup, uint64_t address)
{
	const uint64_t *addresses = lookup->stored.addresses;
	size_t low = 0, high = lookup->stored.count;

	while (low < high) { // those before low are below it, those from high on are not
		const size_t middle = low + (high - low) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < lookup->stored.count && addresses[low] == address ? low : NOT_STORED;
}

static struct hs_error *list_missing(struct symbol_lookup *lookup)
{
	const struct symbol_question *question = lookup->question;

	lookup->missing = calloc(question->count + 1, sizeof(*lookup->missing));
	if (!lookup->missing)
		return &hs_error_no_memory;
	for (size_t i = 0; i < question->count; i++)
		if (find_stored(lookup, in_file(lookup, question->addresses[i])) == NOT_STORED)
			lookup->missing[lookup->missing_count++] = question->addresses[i];
	return NULL;
}

// The answers to the question, of what was kept and what was missing.
static struct hs_error *compose(const struct symbol_lookup *lookup, struct symbol_answer *ret)
{
	const struct symbol_question *question = lookup->question;
	HS_CLEANUP_FREE uint32_t *stored_map = calloc(lookup->stored.answer.functions.count + 1, sizeof(uint32_t));
	HS_CLEANUP_FREE uint32_t *fresh_map = calloc(lookup->fresh.functions.count + 1, sizeof(uint32_t));
	struct hs_error *error = symbol_answer_init(question->count, ret);
	size_t next = 0;

	if (!error && (!stored_map || !fresh_map))
		error = &hs_error_no_memory;
	for (size_t i = 0; i < question->count && !error; i++) {
		const uint64_t at = find_stored(lookup, in_file(lookup, question->addresses[i]));

		error = at == NOT_STORED ? symbol_answer_copy(ret, i, &lookup->fresh, next++, fresh_map)
					 : symbol_answer_copy(ret, i, &lookup->stored.answer, (size_t)at, stored_map);
	}
	ret->is_stripped = lookup->missing_count > 0 ? lookup->fresh.is_stripped : lookup->stored.answer.is_stripped;
	if (error)
		symbol_answer_deinit(ret);
	return error;
}

// All that is known now: the two lists, each ascending, in one.
static struct hs_error *unite(const struct symbol_lookup *lookup, struct stored_symbols *ret)
{
	const size_t old_count = lookup->stored.count, count = old_count + lookup->missing_count;
	HS_CLEANUP_FREE uint32_t *stored_map = calloc(lookup->stored.answer.functions.count + 1, sizeof(uint32_t));
	HS_CLEANUP_FREE uint32_t *fresh_map = calloc(lookup->fresh.functions.count + 1, sizeof(uint32_t));
	struct hs_error *error = symbol_answer_init(count, &ret->answer);
	size_t old = 0, new = 0;

	ret->addresses = calloc(count + 1, sizeof(*ret->addresses));
	if (!error && (!ret->addresses || !stored_map || !fresh_map))
		error = &hs_error_no_memory;
	for (ret->count = 0; ret->count < count && !error; ret->count++) {
		const uint64_t fresh = new < lookup->missing_count ? in_file(lookup, lookup->missing[new]) : UINT64_MAX;

		if (new == lookup->missing_count || (old < old_count && lookup->stored.addresses[old] < fresh)) {
			ret->addresses[ret->count] = lookup->stored.addresses[old];
			error = symbol_answer_copy(&ret->answer, ret->count, &lookup->stored.answer, old++, stored_map);
		} else {
			ret->addresses[ret->count] = fresh;
			error = symbol_answer_copy(&ret->answer, ret->count, &lookup->fresh, new ++, fresh_map);
		}
	}
	ret->answer.is_stripped = lookup->fresh.is_stripped;
	return error;
}

// Whether what was found just now are the files of what is stored: they may have changed between the two looks.
static bool can_be_kept(const struct symbol_lookup *lookup)
{
	const struct file_trail *trail = &lookup->trail;

	return !trail->is_useless && trail->size > 0 &&
	       (!lookup->has_stored || (trail->size == lookup->stored.trail_size &&
					memcmp(trail->bytes, lookup->stored.trail, trail->size) == 0));
}

static struct hs_error *keep(struct symbol_lookup *lookup)
{
	const struct profile_module *module = lookup->question->module;
	struct stored_symbols all = {
		.build_id = module->build_id,
		.build_id_size = module->build_id_size,
		.trail = lookup->trail.bytes,
		.trail_size = lookup->trail.size,
	};
	struct hs_error *error = unite(lookup, &all);
	uint8_t *data = NULL;
	size_t size = 0;

	if (!error)
		error = stored_symbols_encode(&all, &data, &size);
	if (!error)
		cache_folder_write(lookup->folder, lookup->name, data, size, FOLDER_BYTES_MAX);
	free(data);
	stored_symbols_deinit(&all);
	if (error && error->code == HS_ERROR_REFUSED) {
		hs_error_destroy(error);
		error = NULL;
	}
	return error;
}

static void destroy(struct symbol_lookup *lookup)
{
	stored_symbols_deinit(&lookup->stored);
	symbol_answer_deinit(&lookup->fresh);
	file_trail_deinit(&lookup->trail);
	free(lookup->missing);
	free(lookup->data);
	free(lookup);
}

struct hs_error *symbol_lookup_begin(const struct cache_folder *folder, const struct module_files *files,
				     const struct symbol_question *question, const struct sandbox_limits *limits,
				     uint64_t deadline_ns, struct symbol_lookup **ret)
{
	const struct profile_module *module = question->module;
	struct symbol_lookup *lookup = calloc(1, sizeof(*lookup));
	struct hs_error *error = NULL;

	*ret = NULL;
	if (!lookup)
		return &hs_error_no_memory;
	*lookup = (struct symbol_lookup){ .folder = folder, .files = files, .question = question };
	lookup->is_kept = folder->fd >= 0 && module && module->build_id_size > 0 &&
			  module->build_id_size <= sizeof(module->build_id);
	lookup->asked = *question;
	if (lookup->is_kept) {
		name_file(module, lookup->name);
		error = load(lookup);
		if (!error)
			error = list_missing(lookup);
		lookup->asked.addresses = lookup->missing;
		lookup->asked.count = lookup->missing_count;
	}
	if (!error && (lookup->asked.count > 0 || !lookup->is_kept))
		error = symbol_talk_begin(files, &lookup->asked, limits, deadline_ns, &lookup->fresh,
					  lookup->is_kept ? &lookup->trail : NULL, &lookup->talk);
	if (error)
		destroy(lookup);
	else
		*ret = lookup;
	return error;
}

struct symbol_talk *symbol_lookup_talk(const struct symbol_lookup *lookup) { return lookup->talk; }

struct hs_error *symbol_lookup_end(struct symbol_lookup *lookup, struct hs_error *error, struct symbol_answer *ret)
{
	if (lookup->talk)
		error = symbol_talk_end(lookup->talk, error);
	if (!error && lookup->is_kept && lookup->talk && can_be_kept(lookup))
		error = keep(lookup);
	if (!error && lookup->is_kept) {
		error = compose(lookup, ret);
	} else if (!error) {
		*ret = lookup->fresh;
		lookup->fresh = (struct symbol_answer){ 0 };
	}
	destroy(lookup);
	return error;
}
