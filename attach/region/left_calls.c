// SPDX-License-Identifier: Apache-2.0
#include "attach/region/left_calls.h"

#include "attach/guard/interrupt.h"
#include "attach/region/stack_look.h"

#include <stdlib.h>
#include <string.h>

enum {
	DIGIT_BITS = 11, // of a pass of the sort
	DIGITS = 1 << DIGIT_BITS,
	READ_COSTS = 4096, // of the share, for a piece, beside its bytes
};

// One pass of a radix sort: moves all by the digit at `shift`, in order. Returns whether it has: all have the same one
// otherwise.
static bool sort_by_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	size_t starts[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		starts[from[i] >> shift & (DIGITS - 1)]++;
	if (starts[from[0] >> shift & (DIGITS - 1)] == count)
		return false;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t here = starts[i];

		starts[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
	return true;
}

// In place of qsort(3), which takes five times as long for a million of them. pre: count > 0
static struct hs_error *sort_words(uint64_t **words, size_t count)
{
	uint64_t *other = malloc(count * sizeof(*other));

	if (!other)
		return &hs_error_no_memory;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
		if (sort_by_digit(*words, other, count, shift)) {
			uint64_t *sorted = other;

			other = *words;
			*words = sorted;
		}
	free(other);
	return NULL;
}

struct hs_error *left_calls_list(struct left_calls *calls, struct slot_facts_list *slots)
{
	struct hs_error *error;
	size_t places = 0;

	if (calls->is_listed)
		return NULL;
	for (size_t i = 0; i < slots->nobodys_count; i++)
		if (guard_is_place(slots->nobodys[i]))
			slots->nobodys[places++] = slots->nobodys[i];
	slots->nobodys_count = places;
	error = places ? sort_words(&slots->nobodys, places) : NULL;
	if (error)
		return error;
	*calls = (struct left_calls){ .is_listed = true, .guards = slots->nobodys };
	for (size_t i = 0; i < places; i++)
		if (i == 0 || calls->guards[i] != calls->guards[calls->count - 1])
			calls->guards[calls->count++] = calls->guards[i];
	slots->nobodys = NULL;
	slots->nobodys_count = slots->nobodys_room = 0;
	return NULL;
}

void left_calls_deinit(struct left_calls *calls)
{
	free(calls->guards);
	*calls = (struct left_calls){ 0 };
}

// Memory that is read at once: [low, high) has all that lies below the guards [first, end).
struct piece {
	size_t first, end;
	uint64_t low, high;
};

// From guards[first] on, as long as the next one's words begin no more than a page further on.
static struct piece piece_from(const struct left_calls *calls, size_t first)
{
	const uint64_t low = calls->guards[first] - HS_HOOK_FRAMES_SIZE;
	size_t end = first + 1;

	while (end < calls->count && calls->guards[end] - low <= LOOK_CHUNK &&
	       calls->guards[end] - calls->guards[end - 1] <= HS_HOOK_FRAMES_SIZE + HS_PAGE_SIZE)
		end++;
	return (struct piece){ first, end, low, calls->guards[end - 1] };
}

// What cannot be read is no stack, and leads nowhere: 0. What is not known may lead into the payload.
// pre: there are ranges
static struct hs_error *read_piece(const struct inside_search *search, const struct piece *piece)
{
	for (uint64_t at = piece->low; at < piece->high;) {
		uint64_t *words = search->words + (at - piece->low) / sizeof(*words), next;
		size_t size;
		bool is_known;
		struct hs_error *error =
			stack_reader_copy(&search->reader, at, words, (size_t)(piece->high - at), &size, &is_known);

		if (error)
			return error;
		words += size / sizeof(*words);
		at += size;
		next = at < piece->high ? page_of(at) + HS_PAGE_SIZE : at; // behind the page where the copy ended
		for (; at < next && at < piece->high; at += sizeof(*words))
			*words++ = is_known ? 0 : search->ranges[0].address;
	}
	return NULL;
}

// Moves the piece's guards that lead into the payload to `kept` on. Each word is looked at once.
static void keep_leading(struct left_calls *calls, const struct inside_search *search, const struct piece *piece,
			 size_t *kept)
{
	uint64_t at = piece->low, last = 0; // the highest word below `at` that points into the ranges; 0 = none

	for (size_t i = piece->first; i < piece->end; i++) {
		const uint64_t guard = calls->guards[i];

		for (; at < guard; at += sizeof(*search->words))
			if (look_words_point(search, search->words + (at - piece->low) / sizeof(*search->words),
					     sizeof(*search->words)))
				last = at;
		if (last && guard - last <= HS_HOOK_FRAMES_SIZE)
			calls->guards[(*kept)++] = guard;
	}
}

struct hs_error *left_calls_look(struct left_calls *calls, const struct inside_search *search, uint64_t share)
{
	size_t next = calls->count - (calls->unseen ? calls->unseen : calls->count), kept = next;
	struct hs_error *error = NULL;

	if (search->range_count == 0) // nothing to come back to
		calls->count = kept = next = 0;
	while (next < calls->count && !error) {
		const struct piece piece = piece_from(calls, next);
		const uint64_t cost = piece.high - piece.low + READ_COSTS;

		if (cost > share)
			break;
		share -= cost;
		error = interrupt_check();
		if (!error)
			error = read_piece(search, &piece);
		if (error)
			break;
		keep_leading(calls, search, &piece, &kept);
		next = piece.end;
	}
	calls->unseen = calls->count - next;
	if (calls->unseen)
		memmove(calls->guards + kept, calls->guards + next, calls->unseen * sizeof(*calls->guards));
	calls->count = kept + calls->unseen;
	return error;
}
