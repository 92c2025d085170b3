// SPDX-License-Identifier: Apache-2.0
#include "attach/region/inside.h"

#include "attach/guard/interrupt.h"
#include "attach/region/stack_look.h"
#include "base/log.h"
#include "inject/abi/page.h"

#include <stdlib.h>

enum {
	// when a later freeze goes on: a hook that comes back to its frame may use so much below it
	LOOKED_AT_TWICE = 4096,
};

struct hs_error *inside_begin(const struct target_memory *memory, const struct proc_maps *maps,
			      const struct slot_facts_list *slots, struct unwind_tables *tables,
			      const struct address_range *ranges, size_t range_count, struct looked_at_list *looked_at,
			      struct inside_search *ret)
{
	*ret = (struct inside_search){ .reader = { memory, maps },
				       .slots = slots,
				       .tables = tables,
				       .ranges = ranges,
				       .range_count = range_count,
				       .looked_at = looked_at,
				       .words = malloc(LOOK_KEPT_MAX + LOOK_CHUNK),
				       .share = HS_INSIDE_SHARE,
				       .left = HS_INSIDE_SHARE,
				       .left_elsewhere = HS_INSIDE_ELSEWHERE };
	if (!ret->words)
		return &hs_error_no_memory;
	return NULL;
}

void inside_end(struct inside_search *search)
{
	if (!search->words)
		return;
	free(search->words);
	search->words = NULL;
}

// Whether a word of [low, high) points into the ranges, or may. pre: within one page, at most HS_HOOK_FRAMES_SIZE bytes
static struct hs_error *part_points(const struct inside_search *search, uint64_t low, uint64_t high, bool *ret)
{
	uint64_t words[HS_HOOK_FRAMES_SIZE / sizeof(uint64_t)];
	size_t size;
	bool is_known;
	struct hs_error *error = stack_reader_copy(&search->reader, low, words, (size_t)(high - low), &size, &is_known);

	if (!error)
		*ret |= !is_known || look_words_point(search, words, size);
	return error;
}

// Whether the words just below a guard point into the ranges, or may: page by page, for below a stack lies what cannot
// be read.
static struct hs_error *guard_points(const struct inside_search *search, uint64_t guard, bool *ret)
{
	uint64_t low = guard - HS_HOOK_FRAMES_SIZE, page = page_of(guard);
	struct hs_error *error = NULL;

	if (low < page)
		error = part_points(search, low, page, ret);
	return error || page == guard ? error : part_points(search, low < page ? page : low, guard, ret);
}

// Whether a hook runs whose return address lies at the slot's guard, where the thread's stack was not looked at: it may
// be on another stack than the thread is now.
static struct hs_error *runs_elsewhere(const struct inside_search *search, const struct slot_facts *slot,
				       const struct look *look, bool *ret)
{
	uint64_t guard = slot->guard, sp = look->span.low;

	*ret = false;
	if (!guard_is_place(guard) || (guard >= sp && guard < look->end))
		return NULL;
	// Also below the stack pointer on the thread's own stack: a call there may have been left by a jump, but a
	// coroutine on an array further out may go back to it. Left over, it delays the end of the detach until the
	// thread has used that part of its stack again.
	return guard_points(search, slot->guard, ret);
}

// The same of hooks that were taken for abandoned, perhaps wrongly, on other stacks than the thread's own: a coroutine
// may go back to them. On its own stack one comes back only by a handler's return, which was looked for. Where several
// threads have the slot now, those places are another's, whose stack is looked at.
static struct hs_error *left_runs_elsewhere(const struct inside_search *search, const struct slot_facts *slot,
					    bool *ret)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < HS_STABLE_LEFT_GUARDS_MAX && !slot->has_several && !*ret && !error; i++)
		if (guard_is_place(slot->left[i]) &&
		    (slot->left[i] < slot->stack_low || slot->left[i] >= slot->stack_high))
			error = guard_points(search, slot->left[i], ret);
	return error;
}

static bool is_on_own_stack(const struct slot_facts *slot, const struct look *look)
{
	return look->span.low >= slot->stack_low && look->span.low < slot->stack_high;
}

