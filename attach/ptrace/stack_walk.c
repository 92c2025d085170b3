// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/stack_walk.h"

#include "attach/arch/walk_registers.h"
#include "attach/elf/modules.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "unwind/arch/known_code.h"
#include "unwind/unwind_rule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 4096, RULES_BITS = 12, RULES = 1 << RULES_BITS };
#define EXACT (UINT64_C(1) << 63)

bool ranges_hold(const struct address_range *ranges, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (address - ranges[i].address < ranges[i].size)
			return true;
	return false;
}

static void table_deinit(struct unwind_table *table)
{
	free((void *)table->span.bytes);
	free((void *)table->search.bytes);
}

static struct hs_error *copy_span(const struct target_memory *memory, uint64_t low, uint64_t high,
				  struct memory_span *ret)
{
	HS_CLEANUP_FREE uint8_t *bytes = malloc(high - low + 1);
	struct hs_error *error;

	if (!bytes)
		return &hs_error_no_memory;
	error = target_memory_read(memory, low, bytes, high - low);
	if (!error)
		*ret = (struct memory_span){ HS_STEAL_POINTER(bytes), low, high - low };
	return error;
}

// Takes no more of the load segment that holds .eh_frame_hdr than that and .eh_frame, where section headers tell: a
// large program's constants lie there too.
static void narrow(const struct elf_view *elf, uint64_t hdr, uint64_t hdr_size, uint64_t *low, uint64_t *high)
{
	uint64_t start, size;

	if (!elf_view_section(elf, ".eh_frame", &start, &size) || start < *low || start > *high ||
	    size > *high - start || hdr_size > *high - hdr)
		return;
	*low = start < hdr ? start : hdr;
	*high = start + size > hdr + hdr_size ? start + size : hdr + hdr_size;
}

static struct hs_error *read_table(const struct target_memory *memory, const struct module *module,
				   struct unwind_table *ret)
{
	uint64_t hdr, hdr_size, low, high;
	struct hs_error *error;

	*ret = (struct unwind_table){ .start = module->start, .end = module->end };
	if (elf_view_unwind(&module->elf, &hdr, &hdr_size, &low, &high)) {
		narrow(&module->elf, hdr, hdr_size, &low, &high);
		ret->hdr = module->load_bias + hdr;
		ret->hdr_size = hdr_size;
		return copy_span(memory, module->load_bias + low, module->load_bias + high, &ret->span);
	}
	if (!module->search.count)
		return NULL;
	error = copy_span(memory, module->search.low, module->search.high, &ret->span);
	if (!error) {
		size_t size = module->search.count * sizeof(*module->search.pairs);
		uint8_t *pairs = malloc(size);

		if (!pairs)
			return &hs_error_no_memory;
		memcpy(pairs, module->search.pairs, size);
		ret->search = (struct memory_span){ pairs, 0, size };
	}
	return error;
}

static struct hs_error *read_tables(const struct target_memory *memory, const struct module_list *modules,
				    struct unwind_tables *tables)
{
	tables->items = calloc(modules->count + 1, sizeof(*tables->items));
	tables->rules = calloc(RULES, sizeof(*tables->rules));
	if (!tables->items || !tables->rules)
		return &hs_error_no_memory;
	for (size_t i = 0; i < modules->count; i++) {
		struct unwind_table *table = &tables->items[tables->count];
		struct hs_error *error = read_table(memory, &modules->items[i], table);

		if (!error) {
			tables->count++;
			continue;
		}
		table_deinit(table);
		if (error->code == HS_ERROR_NO_MEMORY)
			return error;
		hs_verbose("no unwind information of %s: %s", modules->items[i].path, error->message);
		hs_error_destroy(error);
	}
	return NULL;
}

struct hs_error *unwind_tables_read(const struct target_memory *memory, struct unwind_tables *ret)
{
	struct unwind_tables tables = { 0 };
	struct module_list modules = { 0 };
	struct hs_error *error = proc_maps_read(memory->process, &tables.maps);

	if (!error)
		error = modules_read(memory->process, &tables.maps, memory, &modules);
	if (!error)
		error = search_tables_make(memory, &modules);
	if (!error)
		error = read_tables(memory, &modules, &tables);
	modules_deinit(&modules);
	if (error)
		unwind_tables_deinit(&tables);
	else
		*ret = tables;
	return error;
}

