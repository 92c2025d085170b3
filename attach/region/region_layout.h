// SPDX-License-Identifier: Apache-2.0
// The layouts of regions that this tool can read: its own, and those of earlier versions (layout_NN.h), which the tool
// of that version attached and left. A region stays as it is: what differs is where its parts are, and two structs,
// which a reader translates into this version's. Pure.
#ifndef HEAPSNAP_ATTACH_REGION_REGION_LAYOUT_H
#define HEAPSNAP_ATTACH_REGION_REGION_LAYOUT_H

#include "inject/abi/region.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region_layout {
	uint32_t abi_version;
	uint32_t header_size; // bytes of its struct region_header
	uint32_t slot_size;   // bytes of its struct shared_slot
	struct stable_layout stable;
	struct region_part modules, strings, threads, rules, log, buckets, root, samples;
	uint64_t pages; // where those begin that are handed out, bytes; up to the region's end
	// Translate what begins at `from`, header_size or slot_size bytes; in the result sizes and offsets of parts are
	// still those of the region. NULL = it is this version's struct.
	void (*translate_header)(const void *from, struct region_header *to);
	void (*translate_slot)(const void *from, struct shared_slot *to);
};

// Of this version: what the payload of this tool works on. Only such a region is written to, but for a detach, which
// needs no more than the part that never changes.
extern const struct region_layout region_layout_own;

// NULL: no version that this tool can read.
const struct region_layout *region_layout_find(uint32_t abi_version);

// What begins at `from`, in the present form.
void region_layout_header(const struct region_layout *layout, const void *from, struct region_header *ret);
void region_layout_slot(const struct region_layout *layout, const void *from, struct shared_slot *ret);

static inline bool region_layout_is_own(const struct region_layout *layout) { return layout == &region_layout_own; }

#endif
