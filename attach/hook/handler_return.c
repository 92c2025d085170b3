// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/handler_return.h"

#include "attach/guard/interrupt.h"
#include "attach/ptrace/signal_frames.h"
#include "base/cleanup.h"

#include <stdlib.h>

enum { CHUNK = 65536, LOOKED_AT_IN_ALL = 64 << 20, STACKS_MAX = 64 };

struct search {
	const struct hook_plan *plan;
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

// Up from the stack pointer: to the stack's end, the first page that cannot be read, or `*left` bytes, but CHUNK at
// least. What was read is taken from these.
static struct hs_error *check_stack(const struct search *search, const struct frozen_thread *thread, uint64_t sp,
				    uint64_t *left, struct stack_list *stacks)
{
	arch_registers registers = thread->registers;
	uint64_t address, end, most = *left < CHUNK ? CHUNK : *left;
	struct stack_span span;

	registers_set_sp(&registers, sp);
	span = stack_span_of(&registers, search->reader.maps);
	address = span.low;
	end = span.high - span.low > most ? span.low + most : span.high;
	while (address < end) {
		size_t wanted = end - address < CHUNK ? (size_t)(end - address) : CHUNK, size;
		struct stack_piece piece;
		bool is_known;
		struct hs_error *error =
			stack_reader_copy(&search->reader, address, search->words, wanted, &size, &is_known);

		if (error)
			return error;
		*left -= size < *left ? size : *left;
		piece = (struct stack_piece){ address, search->words, size };
		for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
			const struct hook_record *hook = find_hook(search, search->words[i]);

			if (signal_frame_has_sp(&search->reader, &piece, i * sizeof(uint64_t), span.low))
				note_stack(stacks, search->words[i]);
			if (hook && signal_frame_has_pc(&search->reader, &piece, i * sizeof(uint64_t), span.low, 0))
				return hs_error_create(
					HS_ERROR_REFUSED,
					"thread %d runs a signal handler that has interrupted the first instructions of "
					"%s, which are to be patched; try again when it has returned",
					(int)thread->tid, hook->name);
		}
		if (!is_known)
			return hs_error_create(
				HS_ERROR_REFUSED,
				"the stack of thread %d is in shared memory with a page that is not resident, so whether it runs a "
				"signal handler is not known; try again",
				(int)thread->tid);
		if (size < wanted)
			break;
		address += size;
	}
	return NULL;
}

// A handler on an alternate stack may have interrupted another handler, whose frame is on the stack that it came from.
// Looks at no more than `most` bytes of all these stacks together.
static struct hs_error *check_thread(const struct search *search, const struct frozen_thread *thread, uint64_t most)
{
	struct stack_list stacks = { .sps = { registers_sp(&thread->registers) }, .count = 1 };
	struct hs_error *error = NULL;

	for (size_t i = 0; i < stacks.count && !error; i++) {
		error = interrupt_check();
		if (!error)
			error = check_stack(search, thread, stacks.sps[i], &most, &stacks);
	}
	if (!error && stacks.is_full)
		error = hs_error_create(
			HS_ERROR_REFUSED,
			"thread %d has at least %d nested signal handlers on alternate stacks, and not all of them could be looked at; "
			"try again when they have returned",
			(int)thread->tid, STACKS_MAX);
	return error;
}

struct hs_error *handler_return_check(const struct hook_plan *plan, const struct frozen_process *frozen,
				      const struct proc_maps *maps, const struct target_memory *memory)
{
	HS_CLEANUP_FREE uint64_t *words = malloc(CHUNK);
	struct search search = { .plan = plan, .words = words, .reader = { memory, maps } };
	uint64_t most = LOOKED_AT_IN_ALL / (frozen->count + 1);
	struct hs_error *error = NULL;

	if (!words)
		return &hs_error_no_memory;
	note_span(&search);
	for (size_t i = 0; i < frozen->count && !error; i++) {
		error = check_thread(&search, &frozen->threads[i], most);
	}
	return error;
}