// Whether the thread's own slot says that no hook runs, of what was looked at. It says so before a hook calls anything,
// so only a handler that has interrupted the payload itself could come back there; its frame was looked for.
static bool says_outside_so_far(const struct slot_facts *slot, const struct look *look)
{
	return slot && !slot->is_of_several && !guard_is_place(slot->guard) && !look->is_interrupted;
}

// The same of all of the stack. Of another one than the thread's own (a coroutine's, a goroutine's) nobody knows the
// end: there what was looked at is taken for all that a handler has between itself and its frame. A thread without a
// slot has called no hook, or one that had no frame, as such do that do not record (inject/hook/reentry.h): then only a
// handler that has interrupted the payload itself could come back there, and its frame would hold a word.
static bool says_outside(const struct slot_facts *slot, const struct look *look)
{
	if (!slot)
		return look->is_limited && !look->points;
	return says_outside_so_far(slot, look) &&
	       (look->is_whole || (!is_on_own_stack(slot, look) && look->is_limited));
}

// Whether no word from `certain` on points into the ranges: what further frames there are, none is a hook's, or comes
// back to one.
static bool is_clean_above(const struct inside_search *search, const struct look *look, uint64_t certain)
{
	uint64_t offset = certain - look->start;

	return look->is_whole && !look->points_deep && certain % 8 == 0 && offset <= look->kept &&
	       !look_words_point(search, search->words + offset / sizeof(uint64_t), look->kept - offset);
}

// Whether what is found may be remembered: of the stack that the thread's libc has made for it. On any other one it may
// find a frame of another thread that is inside, which has left it there (coroutines that change their threads).
static bool may_be_remembered(const struct inside_search *search, const struct slot_facts *slot,
			      const struct look *look)
{
	return search->looked_at && look->span.is_proven && (!slot || is_on_own_stack(slot, look));
}

// Where the look begins. Returns whether the thread is known to be outside.
static bool recall(struct inside_search *search, pid_t tid, const struct slot_facts *slot, struct look *look)
{
	const struct looked_at *item;

	look->start = look->span.low;
	look->is_remembered = may_be_remembered(search, slot, look);
	look->left = look->is_remembered ? &search->left : &search->left_elsewhere;
	item = look->is_remembered ? looked_at_find(search->looked_at, tid) : NULL;
	if (!item || item->stack_high != look->span.high || !item->clean_to)
		return false;
	if (item->clean_to == UINT64_MAX)
		return true;
	if (item->clean_to - LOOKED_AT_TWICE > look->start)
		look->start = item->clean_to - LOOKED_AT_TWICE;
	return false;
}

static bool is_clean_so_far(const struct slot_facts *slot, const struct look *look)
{
	return !look->points || says_outside_so_far(slot, look);
}

static struct hs_error *remember(const struct inside_search *search, pid_t tid, const struct slot_facts *slot,
				 const struct look *look, bool inside)
{
	struct looked_at *item;
	struct hs_error *error;

	if (!search->looked_at || (look->is_cut && look->end == look->start)) // its turn has not come
		return NULL;
	error = looked_at_make(search->looked_at, tid, &item);
	if (error)
		return error;
	item->turn = search->looked_at->turn;
	if (item->stack_high != look->span.high)
		item->clean_to = 0;
	item->stack_high = look->span.high;
	if (!look->is_remembered)
		return NULL;
	if (!inside)
		item->clean_to = UINT64_MAX;
	else if (look->is_cut && look->interrupted == look->span.low && !look->returns && is_clean_so_far(slot, look) &&
		 look->end > item->clean_to)
		item->clean_to = look->end;
	return NULL;
}

