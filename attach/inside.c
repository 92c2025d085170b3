// SPDX-License-Identifier: Apache-2.0
#include "attach/inside.h"

#include "attach/sigframe.h"
#include "base/log.h"

#include <stdlib.h>

enum {
	CHUNK = 65536,
	WALKED_MAX = 1 << 20,    // bytes of a stack that are kept for the walk; of one whose end is not known, that are looked at
	HOOK_FRAMES_SIZE = 1024, // a hook's frames down to its call of the original fit in this
};
#define LOOKED_AT_IN_ALL (UINT64_C(1) << 30)

struct hs_error *inside_begin(const struct target_memory *memory, const struct proc_maps *maps, const struct slot_facts_list *slots,
			      struct unwind_tables *tables, const struct region_part *ranges, size_t range_count, struct inside_search *ret)
{
	*ret = (struct inside_search){ .slots = slots, .tables = tables, .ranges = ranges, .range_count = range_count,
				       .words = malloc(WALKED_MAX + CHUNK), .left = LOOKED_AT_IN_ALL };
	if (!ret->words)
		return &hs_error_no_memory;
	stack_reader_open(memory, maps, &ret->reader);
	return NULL;
}

void inside_end(struct inside_search *search)
{
	if (!search->words)
		return;
	stack_reader_close(&search->reader);
	free(search->words);
	search->words = NULL;
}

// What the words of a stack tell.
struct look {
	struct stack_span span;
	uint64_t end;      // [span.low, end) was looked at
	bool points;       // a word there points into the ranges
	bool points_deep;  // one that does is not in the buffer
	bool is_whole;     // nothing of the stack was left out
	bool is_limited;   // its end is not known, and all was there as far as it was looked at
	size_t kept;       // bytes from span.low on that stand in the buffer
};

static bool points(const struct inside_search *search, const uint64_t *words, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*words); i++)
		if (ranges_hold(search->ranges, search->range_count, words[i]))
			return true;
	return false;
}

// In pieces: the first ones stay in the buffer, for the walk; all others take each other's place behind them.
static struct hs_error *look_at_stack(struct inside_search *search, const struct frozen_thread *thread, struct look *look)
{
	const struct stack_span span = stack_span_of(&thread->registers, search->reader.maps);
	uint64_t end = span.high;

	*look = (struct look){ .span = span, .end = span.low };
	if (!span.is_proven && end - span.low > WALKED_MAX)
		end = span.low + WALKED_MAX;
	while (look->end < end) {
		size_t wanted = end - look->end < CHUNK ? (size_t)(end - look->end) : CHUNK, size;
		bool is_kept = look->kept < WALKED_MAX, is_known;
		uint64_t *piece = search->words + (is_kept ? look->kept : WALKED_MAX) / sizeof(*piece);
		struct hs_error *error;

		if (wanted > search->left)
			return NULL;
		error = stack_reader_copy(&search->reader, look->end, piece, wanted, &size, &is_known);
		if (error)
			return error;
		search->left -= size;
		if (points(search, piece, size)) {
			look->points = true;
			look->points_deep |= !is_kept;
		}
		look->kept += is_kept ? size : 0;
		look->end += size;
		if (size < wanted) {
			look->is_whole = is_known;
			return NULL;
		}
	}
	look->is_whole = end == span.high;
	look->is_limited = !look->is_whole;
	return NULL;
}

// Whether a word that points into the ranges is the pc of a signal frame: a handler will return into the payload.
static bool is_interrupted(const struct inside_search *search, const struct look *look)
{
	for (size_t offset = HS_SIGFRAME_PC_OFFSET; offset + HS_SIGFRAME_HEAD_SIZE - HS_SIGFRAME_PC_OFFSET <= look->kept; offset += sizeof(uint64_t)) {
		const struct proc_map *map;
		uint64_t restorer;

		if (!ranges_hold(search->ranges, search->range_count, search->words[offset / sizeof(uint64_t)]) ||
		    !sigframe_may_be((const uint8_t *)search->words + offset - HS_SIGFRAME_PC_OFFSET, &restorer))
			continue;
		map = proc_maps_find(search->reader.maps, restorer);
		if (map && map->executable)
			return true;
	}
	return false;
}

// Whether `guard` is the address of a return address; it may also say that a call is watched, or nothing (inject/reentry.h).
static bool is_place(uint64_t guard)
{
	return guard % 8 == 0 && guard >= HS_PAGE_SIZE;
}

