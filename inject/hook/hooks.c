// SPDX-License-Identifier: Apache-2.0
// The bodies of the hooks of the usual functions: what happens around each allocation function. hooks_generic.c has the
// others.
//
// Context: on any thread of the target, called from arch/*/entry.S in place of an allocation function, perhaps from a
// signal handler. No libc, no system call, no lock, no vector register, no fault.
#include "inject/hook/hooks.h"

#include "inject/hook/fast_path.h"

typedef void *one_argument(uint64_t);
typedef void *two_arguments(uint64_t, uint64_t);
typedef void *three_arguments(uint64_t, uint64_t, uint64_t);
typedef int memalign_arguments(void **, uint64_t, uint64_t);

#define ORIGINAL(type, island) ((type *)(uint64_t)(island)->trampoline)

static const struct hook_result pass = { 0, HOOK_PASSES };

static struct hook_result handed_back(uint64_t value) { return (struct hook_result){ value, HOOK_DONE }; }

static struct hook_result done(struct thread_slot *slot, uint64_t value)
{
	reentry_leave(slot);
	return handed_back(value);
}

// The call is not recorded, and its function calls no hooked one: it runs as if there were no hook.
static struct hook_result left_alone(struct thread_slot *slot)
{
	reentry_leave(slot);
	return pass;
}

// The end of a call that is recorded as every one is. The calls of malloc have a copy of it for themselves.
HS_ALWAYS_INLINE struct hook_result record_fast(struct thread_slot *slot, void *block, uint64_t size,
						const struct entry_frame *frame)
{
	if (HS_UNLIKELY(!fast_path_record(slot, (uint64_t)block, size, frame)))
		return (struct hook_result){ (uint64_t)block, HOOK_NOT_RECORDED };
	return done(slot, (uint64_t)block);
}

static __attribute__((noinline)) struct hook_result record(struct thread_slot *slot, void *block, uint64_t size,
							   const struct entry_frame *frame)
{
	return record_fast(slot, block, size, frame);
}

static const struct hook_result not_begun = { 0, HOOK_NOT_BEGUN };

// What is left to do when a call cannot be recorded in the fast path.
static struct hook_result record_made(uint64_t block, uint64_t size, const struct entry_frame *frame,
				      const struct hook_island *island)
{
	struct thread_slot *slot = thread_slot_current();

	record_if_own(slot, block, size, (struct choice){ 1, 0 }, frame, island);
	return done(slot, block);
}

struct hook_result hook_malloc_fast(uint64_t size, uint64_t unused1, uint64_t unused2, const struct hook_island *island,
				    const struct entry_frame *frame)
{
	struct thread_slot *slot = fast_path_enter_original(frame, island);
	void *block;

	(void)unused1;
	(void)unused2;
	if (HS_UNLIKELY(!slot))
		return not_begun;
	block = ORIGINAL(one_argument, island)(size);
	if (HS_UNLIKELY(!fast_path_leave_original(slot)))
		return handed_back((uint64_t)block);
	return record_fast(slot, block, size, frame);
}

struct hook_result hook_malloc_made(uint64_t size, uint64_t unused, uint64_t block, const struct hook_island *island,
				    const struct entry_frame *frame)
{
	(void)unused;
	return record_made(block, size, frame, island);
}

struct hook_result hook_malloc(uint64_t size, uint64_t unused1, uint64_t unused2, const struct hook_island *island,
			       const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	void *block;

	(void)unused1;
	(void)unused2;
	if (HS_UNLIKELY(!slot))
		return pass;
	choice = sampling_choose(slot, size);
	if (!choice.interval && reentry_is_trusted(slot))
		return left_alone(slot);
	reentry_enter_original(slot);
	block = ORIGINAL(one_argument, island)(size);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return handed_back((uint64_t)block);
	record_if_own(slot, (uint64_t)block, size, choice, frame, island);
	return done(slot, (uint64_t)block);
}

static struct hook_result left_to_operator(struct thread_slot *slot)
{
	count_up(slot->shared.counters, COUNTER_left_to_operator, 1);
	reentry_leave(slot);
	return pass;
}

// The companion makes the block and cannot throw. Where it fails, the original runs without a frame of ours and does
// what it does: it calls the program's new-handler, throws, tries again. The second argument is the alignment where the
// companion takes one, and else nothing to it.
//
// The companion's calls of hooked functions are not the operator's: jemalloc's before 5.3 calls malloc through its
// hook. So one that is not recorded is watched, as often as it takes to trust the operator.
struct hook_result hook_new_fast(uint64_t size, uint64_t second, uint64_t unused, const struct hook_island *island,
				 const struct entry_frame *frame)
{
	struct thread_slot *slot = fast_path_enter_original(frame, island);
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return not_begun;
	block = ((two_arguments *)island->companion)(size, second);
	if (HS_UNLIKELY(!fast_path_leave_original(slot)))
		return block ? handed_back((uint64_t)block) : pass;
	return record(slot, block, size, frame);
}

struct hook_result hook_new_made(uint64_t size, uint64_t second, uint64_t block, const struct hook_island *island,
				 const struct entry_frame *frame)
{
	(void)second;
	return block ? record_made(block, size, frame, island) : left_to_operator(thread_slot_current());
}

struct hook_result hook_new(uint64_t size, uint64_t second, uint64_t unused, const struct hook_island *island,
			    const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return pass;
	choice = sampling_choose(slot, size);
	if (!choice.interval && reentry_is_trusted(slot))
		return left_alone(slot);
	if (!choice.interval && reentry_watch(slot, frame))
		return pass;
	reentry_enter_original(slot);
	block = ((two_arguments *)island->companion)(size, second);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return block ? handed_back((uint64_t)block) : pass;
	if (HS_UNLIKELY(!block))
		return left_to_operator(slot);
	if (!choice.interval) { // it was the companion that ran: no reason to trust the operator
		slot->framed_calls++;
		return done(slot, (uint64_t)block);
	}
	record_if_own(slot, (uint64_t)block, size, choice, frame, island);
	return done(slot, (uint64_t)block);
}

