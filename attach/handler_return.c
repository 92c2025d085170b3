// SPDX-License-Identifier: Apache-2.0
#include "attach/handler_return.h"

#include "attach/interrupt.h"
#include "attach/sigframe.h"
#include "attach/stack_reader.h"
#include "base/cleanup.h"

#include <stdlib.h>

enum { CHUNK = 65536, LOOKED_AT_IN_ALL = 64 << 20, STACKS_MAX = 64 };

struct search {
	const struct hook_plan *plan;
	const struct proc_maps *maps;
	struct stack_reader reader;
	uint64_t low, high; // all bytes that are to be patched lie in [low, high)
	uint64_t *words;    // CHUNK bytes
};

static void note_span(struct search *search)
{
	search->low = UINT64_MAX;
	search->high = 0;
	for (size_t i = 0; i < search->plan->count; i++) {
		const struct hook_record *record = &search->plan->hooks[i].record;
		uint64_t end = record->address + record->covered;

		if (record->verdict != VERDICT_ok)
			continue;
		search->low = record->address < search->low ? record->address : search->low;
		search->high = end > search->high ? end : search->high;
	}
}

// The hook whose bytes the pc lies in, behind the first of them. NULL = none.
static const struct hook_record *find_hook(const struct search *search, uint64_t pc)
{
	if (pc <= search->low || pc >= search->high)
		return NULL;
	for (size_t i = 0; i < search->plan->count; i++) {
		const struct hook_record *record = &search->plan->hooks[i].record;

		if (record->verdict == VERDICT_ok && pc > record->address && pc - record->address < record->covered)
			return record;
	}
	return NULL;
}

// Whether the word at `address` is the pc of a signal frame, and not just any number that has been left there. No frame begins below `low`. `alternate`: and
// its handler runs on an alternate stack, at `low`.
static bool is_saved_pc(const struct search *search, uint64_t address, uint64_t low, bool alternate)
{
	uint8_t head[HS_SIGFRAME_HEAD_SIZE];
	uint64_t restorer;
	const struct proc_map *map;
	struct hs_error *error;
	size_t size;
	bool is_known;

	if (address - low < HS_SIGFRAME_PC_OFFSET - HS_SIGFRAME_TAKEN)
		return false;
	error = stack_reader_copy(&search->reader, address - HS_SIGFRAME_PC_OFFSET, head, sizeof(head), &size, &is_known);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	if (size < sizeof(head) || !sigframe_may_be(head, &restorer) ||
	    (alternate && !sigframe_runs_on_alternate(head, address - HS_SIGFRAME_PC_OFFSET, low)))
		return false;
	map = proc_maps_find(search->maps, restorer);
	return map && map->executable;
}

// Whether word `i` of the piece at `address` is the stack pointer of a signal frame whose handler runs on an alternate stack, at `low`. Asked of every word, so
// what stands in the buffer is looked at first.
static bool is_saved_sp(const struct search *search, uint64_t address, size_t size, size_t i, uint64_t low)
{
	const size_t offset = i * sizeof(uint64_t), count = size / sizeof(uint64_t);
	uint64_t restorer;

	if (offset >= HS_SIGFRAME_SP_OFFSET && size - offset >= HS_SIGFRAME_HEAD_SIZE - HS_SIGFRAME_SP_OFFSET) {
		if (!sigframe_may_be((const uint8_t *)search->words + offset - HS_SIGFRAME_SP_OFFSET, &restorer))
			return false;
	} else if (i + 1 < count && !proc_maps_find(search->maps, search->words[i + 1])) {
		return false; // no pc
	}
	return is_saved_pc(search, address + offset + HS_SIGFRAME_PC_OFFSET - HS_SIGFRAME_SP_OFFSET, low, true);
}

// Stack pointers of a thread: its own, and those to which its handlers on alternate stacks will return.
struct stack_list {
	uint64_t sps[STACKS_MAX];
	size_t count;
	bool is_full; // there are more
};

static void note_stack(struct stack_list *stacks, uint64_t sp)
{
	for (size_t i = 0; i < stacks->count; i++)
		if (stacks->sps[i] == sp)
			return;
	stacks->is_full = stacks->count == STACKS_MAX;
	if (!stacks->is_full)
		stacks->sps[stacks->count++] = sp;
}

// From the stack pointer on. Ends with the thread's stack, or where that cannot be read: no frame lies there that the thread will come back to.
static struct hs_error *check_stack(const struct search *search, const struct frozen_thread *thread, uint64_t sp, uint64_t most, struct stack_list *stacks)
{
	struct user_regs_struct registers = thread->registers;
	struct stack_span span;
	uint64_t address, end;

	registers.rsp = sp;
	span = stack_span_of(&registers, search->maps);
	address = span.low;
	end = span.high - span.low > most ? span.low + most : span.high;
	while (address < end) {
		size_t wanted = end - address < CHUNK ? (size_t)(end - address) : CHUNK, size;
		bool is_known;
		struct hs_error *error = stack_reader_copy(&search->reader, address, search->words, wanted, &size, &is_known);

		if (error)
			return error;
		for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
			const struct hook_record *hook = find_hook(search, search->words[i]);

			if (is_saved_sp(search, address, size, i, span.low))
				note_stack(stacks, search->words[i]);
			if (hook && is_saved_pc(search, address + i * sizeof(uint64_t), span.low, false))
				return hs_error_create(HS_ERROR_REFUSED, "thread %d runs a signal handler that has interrupted the first instructions of "
						       "%s, which are to be patched; try again when it has returned",
						       (int)thread->tid, hook->name);
		}
		if (!is_known)
			return hs_error_create(HS_ERROR_REFUSED, "the stack of thread %d is shared memory of which a page is not there, so that nobody can say "
					       "whether it runs a signal handler; try again", (int)thread->tid);
		if (size < wanted)
			break;
		address += size;
	}
	return NULL;
}

// A handler on an alternate stack may have interrupted another handler, whose frame lies on the stack before.
static struct hs_error *check_thread(const struct search *search, const struct frozen_thread *thread, uint64_t most)
{
	struct stack_list stacks = { .sps = { thread->registers.rsp }, .count = 1 };
	struct hs_error *error = NULL;

	for (size_t i = 0; i < stacks.count && !error; i++)
		error = check_stack(search, thread, stacks.sps[i], most, &stacks);
	if (!error && stacks.is_full)
		error = hs_error_create(HS_ERROR_REFUSED, "thread %d runs more than %d signal handlers, one amid the other, and not all of them could be looked at; "
					"try again when they have returned", (int)thread->tid, STACKS_MAX);
	return error;
}

struct hs_error *handler_return_check(const struct hook_plan *plan, const struct frozen_process *process, const struct proc_maps *maps,
				      const struct target_memory *memory)
{
	HS_CLEANUP_FREE uint64_t *words = malloc(CHUNK);
	struct search search = { .plan = plan, .maps = maps, .words = words };
	uint64_t most = LOOKED_AT_IN_ALL / (process->count + 1);
	struct hs_error *error = NULL;

	if (!words)
		return &hs_error_no_memory;
	note_span(&search);
	stack_reader_open(memory, maps, &search.reader);
	for (size_t i = 0; i < process->count && !error; i++) {
		error = interrupt_check();
		if (!error)
			error = check_thread(&search, &process->threads[i], most < CHUNK ? CHUNK : most);
	}
	stack_reader_close(&search.reader);
	return error;
}
