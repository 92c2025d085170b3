// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/wrapper_finder.h"

#include "attach/arch/wrapper_code.h"
#include "base/array.h"
#include "base/hash_table.h"
#include "snapshot/symbols/callee_names.h"

#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 4,      // of wrappers of wrappers
	JUDGED_MAX = 20000, // functions of one module: a bound on time
	STUB_BYTES = 16,
	CALL_BYTES = 6,
};

struct known_callee {
	uint64_t address;
	struct callee callee;
	bool is_wrapper;
};

struct wrapper_finder {
	const struct module_code *code;
	const struct symbol_table *symbols;
	uint64_t symbol_bias;
	struct known_callee *known;
	size_t known_count, known_room;
	struct hash_table numbers; // of known[i], by address
	unsigned depth, judged;
	struct hs_error *error; // of what is on its way
};

struct hs_error *wrapper_finder_create(const struct module_code *code, const struct symbol_table *symbols,
				       uint64_t symbol_bias, struct wrapper_finder **ret)
{
	struct wrapper_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return &hs_error_no_memory;
	*finder = (struct wrapper_finder){ .code = code, .symbols = symbols, .symbol_bias = symbol_bias };
	*ret = finder;
	return NULL;
}

void wrapper_finder_destroy(struct wrapper_finder *finder)
{
	if (!finder)
		return;
	hash_table_deinit(&finder->numbers);
	free(finder->known);
	free(finder);
}

static bool is_address(const void *elements, uint32_t number, const void *wanted)
{
	return ((const struct known_callee *)elements)[number].address == *(const uint64_t *)wanted;
}

static struct known_callee judge_function(struct wrapper_finder *finder, uint64_t address);

// The number of a function in `known`; it is judged when it is met for the first time. One that calls itself is
// nothing to itself.
static size_t number_of(struct wrapper_finder *finder, uint64_t address)
{
	struct hash_slot *slot;
	uint64_t hash;
	size_t number;

	finder->error = hash_table_reserve(&finder->numbers);
	if (!finder->error)
		finder->error = ARRAY_RESERVE(finder->known, finder->known_count + 1, &finder->known_room);
	if (finder->error)
		return 0;
	hash = hash_table_word_hash(&finder->numbers, address);
	slot = hash_table_find(&finder->numbers, hash, is_address, finder->known, &address);
	if (hash_slot_is_used(slot))
		return hash_slot_number(slot);
	number = finder->known_count++;
	hash_table_put(&finder->numbers, slot, hash, (uint32_t)number);
	finder->known[number] = (struct known_callee){ .address = address };

	const struct known_callee judged = judge_function(finder, address);

	finder->known[number] = judged;
	return number;
}

// What a word of a linkage table leads to; NULL = not known.
static const char *slot_name(const struct wrapper_finder *finder, uint64_t slot)
{
	uint64_t resolver = 0;
	const char *name = module_code_slot_name(finder->code, slot, &resolver);
	const struct symbol *symbol =
		resolver ? symbol_table_find(finder->symbols, resolver + finder->symbol_bias) : NULL;

	return name || !symbol || symbol->address != resolver + finder->symbol_bias ? name : symbol->name;
}

static struct callee find(const struct code_branch *branch, void *context)
{
	struct wrapper_finder *finder = context;
	struct callee callee = { .kind = CALLEE_OTHER };
	const char *name = branch->slot ? slot_name(finder, branch->slot) : NULL;

	if (finder->error)
		return callee;
	if (branch->slot)
		return name ? callee_by_name(name) : callee;

	const size_t number = number_of(finder, branch->target);

	return finder->error ? callee : finder->known[number].callee;
}

static void judge_code(struct wrapper_finder *finder, uint64_t address, const struct symbol *symbol,
		       struct known_callee *ret)
{
	size_t size = symbol && symbol->size ? symbol->size : WRAPPER_BYTES_MAX + 1;
	const uint8_t *bytes = module_code_bytes(finder->code, address, &size);
	struct wrapper_verdict verdict;

	if (!bytes || (symbol && symbol->size > WRAPPER_BYTES_MAX) || finder->depth == DEPTH_MAX ||
	    finder->judged == JUDGED_MAX)
		return;
	finder->depth++;
	finder->judged++;

	struct hs_error *error = wrapper_code_judge(bytes, size, address, find, finder, &verdict);

	finder->depth--;
	finder->error = finder->error ? finder->error : error;
	if (error)
		return;
	// What has no name, or no end, is no function that could be told.
	ret->is_wrapper = verdict.is_wrapper && symbol && symbol->size;
	if (ret->callee.kind == CALLEE_ALLOCATES) // as its name says
		return;
	if (ret->is_wrapper)
		ret->callee = (struct callee){ CALLEE_ALLOCATES, verdict.size_arguments };
	else if (verdict.never_returns)
		ret->callee.kind = CALLEE_ENDS;
}

static struct known_callee judge_function(struct wrapper_finder *finder, uint64_t address)
{
	const struct symbol *symbol = symbol_table_find(finder->symbols, address + finder->symbol_bias);
	struct known_callee ret = { .address = address };
	size_t size = STUB_BYTES;
	const uint8_t *bytes = module_code_bytes(finder->code, address, &size);
	const uint64_t slot = bytes ? wrapper_code_stub_slot(bytes, size, address) : 0;
	const char *name = slot ? slot_name(finder, slot) : NULL;

	if (symbol && symbol->address != address + finder->symbol_bias)
		symbol = NULL;
	if (!name && symbol)
		name = symbol->name;
	if (name && strcmp(name, "main") == 0)
		return ret;
	if (name)
		ret.callee = callee_by_name(name);
	if (bytes && !slot && (ret.callee.kind == CALLEE_OTHER || ret.callee.kind == CALLEE_ALLOCATES))
		judge_code(finder, address, symbol, &ret);
	return ret;
}

struct hs_error *wrapper_finder_judge(struct wrapper_finder *finder, uint64_t address, bool *ret)
{
	const struct symbol *symbol = symbol_table_find(finder->symbols, address + finder->symbol_bias);
	size_t size = CALL_BYTES;
	const uint8_t *bytes = module_code_bytes(finder->code, address + 1 - CALL_BYTES, &size);
	struct code_branch call;
	struct hs_error *error;

	*ret = false;
	if (!symbol || symbol->size == 0 || symbol->size > WRAPPER_BYTES_MAX || size < CALL_BYTES ||
	    !wrapper_code_call_before(bytes, CALL_BYTES, address + 1, &call))
		return NULL;
	if (find(&call, finder).kind == CALLEE_ALLOCATES && !finder->error) {
		const size_t number = number_of(finder, symbol->address - finder->symbol_bias);

		*ret = !finder->error && finder->known[number].is_wrapper;
	}
	error = finder->error;
	finder->error = NULL;
	return error;
}
