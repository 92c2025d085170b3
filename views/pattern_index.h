// SPDX-License-Identifier: Apache-2.0
// The patterns of frame_patterns.h made ready to be searched: sorted, lists in braces written out. Pure.
#ifndef HEAPSNAP_VIEWS_PATTERN_INDEX_H
#define HEAPSNAP_VIEWS_PATTERN_INDEX_H

#include "base/error.h"
#include "views/frame_patterns.h"

#include <stdbool.h>
#include <stddef.h>

struct pattern_entry {
	const char *text; // without the *
	size_t size;
	const char *why; // "pattern std::vector::*"; owned by the index
	const struct frame_pattern *row;
	// Of beginnings: the longest other one that this one begins with, index + 1; 0 = none. So that those that a
	// name begins with are a chain.
	size_t parent;
};

struct pattern_list {
	struct pattern_entry *items; // sorted
	size_t count, room;
};

struct pattern_index {
	struct pattern_list whole, beginnings, last_parts;
	char *texts; // owned: what `text` and `why` point into
	size_t text_size, text_room;
};

struct pattern_subject {
	const char *text;
	const char *last_part; // "" = there is only one
	const char *module;    // name up to ".so", 0-terminated or not: `module_size` bytes
	size_t module_size;
	bool may_be_rust;
};

// `kind` is the first word of `why`. *ret is owned by the caller and may be given to pattern_index_deinit whatever is
// returned; the rows must live as long. HS_ERROR_NO_MEMORY.
struct hs_error *pattern_index_init(struct pattern_index *ret, const struct frame_pattern *rows, size_t count,
				    const char *kind) HS_MUST_CHECK;
void pattern_index_deinit(struct pattern_index *index);

// The pattern that fits best; NULL = none fits.
const struct pattern_entry *pattern_index_find(const struct pattern_index *index,
					       const struct pattern_subject *subject);

#endif
