// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/register_change.h"

#include "attach/arch/code_step.h"
#include "attach/arch/register_writes.h"
#include "attach/elf/function_span.h"
#include "attach/elf/import_names.h"
#include "base/hash_table.h"
#include "inject/abi/limits.h"
#include "inject/abi/page.h"

#include <stdlib.h>
#include <string.h>

#define INSTRUCTIONS_MAX 8192u // that are looked at
#define FUNCTIONS_MAX    512u
#define DEPTH_MAX        48u  // calls within calls
#define PLACES_MAX       128u // in a function that are still to be looked at
#define PAGES_MAX        512u // of code
#define SLOTS_MAX        256u // that are looked up
// Once so many instructions were looked at, only the first one is of each place that is still to be looked at.
#define UNKEPT_MAX      (INSTRUCTIONS_MAX + 1 + DEPTH_MAX * PLACES_MAX)
#define INSTRUCTION_MAX 15u // bytes
#define DECODED_MAX     (4 * INSTRUCTIONS_MAX)

// What a function is seen to change, with all that it calls: at least that.
struct seen_function {
	uint64_t address;
	register_bits written;
	bool all; // see struct register_change
};

// What one instruction of the module says.
struct decoded {
	uint64_t address;
	struct code_step step;
	struct register_writes writes;
	uint32_t seen_by; // number of the function that has come to it last; 0 = none
};

struct register_search {
	const struct target_memory *memory;
	const struct module *module; // of which the following are; NULL = none yet
	struct imports imports;
	struct {
		uint64_t page;
		bool is_code; // as in the file
	} pages[PAGES_MAX];
	size_t page_count;
	struct {
		uint64_t address, target;
	} slots[SLOTS_MAX];
	size_t slot_count;
	// Each instruction is decoded once: allocation functions call the same functions, and decoding is most of the
	// work. Those that find no room are decoded each time.
	struct decoded decoded[DECODED_MAX];
	uint32_t decoded_count;
	struct hash_table decoded_numbers;
	uint32_t function_number; // of that which is looked at, counted over all modules
	// The state of one function:
	size_t seen_count;           // instructions
	uint64_t unkept[UNKEPT_MAX]; // addresses of those that found no room
	uint32_t unkept_count;
	struct hash_table unkept_numbers;
	struct seen_function functions[FUNCTIONS_MAX];
	size_t function_count;
	unsigned depth;
	bool has_vectors;
	bool is_cut; // something was not seen
};

// Whether a page of the code is in memory as in the file, as far as the segment goes that has `address` in it. Each is
// compared once.
static bool is_page_of_file(struct register_search *search, uint64_t address)
{
	const struct module *module = search->module;
	const uint64_t page = page_of(address);
	const uint8_t *code = NULL;
	uint64_t low = page;
	size_t left = 0;

	for (size_t i = 0; i < search->page_count; i++)
		if (search->pages[i].page == page)
			return search->pages[i].is_code;
	if (search->page_count == PAGES_MAX)
		return false;
	for (unsigned i = 0; i < module->elf.header.e_phnum; i++) {
		const uint64_t begin = module->load_bias + module->elf.segments[i].p_vaddr;

		if (module->elf.segments[i].p_type == PT_LOAD && begin > low && begin <= address)
			low = begin;
	}
	code = elf_view_code(&module->elf, low - module->load_bias, false, &left);
	left = left < page + HS_PAGE_SIZE - low ? left : (size_t)(page + HS_PAGE_SIZE - low);
	search->pages[search->page_count].page = page;
	return search->pages[search->page_count++].is_code =
		       code && target_memory_equals(search->memory, low, code, left);
}

// The code at an address, *size_ret bytes, at most one instruction's. NULL = there is none that is sure.
static const uint8_t *code_at(struct register_search *search, uint64_t address, size_t *size_ret)
{
	const struct module *module = search->module;
	const uint8_t *code;

	if (address < module->text_low || address >= module->text_high)
		return NULL;
	code = elf_view_code(&module->elf, address - module->load_bias, false, size_ret);
	if (!code || !is_page_of_file(search, address))
		return NULL;
	*size_ret = *size_ret < INSTRUCTION_MAX ? *size_ret : INSTRUCTION_MAX;
	return is_page_of_file(search, address + *size_ret - 1) ? code : NULL;
}

static void decode(struct register_search *search, uint64_t address, struct decoded *ret)
{
	const uint8_t *code;
	size_t size;

	*ret = (struct decoded){ .address = address };
	code = code_at(search, address, &size);
	if (!code)
		return;
	arch_decode_step(code, size, address, &ret->step);
	register_writes_decode(code, size, &ret->writes);
}

static bool is_decoded(const void *decoded, uint32_t number, const void *address)
{
	return ((const struct decoded *)decoded)[number].address == *(const uint64_t *)address;
}

// What the search keeps of the instruction at an address, decoded now if it was not before; step.size 0 = there is none
// that is sure. NULL = there is no room for it.
static struct decoded *decoded_at(struct register_search *search, uint64_t address)
{
	struct hash_table *numbers = &search->decoded_numbers;
	struct hs_error *error = hash_table_reserve(numbers);
	struct hash_slot *slot;
	uint64_t hash;

