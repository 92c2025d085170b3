// SPDX-License-Identifier: Apache-2.0
#include "attach/region/stack_look.h"

#include "attach/ptrace/signal_frames.h"

enum {
	NEVER_WRITTEN_COSTS = 32, // of the share, for a page of which only pagemap is read; bytes
};

bool look_words_point(const struct inside_search *search, const uint64_t *words, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*words); i++)
		if (ranges_hold(search->ranges, search->range_count, words[i]))
			return true;
	return false;
}

static void note_return(struct look *look, uint64_t sp)
{
	if (sp >= look->floor && sp < look->span.low) {
		look->interrupted = sp < look->interrupted ? sp : look->interrupted;
		return;
	}
	for (size_t i = 0; i < look->returns; i++)
		if (look->returns_to[i] == sp)
			return;
	if (look->returns < LOOK_STACKS_MAX)
		look->returns_to[look->returns++] = sp;
}

// The stack pointers to which handlers on alternate stacks, at `low`, will return.
static void look_for_returns(const struct inside_search *search, const struct stack_piece *piece, uint64_t low,
			     struct look *look)
{
	for (size_t i = 0; i < piece->size / sizeof(*piece->words); i++)
		if (signal_frame_has_sp(&search->reader, piece, i * sizeof(*piece->words), low))
			note_return(look, piece->words[i]);
}

static void look_at_words(const struct inside_search *search, const struct stack_piece *piece, bool is_kept,
			  struct look *look)
{
	for (size_t i = 0; i < piece->size / sizeof(*piece->words); i++) {
		if (!ranges_hold(search->ranges, search->range_count, piece->words[i]))
			continue;
		look->points = true;
		look->points_deep |= !is_kept;
		look->is_interrupted =
			look->is_interrupted ||
			signal_frame_has_pc(&search->reader, piece, i * sizeof(*piece->words), look->span.low, 0);
	}
	look_for_returns(search, piece, look->span.low, look);
}

// Passes what was never written, where nothing is kept any more. Returns whether it has.
static bool credit_never_written(struct inside_search *search, uint64_t end, struct look *look)
{
	uint64_t size = look->kept < LOOK_KEPT_MAX ? 0 : stack_reader_never_written(&search->reader, look->end, end);
	uint64_t cost = (size / HS_PAGE_SIZE + 1) * NEVER_WRITTEN_COSTS;

	if (size < LOOK_CHUNK || cost > *look->left)
		return false;
	*look->left -= cost;
	look->end += size;
	return true;
}

struct hs_error *look_at_stack(struct inside_search *search, struct look *look)
{
	uint64_t end = look->span.high;

	look->end = look->start;
	if (!look->span.is_proven && end - look->start > LOOK_KEPT_MAX)
		end = look->start + LOOK_KEPT_MAX;
	while (look->end < end) {
		size_t wanted = end - look->end < LOOK_CHUNK ? (size_t)(end - look->end) : LOOK_CHUNK, size;
		bool is_kept = look->kept < LOOK_KEPT_MAX, is_known;
		uint64_t *piece = search->words + (is_kept ? look->kept : LOOK_KEPT_MAX) / sizeof(*piece);
		struct hs_error *error;

		if (credit_never_written(search, end, look))
			continue;
		look->is_cut = wanted > *look->left;
		if (look->is_cut)
			return NULL;
		error = stack_reader_copy(&search->reader, look->end, piece, wanted, &size, &is_known);
		if (error)
			return error;
		*look->left -= size;
		look_at_words(search, &(struct stack_piece){ look->end, piece, size }, is_kept, look);
		look->kept += is_kept ? size : 0;
		look->end += size;
		if (size < wanted) {
			look->is_whole = is_known;
			return NULL;
		}
	}
	look->is_whole = end == look->span.high;
	look->is_limited = !look->is_whole;
	return NULL;
}

// A part of a stack to which a handler will return.
struct part {
	uint64_t low, high;
	bool is_below; // between an interrupted stack pointer and the thread's own, above it: all of it must be
		       // readable
	bool is_own; // on the thread's own stack: the slot already says whether a hook runs there (runs_elsewhere), so
		     // only a signal frame counts
};

// Whether the part leads into the payload, or may. What is left over there is not told from what is in use; it delays
// the end of the detach until the handler has returned. But on the thread's own stack only a frame counts that leads
// there.
static struct hs_error *look_at_part(struct inside_search *search, const struct part *part, struct look *look,
				     bool *ret)
{
	uint64_t *words = search->words + LOOK_KEPT_MAX / sizeof(*words);

	for (uint64_t at = part->low; at < part->high && !*ret;) {
		size_t wanted = part->high - at < LOOK_CHUNK ? (size_t)(part->high - at) : LOOK_CHUNK, size;
		struct stack_piece piece = { .address = at, .words = words };
		struct hs_error *error;
		bool is_known;

		if (wanted > *look->left) {
			*ret = look->is_cut = true;
			return NULL;
		}
		error = stack_reader_copy(&search->reader, at, words, wanted, &size, &is_known);
		if (error)
			return error;
		*look->left -= size;
		piece.size = size;
		*ret = !is_known || (part->is_below && size < wanted);
		for (size_t i = 0; i < size / sizeof(*words) && !*ret; i++)
			*ret = ranges_hold(search->ranges, search->range_count, words[i]) &&
			       (!part->is_own ||
				signal_frame_has_pc(&search->reader, &piece, i * sizeof(*words), part->low, 0));
		look_for_returns(search, &piece, part->low, look);
		at += size;
		if (size < wanted)
			break;
	}
	return NULL;
}

struct hs_error *look_at_returns(struct inside_search *search, const struct frozen_thread *thread,
				 const struct slot_facts *slot, struct look *look, bool *ret)
{
	uint64_t done = look->span.low;
	struct hs_error *error = NULL;

	for (size_t i = 0; (i < look->returns || look->interrupted < done) && !*ret && !error;) {
		struct part part = { .low = look->interrupted & ~UINT64_C(7), .high = done, .is_below = true };

		if (look->interrupted < done) {
			done = part.low;
		} else {
			arch_registers registers = thread->registers;
			struct stack_span span;

			registers_set_sp(&registers, look->returns_to[i++]);
			span = stack_span_of(&registers, search->reader.maps);
			if (!span.is_proven && span.high - span.low > LOOK_KEPT_MAX)
				span.high = span.low + LOOK_KEPT_MAX;
			part = (struct part){ .low = span.low,
					      .high = span.high,
					      .is_own = slot && !slot->is_of_several &&
							registers_sp(&registers) >= slot->stack_low &&
							registers_sp(&registers) < slot->stack_high };
		}
		error = look_at_part(search, &part, look, ret);
		*ret = *ret || look->returns == LOOK_STACKS_MAX;
	}
	return error;
}