void unwind_tables_deinit(struct unwind_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		table_deinit(&tables->items[i]);
	free(tables->items);
	free(tables->rules);
	proc_maps_deinit(&tables->maps);
	*tables = (struct unwind_tables){ 0 };
}

struct walk {
	struct unwind_tables *tables;
	const struct stack_reader *reader;
	const struct walked_thread *thread;
};

// The module that holds the pc, if it is still the one that was read. *is_known_ret false: there is code, and nobody
// knows whose.
static const struct unwind_table *find_table(const struct walk *walk, uint64_t pc, bool *is_known_ret)
{
	const struct proc_map *now = proc_maps_find(walk->reader->maps, pc),
			      *before = proc_maps_find(&walk->tables->maps, pc);

	*is_known_ret = false;
	if (!now || !now->executable)
		return NULL;
	*is_known_ret = now->inode == 0; // made by the program itself
	if (!before || !before->executable || before->start != now->start || before->end != now->end ||
	    before->offset != now->offset || before->inode != now->inode || before->device_major != now->device_major ||
	    before->device_minor != now->device_minor)
		return NULL;
	for (size_t i = 0; i < walk->tables->count; i++) {
		const struct unwind_table *table = &walk->tables->items[i];

		if (pc >= table->start && pc < table->end) {
			*is_known_ret = true;
			return table;
		}
	}
	return NULL;
}

static bool read_code(const struct walk *walk, uint64_t address, uint8_t *bytes, size_t size)
{
	// Whole words around it are asked for.
	uint64_t low = address & ~UINT64_C(7), high = (address + size + 7) & ~UINT64_C(7);
	uint8_t words[32];
	size_t got = 0;
	bool is_known;

	if (high - low > sizeof(words))
		return false;
	hs_error_destroy(stack_reader_copy(walk->reader, low, words, (size_t)(high - low), &got, &is_known));
	if (got < high - low)
		return false;
	memcpy(bytes, words + (address - low), size);
	return true;
}

static enum cfi_result decode_row(const struct unwind_table *table, uint64_t lookup, struct cfi_row *ret)
{
	if (table->hdr)
		return cfi_decode(&table->span, table->hdr, table->hdr_size, lookup, ret);
	return table->search.size ? cfi_decode_by_table(&table->span, &table->search, lookup, ret) : CFI_NO_ENTRY;
}

// 0 = the frame is in code of which nothing is known.
static uint64_t decode_rule(const struct walk *walk, uint64_t pc, bool exact)
{
	uint64_t lookup = exact ? pc : pc - 1; // a return address may be the first byte of the next function
	uint8_t code[ARCH_SIGRETURN_SIZE];
	enum cfi_result result = CFI_NO_ENTRY;
	const struct unwind_table *table;
	struct cfi_row row;
	bool is_known;

	table = find_table(walk, lookup, &is_known);
	if (!is_known)
		return 0;
	if (table)
		result = decode_row(table, lookup, &row);
	if (result == CFI_NO_ENTRY && table && read_code(walk, pc, code, sizeof(code)) && arch_is_sigreturn(code))
		return unwind_rule_signal(1);
	return unwind_rule_pack(result, result == CFI_OK ? &row : NULL, table ? &table->span : NULL, table != NULL);
}

static uint64_t rule_of(const struct walk *walk, uint64_t pc, bool exact)
{
	uint64_t key = pc | (exact ? EXACT : 0);
	struct unwind_rule_slot *slot = &walk->tables->rules[(key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - RULES_BITS)];

	if (slot->key != key)
		*slot = (struct unwind_rule_slot){ key, decode_rule(walk, pc, exact) };
	return slot->rule;
}

// Whether a return address that was found by a frame pointer alone may be one.
static bool follows_call(const struct walk *walk, uint64_t pc)
{
	const struct proc_map *map = proc_maps_find(walk->reader->maps, pc - 1);
	uint8_t code[ARCH_CALL_MAX];

	return map && map->executable && read_code(walk, pc - ARCH_CALL_MAX, code, sizeof(code)) &&
	       arch_ends_in_call(code + sizeof(code));
}

// A frame without unwind information, whose frame pointer leads nowhere: only the C library's start code can be further
// out, where so little is left of the stack.
static enum walk_end end_without_info(const struct walk *walk, uint64_t rule, uint64_t sp)
{
	uint64_t end = walk->thread->stack_end;

