// SPDX-License-Identifier: Apache-2.0
// The part of a region that never changes (docs/abi.md). Any version of heapsnap, older or newer than the one that
// attached, finds here all that it needs to detach, to say what is there, and to leave it alone. Nothing in this header
// is ever moved, removed or given another meaning. What is reserved is 0 and may get a meaning whose 0 is what was
// before.
//
// As fixed are, in their own headers: struct hook_record, enum hook_state and VERDICT_ok, which is 0 (records.h); the
// place of `active` in the state pages; magic, image_size and, in its config, region, state, code, region_size and
// state_size of the image; entry, hook_index, begin, stub, address, kind, size and old_bytes of an island
// (payload_header.h).
#ifndef HEAPSNAP_INJECT_ABI_STABLE_H
#define HEAPSNAP_INJECT_ABI_STABLE_H

#include "limits.h"

#include <stddef.h>
#include <stdint.h>

#define HS_REGION_MAGIC UINT64_C(0x50414e5350414548) // "HEAPSNAP", read as little endian

// The first version whose regions have this part.
#define HS_ABI_STABLE_SINCE 13

enum region_state {
	REGION_ATTACHING = 1, // mapped; hooks may be partly in place, none records
	REGION_ATTACHED = 2,
	REGION_DETACHING = 3, // hooks partly or wholly out; payload still mapped
};

struct region_part {
	uint64_t offset; // bytes from the start of the region
	uint64_t size;   // bytes
};

// Where in the region the rest is of what a detach needs, as the attaching tool wrote it. Offsets are bytes.
struct stable_layout {
	// from the start of the region
	uint64_t hooks;       // struct hook_record, `hook_stride` apart: the journal
	uint64_t slots;       // `slot_count`, `slot_stride` apart
	uint64_t used_slots;  // u64[slot_count / 64]: a bit for each that was ever taken
	uint64_t extra_slots; // u32[extra_slots_max]: number of the page of HS_PAGE_SIZE where a further slot begins
	uint64_t extra_slot_count; // u32: used entries of it
	uint64_t forgotten_guards; // u64[forgotten_count]: return slots of hooks that no slot keeps any more; 0 = none
	uint64_t guards_lost;      // u32: 1 = there were more of them
	uint32_t hook_stride;
	uint32_t slot_stride;
	uint32_t slot_count; // a multiple of 64
	uint32_t extra_slots_max;
	uint32_t forgotten_count;
	// from the start of a slot, in its first HS_STABLE_SLOT_SIZE bytes
	uint32_t key;         // u64, with HS_KEY_*
	uint32_t guard;       // u64
	uint32_t in_original; // u32
	uint32_t stack_low;   // u64
	uint32_t stack_high;  // u64
	uint32_t left_count;  // u32
	uint32_t left_guards; // u64[left_guards_count]
	uint32_t left_guards_count;
	uint32_t reserved[5];
};
_Static_assert(
	offsetof(struct stable_layout, hooks) == 0 && offsetof(struct stable_layout, slots) == 8 &&
		offsetof(struct stable_layout, used_slots) == 16 && offsetof(struct stable_layout, extra_slots) == 24 &&
		offsetof(struct stable_layout, extra_slot_count) == 32 &&
		offsetof(struct stable_layout, forgotten_guards) == 40 &&
		offsetof(struct stable_layout, guards_lost) == 48 &&
		offsetof(struct stable_layout, hook_stride) == 56 &&
		offsetof(struct stable_layout, slot_stride) == 60 && offsetof(struct stable_layout, slot_count) == 64 &&
		offsetof(struct stable_layout, extra_slots_max) == 68 &&
		offsetof(struct stable_layout, forgotten_count) == 72 && offsetof(struct stable_layout, key) == 76 &&
		offsetof(struct stable_layout, guard) == 80 && offsetof(struct stable_layout, in_original) == 84 &&
		offsetof(struct stable_layout, stack_low) == 88 && offsetof(struct stable_layout, stack_high) == 92 &&
		offsetof(struct stable_layout, left_count) == 96 &&
		offsetof(struct stable_layout, left_guards) == 100 &&
		offsetof(struct stable_layout, left_guards_count) == 104 && sizeof(struct stable_layout) == 128,
	"stable_layout never changes");