// What the thread's stack tells.
static struct hs_error *check_stack(struct inside_search *search, const struct frozen_thread *thread,
				    const struct slot_facts *slot, struct look *look, bool *inside_ret)
{
	struct walked_thread walked = { .registers = &thread->registers };
	enum walk_end end = WALK_INCOMPLETE;
	bool has_whole_share = *look->left == search->share;
	struct hs_error *error = NULL;
	uint64_t certain = look->start;

	*inside_ret = false;
	// What the hook says is asked first where it says that it runs: its frames may lie above more than the share.
	if (slot && guard_is_place(slot->guard) && slot->guard > look->span.low && slot->guard < look->span.high)
		error = guard_points(search, slot->guard, inside_ret);
	if (error || *inside_ret)
		return error;
	error = look_at_stack(search, look);
	if (!error)
		error = look_at_returns(search, thread, slot, look, inside_ret);
	// with all of the share, what cannot be looked at is inside
	search->was_cut = *inside_ret && look->is_cut && look->is_remembered && !has_whole_share;
	if (!error && !*inside_ret && slot)
		error = runs_elsewhere(search, slot, look, inside_ret);
	if (!error && !*inside_ret && slot)
		error = left_runs_elsewhere(search, slot, inside_ret);
	if (error || *inside_ret || (!look->points && look->is_whole))
		return error;
	// The hook itself says that it runs: a second opinion, for the walk may err. (Left over after a longjmp out of
	// a hook, it delays the end of the detach until the thread has returned from where it is.)
	*inside_ret = look->points && slot && guard_is_place(slot->guard) && slot->guard > look->start &&
		      slot->guard < look->end;
	if (!*inside_ret) {
		walked.stack = (struct memory_span){ (const uint8_t *)search->words, look->start, look->kept };
		walked.stack_end = look->span.is_proven ? look->span.high : 0;
		if (look->start == look->span.low)
			end = stack_walk(search->tables, &search->reader, &walked, search->ranges, search->range_count,
					 &certain);
		*inside_ret = end == WALK_MET || (end == WALK_INCOMPLETE && !is_clean_above(search, look, certain) &&
						  !says_outside(slot, look));
		search->was_cut = *inside_ret && end != WALK_MET && look->is_cut && look->is_remembered &&
				  (!has_whole_share || is_clean_so_far(slot, look));
	}
	if (!look->is_cut)
		hs_verbose("thread %d has %s: %s", thread->tid,
			   look->points ? "words on its stack that point into the payload"
					: "a stack that could not be read as a whole",
			   *inside_ret    ? "inside"
			   : look->points ? "left over"
					  : "outside");
	return NULL;
}

struct hs_error *inside_check(struct inside_search *search, const struct frozen_thread *thread, bool *inside_ret)
{
	const struct slot_facts *slot = slot_facts_find(search->slots, registers_thread_pointer(&thread->registers));
	struct look look = { .span = stack_span_of(&thread->registers, search->reader.maps) };
	const struct proc_map *map = proc_maps_find(search->reader.maps, look.span.low);
	struct hs_error *error;

	look.interrupted = look.span.low;
	look.floor = map ? map->start : look.span.low;
	if (slot && is_on_own_stack(slot, &look) && slot->stack_low < look.floor)
		look.floor = slot->stack_low;

	*inside_ret = true;
	search->was_cut = false;
	if (ranges_hold(search->ranges, search->range_count, registers_pc(&thread->registers)))
		return NULL;
	if (recall(search, thread->tid, slot, &look)) {
		*inside_ret = false;
		return NULL;
	}
	error = check_stack(search, thread, slot, &look, inside_ret);
	return error ? error : remember(search, thread->tid, slot, &look, *inside_ret);
}

struct turn {
	size_t index;
	uint32_t looked_at; // in which freeze; 0 = never
};

static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->looked_at != b->looked_at)
		return a->looked_at < b->looked_at ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static struct turn *order_threads(const struct inside_search *search, const struct frozen_process *frozen)
{
	struct turn *turns = calloc(frozen->count + 1, sizeof(*turns));

	for (size_t i = 0; i < frozen->count && turns; i++) {
		const struct looked_at *item = looked_at_find(search->looked_at, frozen->threads[i].tid);

		turns[i] = (struct turn){ i, item ? item->turn : 0 };
	}
	if (turns)
		qsort(turns, frozen->count, sizeof(*turns), compare_turns);
	return turns;
}

struct hs_error *inside_count(struct inside_search *search, const struct frozen_process *frozen, size_t *inside_ret,
			      size_t *unseen_ret)
{
	struct turn *turns = order_threads(search, frozen);
	struct hs_error *error = turns ? NULL : &hs_error_no_memory;

	*inside_ret = *unseen_ret = 0;
	search->looked_at->turn++;
	for (size_t i = 0; i < frozen->count && !error; i++) {
		bool inside = false;

		error = interrupt_check();
		if (!error)
			error = inside_check(search, &frozen->threads[turns[i].index], &inside);
		*inside_ret += inside && !search->was_cut;
		*unseen_ret += inside && search->was_cut;
	}
	free(turns);
	return error;
}