struct hook_result hook_calloc_fast(uint64_t count, uint64_t size, uint64_t unused, const struct hook_island *island,
				    const struct entry_frame *frame)
{
	struct thread_slot *slot;
	uint64_t total;
	void *block;

	(void)unused;
	if (HS_UNLIKELY(__builtin_mul_overflow(count, size, &total)))
		return not_begun; // it will fail
	slot = fast_path_enter_original(frame, island);
	if (HS_UNLIKELY(!slot))
		return not_begun;
	block = ORIGINAL(two_arguments, island)(count, size);
	if (HS_UNLIKELY(!fast_path_leave_original(slot)))
		return handed_back((uint64_t)block);
	return record(slot, block, total, frame);
}

struct hook_result hook_calloc_made(uint64_t count, uint64_t size, uint64_t block, const struct hook_island *island,
				    const struct entry_frame *frame)
{
	return record_made(block, count * size, frame, island);
}

struct hook_result hook_calloc(uint64_t count, uint64_t size, uint64_t unused, const struct hook_island *island,
			       const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	uint64_t total;
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return pass;
	if (__builtin_mul_overflow(count, size, &total))
		total = UINT64_MAX; // it will fail
	choice = sampling_choose(slot, total);
	if (!choice.interval && reentry_is_trusted(slot))
		return left_alone(slot);
	reentry_enter_original(slot);
	block = ORIGINAL(two_arguments, island)(count, size);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return handed_back((uint64_t)block);
	record_if_own(slot, (uint64_t)block, total, choice, frame, island);
	return done(slot, (uint64_t)block);
}

struct hook_result hook_memalign(uint64_t alignment, uint64_t size, uint64_t unused, const struct hook_island *island,
				 const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot))
		return pass;
	choice = sampling_choose(slot, size);
	reentry_enter_original(slot);
	block = ORIGINAL(two_arguments, island)(alignment, size);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return handed_back((uint64_t)block);
	record_if_own(slot, (uint64_t)block, size, choice, frame, island);
	return done(slot, (uint64_t)block);
}

struct hook_result hook_posix_memalign(uint64_t result, uint64_t alignment, uint64_t size,
				       const struct hook_island *island, const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	int status;

	if (HS_UNLIKELY(!slot))
		return pass;
	choice = sampling_choose(slot, size);
	reentry_enter_original(slot);
	status = ORIGINAL(memalign_arguments, island)((void **)result, alignment, size);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return handed_back((uint64_t)(int64_t)status);
	record_if_own(slot, status == 0 ? *(uint64_t *)result : 0, size, choice, frame, island);
	return done(slot, (uint64_t)(int64_t)status);
}

// `failed`: there is no new block, and the old one, if any, is still there.
static void finish(struct thread_slot *slot, const struct reallocation *reallocation, uint64_t block, uint64_t size,
		   struct choice choice, bool failed, const struct entry_frame *frame, const struct hook_island *island)
{
	if (!reallocation->old_block) {
		record_if_own(slot, block, size, choice, frame, island);
	} else if (failed) {
		count_up(slot->shared.counters, COUNTER_failed_allocations, 1);
		reallocation_cancel(slot, reallocation);
	} else {
		reallocation_finish_if_own(slot, reallocation, block, size, choice, frame, island);
	}
}

struct hook_result hook_realloc(uint64_t old_block, uint64_t size, uint64_t unused, const struct hook_island *island,
				const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	struct reallocation reallocation;
	void *block;

	(void)unused;
	if (HS_UNLIKELY(!slot)) {
		block_is_reallocated_unseen(old_block);
		return pass;
	}
	reallocation_begin(slot, old_block, island, &reallocation);
	choice = sampling_choose(slot, size);
	reentry_enter_original(slot);
	block = ORIGINAL(two_arguments, island)(old_block, size);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return handed_back((uint64_t)block);
	finish(slot, &reallocation, (uint64_t)block, size, choice, !block && size, frame, island);
	return done(slot, (uint64_t)block);
}

struct hook_result hook_reallocarray(uint64_t old_block, uint64_t count, uint64_t size,
				     const struct hook_island *island, const struct entry_frame *frame)
{
	struct thread_slot *slot = reentry_begin(frame, island);
	struct choice choice;
	struct reallocation reallocation;
	uint64_t total;
	bool overflow = __builtin_mul_overflow(count, size, &total);
	void *block;

	if (HS_UNLIKELY(!slot)) {
		block_is_reallocated_unseen(old_block);
		return pass;
	}
	reallocation_begin(slot, old_block, island, &reallocation);
	choice = sampling_choose(slot, total);
	reentry_enter_original(slot);
	block = ORIGINAL(three_arguments, island)(old_block, count, size);
	if (HS_UNLIKELY(!reentry_leave_original(slot)))
		return handed_back((uint64_t)block);
	finish(slot, &reallocation, (uint64_t)block, total, choice, !block && (total || overflow), frame, island);
	return done(slot, (uint64_t)block);
}

static __attribute__((noinline, cold)) void free_slow(uint64_t block, uint64_t place, const struct hook_island *island)
{
	if (block)
		block_goes(block, 0, island, place);
}

void hook_before_free(uint64_t block, uint64_t place, const struct hook_island *island)
{
	if (HS_UNLIKELY(!fast_path_release(block, place, island)))
		free_slow(block, place, island);
}