#define HS_STABLE_SLOT_SIZE       HS_PAGE_SIZE
#define HS_STABLE_LEFT_GUARDS_MAX 8u

// The beginning of the region.
struct stable_header {
	uint64_t magic;
	uint32_t abi_version;
	uint32_t state; // enum region_state, written by the tool
	uint64_t size;  // bytes of the whole region
	// Where things are in the target.
	uint64_t region_address;
	uint64_t code_address;  // payload image
	uint64_t code_size;     // bytes mapped there
	uint64_t state_address; // the state pages, right behind the image
	uint64_t state_size;    // bytes
	// in the name of the memory file that the code is mapped from (attach/process/code_names.h)
	uint64_t code_nonce;
	uint64_t attach_wall_ns; // CLOCK_REALTIME at attach
	char tool_version[32];   // of heapsnap, that attached; terminated
	uint32_t island_count;
	uint32_t hook_count;
	struct region_part islands[16]; // offset = address in the target, size = bytes mapped
	struct stable_layout layout;
	uint64_t reserved;
};
_Static_assert(offsetof(struct stable_header, magic) == 0 && offsetof(struct stable_header, abi_version) == 8 &&
		       offsetof(struct stable_header, state) == 12 && offsetof(struct stable_header, size) == 16 &&
		       offsetof(struct stable_header, region_address) == 24 &&
		       offsetof(struct stable_header, code_address) == 32 &&
		       offsetof(struct stable_header, code_size) == 40 &&
		       offsetof(struct stable_header, state_address) == 48 &&
		       offsetof(struct stable_header, state_size) == 56 &&
		       offsetof(struct stable_header, code_nonce) == 64 &&
		       offsetof(struct stable_header, attach_wall_ns) == 72 &&
		       offsetof(struct stable_header, tool_version) == 80 &&
		       offsetof(struct stable_header, island_count) == 112 &&
		       offsetof(struct stable_header, hook_count) == 116 &&
		       offsetof(struct stable_header, islands) == 120 && sizeof(struct region_part) == 16 &&
		       offsetof(struct stable_header, layout) == 376 && sizeof(struct stable_header) == 512,
	       "stable_header never changes");
_Static_assert(HS_ISLAND_AREAS_MAX == 16, "stable_header never changes");

// A hook's frames, down to its call of the original, fit into this many bytes below its return address.
#define HS_HOOK_FRAMES_SIZE 1024u

// What stands in a slot's key beside the thread pointer. No thread pointer has any of these bits alone: an address of a
// program has none of the upper eight, one of the kernel all of them. So a key with a flag is never equal to a thread's
// pointer, and the thread's calls look closer.
#define HS_KEY_RELEASED                                                                                                \
	(UINT64_C(1) << 62) // given up by its thread, which may take it back; so may another thread, for itself
#define HS_KEY_ENDED                                                                                                   \
	(UINT64_C(1) << 61) // of a thread that is no more, set by the tool under a freeze; another may take it
#define HS_KEY_FOREIGN                                                                                                 \
	(UINT64_C(1)                                                                                                   \
	 << 60) // what lies at the thread pointer is not (yet) recognised as the libc's: nothing is read there
#define HS_KEY_SHARED  (UINT64_C(1) << 59) // several threads have this pointer: none of them is recorded
#define HS_KEY_NOBODYS (UINT64_C(1) << 58) // the first slot: the hash of thread pointer 0, which no slot is to match
#define HS_KEY_FLAGS   (UINT64_C(0xff) << 56)

// Whether the slot is some thread's; if not it was never used, or another may take it.
static inline int thread_key_is_taken(uint64_t key)
{
	return key != 0 && !(key & (HS_KEY_RELEASED | HS_KEY_ENDED | HS_KEY_NOBODYS));
}

static inline uint64_t thread_key_pointer(uint64_t key) { return key & ~HS_KEY_FLAGS; }

#endif