// Whether a word of [low, high), of at most a page, points into the ranges, or may.
static struct hs_error *part_points(const struct inside_search *search, uint64_t low, uint64_t high, bool *ret)
{
	uint64_t words[HOOK_FRAMES_SIZE / sizeof(uint64_t)];
	size_t size;
	bool is_known;
	struct hs_error *error = stack_reader_copy(&search->reader, low, words, (size_t)(high - low), &size, &is_known);

	if (!error)
		*ret |= !is_known || points(search, words, size);
	return error;
}

// Whether a hook runs whose return address lies at the slot's guard, where the thread's stack was not looked at: it may be on another stack than the
// thread is now.
static struct hs_error *runs_elsewhere(const struct inside_search *search, const struct slot_facts *slot, const struct look *look, bool *ret)
{
	uint64_t guard = slot->guard, sp = look->span.low, low = guard - HOOK_FRAMES_SIZE, page = guard & ~(uint64_t)(HS_PAGE_SIZE - 1);
	struct hs_error *error = NULL;

	*ret = false;
	if (!is_place(guard) || (guard >= sp && guard < look->end))
		return NULL;
	// Below the stack pointer on the thread's own stack: jumped out of, and over.
	if (guard < sp && guard >= slot->stack_low && sp < slot->stack_high)
		return NULL;
	// Page by page: below a stack lies what cannot be read.
	if (low < page)
		error = part_points(search, low, page, ret);
	return error || page == guard ? error : part_points(search, low < page ? page : low, guard, ret);
}

// Whether the thread's own slot says that no hook runs. It says so before a hook calls anything, so only a handler that has interrupted the payload
// itself could come back there; its frame was looked for. Of another stack than the thread's own (a coroutine's, a goroutine's) nobody knows the end: there
// what was looked at is taken for all that a handler has between itself and its frame.
static bool says_outside(const struct inside_search *search, const struct slot_facts *slot, const struct look *look)
{
	bool on_own = slot && look->span.low >= slot->stack_low && look->span.low < slot->stack_high;

	return slot && !slot->is_of_several && !is_place(slot->guard) && (look->is_whole || (!on_own && look->is_limited)) && !look->points_deep &&
	       !is_interrupted(search, look);
}

// Whether no word from `certain` on points into the ranges: what further frames there are, none is a hook's, or comes back to one.
static bool is_clean_above(const struct inside_search *search, const struct look *look, uint64_t certain)
{
	uint64_t offset = certain - look->span.low;

	return look->is_whole && !look->points_deep && certain % 8 == 0 && offset <= look->kept &&
	       !points(search, search->words + offset / sizeof(uint64_t), look->kept - offset);
}

struct hs_error *inside_check(struct inside_search *search, const struct frozen_thread *thread, bool *inside_ret)
{
	const struct slot_facts *slot = slot_facts_find(search->slots, thread->registers.fs_base);
	struct walked_thread walked = { .registers = &thread->registers };
	struct look look;
	enum walk_end end;
	uint64_t certain;
	struct hs_error *error;

	*inside_ret = true;
	if (ranges_hold(search->ranges, search->range_count, thread->registers.rip))
		return NULL;
	error = look_at_stack(search, thread, &look);
	*inside_ret = false;
	if (!error && slot)
		error = runs_elsewhere(search, slot, &look, inside_ret);
	if (error || *inside_ret || (!look.points && look.is_whole))
		return error;
	// The hook itself says that it runs: a second opinion, for the walk may err. (Left over after a longjmp out of a hook, it delays
	// the end of the detach until the thread has returned from where it is.)
	*inside_ret = look.points && slot && is_place(slot->guard) && slot->guard > look.span.low && slot->guard < look.end;
	if (!*inside_ret) {
		walked.stack = (struct memory_span){ (const uint8_t *)search->words, look.span.low, look.kept };
		walked.stack_end = look.span.is_proven ? look.span.high : 0;
		end = stack_walk(search->tables, &search->reader, &walked, search->ranges, search->range_count, &certain);
		*inside_ret = end == WALK_MET ||
			      (end == WALK_INCOMPLETE && !is_clean_above(search, &look, certain) && !says_outside(search, slot, &look));
	}
	hs_verbose("thread %d has %s: %s", thread->tid, look.points ? "words on its stack that point into the payload" :
		   "a stack that could not be read as a whole", *inside_ret ? "inside" : look.points ? "left over" : "outside");
	return NULL;
}