	return UNWIND_MODULE(rule) && end && end - sp <= UNWIND_START_CODE_MAX ? WALK_COMPLETE : WALK_INCOMPLETE;
}

static void begin_in_full(const arch_registers *from, struct full_registers *ret)
{
	*ret = (struct full_registers){ .known = (1u << CFI_REGISTERS) - 1, .pc_is_exact = true };
	registers_for_walk(from, ret->value);
}

static enum step_result step_in_full(const struct walk *walk, uint64_t rule, struct full_registers *registers)
{
	uint64_t pc = registers->value[CFI_RA], lookup = registers->pc_is_exact ? pc : pc - 1, cfa;
	const struct unwind_table *table;
	struct cfi_row row;
	bool is_known;

	if (UNWIND_KIND(rule) == UNWIND_FRAME_POINTER || UNWIND_KIND(rule) == UNWIND_SIGNAL) {
		enum step_result result = unwind_step_without_info(rule, &walk->thread->stack, registers);

		if (result == STEP_OK && UNWIND_KIND(rule) == UNWIND_FRAME_POINTER &&
		    !follows_call(walk, registers->value[CFI_RA]))
			return STEP_BAD;
		return result;
	}
	table = find_table(walk, lookup, &is_known);
	if (!table)
		return STEP_BAD;
	return decode_row(table, lookup, &row) == CFI_OK
		       ? unwind_step_full(&row, &table->span, &walk->thread->stack, registers, &cfa)
		       : STEP_BAD;
}

// For stacks with frames that need more than three registers.
static enum walk_end walk_in_full(const struct walk *walk, const struct address_range *ranges, size_t range_count,
				  uint64_t *certain_ret)
{
	struct full_registers registers;
	bool guessed = false;

	begin_in_full(walk->thread->registers, &registers);
	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		uint64_t pc = registers.value[CFI_RA], sp = registers.value[CFI_SP], rule;
		enum step_result result;

		if (ranges_hold(ranges, range_count, pc))
			return WALK_MET;
		if (!guessed)
			*certain_ret = sp;
		rule = rule_of(walk, pc, registers.pc_is_exact);
		if (!rule)
			return WALK_INCOMPLETE;
		guessed |= UNWIND_KIND(rule) == UNWIND_FRAME_POINTER;
		result = step_in_full(walk, rule, &registers);
		if (result == STEP_END || (result == STEP_OK && registers.value[CFI_RA] == 0))
			return WALK_COMPLETE;
		if (result != STEP_OK)
			return UNWIND_KIND(rule) == UNWIND_FRAME_POINTER ? end_without_info(walk, rule, sp)
									 : WALK_INCOMPLETE;
	}
	return WALK_INCOMPLETE;
}

enum walk_end stack_walk(struct unwind_tables *tables, const struct stack_reader *reader,
			 const struct walked_thread *thread, const struct address_range *ranges, size_t range_count,
			 uint64_t *certain_ret)
{
	const struct walk walk = { tables, reader, thread };
	struct walk_registers registers = { registers_pc(thread->registers), registers_sp(thread->registers),
					    registers_fp(thread->registers) };
	bool exact = true, guessed = false;

	*certain_ret = registers.sp;
	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		uint64_t rule, cfa, sp = registers.sp;
		enum step_result result;

		if (ranges_hold(ranges, range_count, registers.pc))
			return WALK_MET;
		if (!guessed)
			*certain_ret = sp;
		rule = rule_of(&walk, registers.pc, exact);
		if (!rule)
			return WALK_INCOMPLETE;
		guessed |= UNWIND_KIND(rule) == UNWIND_FRAME_POINTER;
		result = unwind_step(rule, &thread->stack, &registers, &cfa, &exact);
		if (result == STEP_END)
			return WALK_COMPLETE;
		if (result == STEP_SLOW)
			return walk_in_full(&walk, ranges, range_count, certain_ret);
		if (UNWIND_KIND(rule) == UNWIND_FRAME_POINTER &&
		    (result != STEP_OK || !follows_call(&walk, registers.pc)))
			return end_without_info(&walk, rule, sp);
		if (result != STEP_OK)
			return WALK_INCOMPLETE;
	}
	return WALK_INCOMPLETE;
}