	if (error) {
		hs_error_destroy(error);
		return NULL;
	}
	hash = hash_table_word_hash(numbers, address);
	slot = hash_table_find(numbers, hash, is_decoded, search->decoded, &address);
	if (hash_slot_is_used(slot))
		return &search->decoded[hash_slot_number(slot)];
	if (search->decoded_count == DECODED_MAX)
		return NULL;
	decode(search, address, &search->decoded[search->decoded_count]);
	hash_table_put(numbers, slot, hash, search->decoded_count);
	return &search->decoded[search->decoded_count++];
}

// What compilers put calls of into functions without reckoning with them: such a call changes nothing (gcc -pg).
static bool is_unreckoned(const char *name)
{
	static const char *const names[] = { "mcount", "_mcount", "__mcount", "__fentry__" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

// What a slot leads to, as far as a compiler may know: 0 = a function of another module, UINT64_MAX = not known; else
// the module's own function of that name, though another one could stand in its place (-fno-semantic-interposition).
// Each is looked up once.
static uint64_t own_function(struct register_search *search, uint64_t slot)
{
	const struct import *import = imports_find(&search->imports, slot - search->module->load_bias);
	uint64_t target = UINT64_MAX;
	struct elf_symbol symbol;

	for (size_t i = 0; i < search->slot_count; i++)
		if (search->slots[i].address == slot)
			return search->slots[i].target;
	if (!import || is_unreckoned(import->name) || search->slot_count == SLOTS_MAX)
		return UINT64_MAX;
	if (!elf_view_find_symbol(&search->module->elf, import->name, &symbol))
		target = 0;
	else if (symbol.type == STT_FUNC)
		target = search->module->load_bias + symbol.value;
	search->slots[search->slot_count].address = slot;
	return search->slots[search->slot_count++].target = target;
}

// One function while it is looked at.
struct looked_at {
	uint64_t low, high; // where it lies, by its unwind information; 0, 0 = not known
	uint64_t places[PLACES_MAX];
	size_t place_count;
	register_bits pushed, popped;
	bool is_cut; // something of it was not seen
	struct seen_function *result;
};

static void look_at_function(struct register_search *search, uint64_t address, struct seen_function *ret);

static bool is_unkept(const void *unkept, uint32_t number, const void *address)
{
	return ((const uint64_t *)unkept)[number] == *(const uint64_t *)address;
}

// Of an instruction that the search does not keep. False: it was there, or there is no memory for it, and the function
// is cut.
static bool note_unkept(struct register_search *search, struct looked_at *function, uint64_t address)
{
	struct hash_table *numbers = &search->unkept_numbers;
	struct hs_error *error = search->unkept_count < UNKEPT_MAX ? hash_table_reserve(numbers) : &hs_error_no_memory;
	struct hash_slot *slot;
	uint64_t hash;

	if (error) {
		hs_error_destroy(error);
		function->is_cut = true;
		return false;
	}
	hash = hash_table_word_hash(numbers, address);
	slot = hash_table_find(numbers, hash, is_unkept, search->unkept, &address);
	if (hash_slot_is_used(slot))
		return false;
	search->unkept[search->unkept_count] = address;
	hash_table_put(numbers, slot, hash, search->unkept_count++);
	return true;
}

// The instruction at an address, in *room if the search does not keep it. NULL = the function has come there before.
static const struct decoded *see(struct register_search *search, struct looked_at *function, uint64_t address,
				 struct decoded *room)
{
	struct decoded *decoded = decoded_at(search, address);

	if (decoded && decoded->seen_by == search->function_number)
		return NULL;
	if (decoded) {
		decoded->seen_by = search->function_number;
	} else if (note_unkept(search, function, address)) {
		decoded = room;
		decode(search, address, decoded);
	} else {
		return NULL;
	}
	search->seen_count++;
	return decoded;
}

static void add_place(struct looked_at *function, uint64_t address)
{
	if (function->place_count == PLACES_MAX)
		function->is_cut = true;
	else
		function->places[function->place_count++] = address;
}

static void call(struct register_search *search, struct looked_at *function, uint64_t address)
{
	struct seen_function callee;

	if (function->result->all) // nothing can be added
		return;
	look_at_function(search, address, &callee);
	function->result->written |= callee.written;
	function->result->all |= callee.all;
}

static void call_slot(struct register_search *search, struct looked_at *function, uint64_t slot)
{
	const uint64_t target = own_function(search, slot);

	if (target == 0)
		function->result->all = search->has_vectors = true;
	else if (target == UINT64_MAX)
		search->is_cut = true;
	else
		call(search, function, target);
}

static void follow(struct register_search *search, struct looked_at *function, const struct code_step *step)
{
	switch (step->flow) {
	case FLOW_CALL:
	case FLOW_JUMP:
	case FLOW_CONDITION:
		if (step->target && step->flow != FLOW_CALL && step->target >= function->low &&
		    step->target < function->high)
			add_place(function, step->target);
		else if (step->target)
			// also a jump out of the function: what it leads to returns in its place
			call(search, function, step->target);
		else if (step->slot)
			call_slot(search, function, step->slot);
		else if (step->flow == FLOW_CALL)
			search->is_cut = true;
		// perhaps to a part of its own
		else
			function->is_cut = true;
		return;
	case FLOW_UNKNOWN:
		function->is_cut = true;
		return;
	default:
		return;
	}
}

// Whether the instruction behind this one belongs to the function, and is reached. What is called may not return, and
// then another function may begin there.
static bool goes_on(const struct looked_at *function, const struct code_step *step, uint64_t next)
{
	if (step->flow != FLOW_NEXT && step->flow != FLOW_CALL && step->flow != FLOW_CONDITION &&
	    step->flow != FLOW_TRAP)
		return false;
	if (function->high)
		return next < function->high;
	return step->flow != FLOW_CALL && step->flow != FLOW_TRAP && !step->calls_kernel;
}

// Instruction after instruction, until the flow ends or comes to where it was.
static void look_from(struct register_search *search, struct looked_at *function, uint64_t address)
{
	struct code_step step;

	do {
		struct decoded room;
		const struct decoded *decoded = see(search, function, address, &room);

		if (!decoded)
			return;
		step = decoded->step;
		if (!step.size || search->seen_count > INSTRUCTIONS_MAX) {
			function->is_cut = true;
			return;
		}
		function->result->written |= decoded->writes.general & HS_SCRATCH_REGISTERS;
		function->pushed |= decoded->writes.pushed;
		function->popped |= decoded->writes.popped;
		search->has_vectors |= decoded->writes.has_vectors;
		follow(search, function, &step);
		address += step.size;
	} while (goes_on(function, &step, address));
	function->is_cut |= step.flow != FLOW_JUMP && step.flow != FLOW_RETURN && step.flow != FLOW_END &&
			    address != function->high;
}

// The result is that of a function that is looked at already, as far as that goes, if it comes to itself again: less
// than it changes, never more.
static void look_at_function(struct register_search *search, uint64_t address, struct seen_function *ret)
{
	struct looked_at function;
	register_bits saved;

	*ret = (struct seen_function){ .address = address };
	for (size_t i = 0; i < search->function_count; i++)
		if (search->functions[i].address == address) {
			*ret = search->functions[i];
			return;
		}
	if (search->function_count == FUNCTIONS_MAX || search->depth == DEPTH_MAX) {
		search->is_cut = true;
		return;
	}
	function.result = &search->functions[search->function_count++];
	*function.result = *ret;
	function.place_count = 0;
	function.pushed = function.popped = 0;
	function.is_cut = false;
	if (!elf_view_function(&search->module->elf, address - search->module->load_bias, &function.low,
			       &function.high))
		function.low = function.high = 0;
	else
		function.low += search->module->load_bias, function.high += search->module->load_bias;
	search->depth++;
	add_place(&function, address);
	while (function.place_count > 0)
		look_from(search, &function, function.places[--function.place_count]);
	search->depth--;
	search->is_cut |= function.is_cut;
	// A function that pushes a register and pops it keeps it, whatever is called in between.
	saved = (register_bits)(function.pushed & (function.is_cut ? HS_SCRATCH_REGISTERS : function.popped) &
				HS_SCRATCH_REGISTERS & ~HS_PUSHED_FOR_ROOM);
	function.result->written =
		(register_bits)((function.result->all ? HS_SCRATCH_REGISTERS : function.result->written) & ~saved);
	function.result->all = function.result->all && !saved;
	*ret = *function.result;
}

struct register_search *register_search_begin(const struct target_memory *memory)
{
	struct register_search *search = calloc(1, sizeof(*search));

	if (search)
		search->memory = memory;
	return search;
}

static void leave_module(struct register_search *search)
{
	if (search->module)
		imports_deinit(&search->imports);
	search->module = NULL;
	search->page_count = search->slot_count = 0;
	hash_table_clear(&search->decoded_numbers);
	search->decoded_count = 0;
}

void register_search_end(struct register_search *search)
{
	if (!search)
		return;
	leave_module(search);
	hash_table_deinit(&search->decoded_numbers);
	hash_table_deinit(&search->unkept_numbers);
	free(search);
}

static void enter_module(struct register_search *search, const struct module *module)
{
	if (search->module == module)
		return;
	leave_module(search);
	search->module = module;
	imports_read(&module->elf, &search->imports);
}

static void begin_function(struct register_search *search)
{
	hash_table_clear(&search->unkept_numbers);
	search->unkept_count = 0;
	search->function_number++;
	search->seen_count = search->function_count = 0;
	search->has_vectors = search->is_cut = false;
}

void register_change_find(struct register_search *search, const struct module *module, uint64_t address,
			  struct register_change *ret)
{
	struct seen_function function;

	*ret = (struct register_change){ 0 };
	if (!search)
		return;
	enter_module(search, module);
	begin_function(search);
	look_at_function(search, address, &function);
	ret->all = function.all;
	ret->all_general = (function.written & HS_SCRATCH_REGISTERS) == HS_SCRATCH_REGISTERS;
	ret->no_vectors = !search->has_vectors && !search->is_cut && !function.all;
}
