// SPDX-License-Identifier: Apache-2.0
// The head of the payload image, and the form of the code that leads from a patched function into it.
//
// The code memfd, as the tool fills it before the target maps it R-X (offsets in pages):
//
//   0            image_pages             image_pages + island_pages ...
//   +------------+-----------------------+-----------------------+
//   | payload    | island 0              | island 1              |
//   | image      | struct hook_island[]  | struct hook_island[]  |
//   +------------+-----------------------+-----------------------+
//   | mapped     | mapped within 2 GiB of the functions that it serves
//   v
//   code_base    followed in the target by the state pages (private, anonymous, wiped on fork)
//
// The image has no writable data and no relocations. What it must know of its target, the tool writes
// into `config` below before mapping: it is constant from then on.
#ifndef HEAPSNAP_INJECT_ABI_PAYLOAD_HEADER_H
#define HEAPSNAP_INJECT_ABI_PAYLOAD_HEADER_H

#include "limits.h"
#include "records.h"

#include <stddef.h>
#include <stdint.h>

#define HS_PAYLOAD_MAGIC UINT64_C(0x44414f4c59415053) // "SPAYLOAD", read as little endian

// Every kind of hook, in the order of the entry table. The kind says how arguments and result are read:
//   X(kind, what the function does)
#define HS_HOOK_KINDS(X)                                                                                               \
	X(malloc, "void *f(size_t size)")                                                                              \
	X(calloc, "void *f(size_t count, size_t size)")                                                                \
	X(realloc, "void *f(void *block, size_t size)")                                                                \
	X(reallocarray, "void *f(void *block, size_t count, size_t size)")                                             \
	X(free, "void f(void *block)")                                                                                 \
	X(posix_memalign, "int f(void **block, size_t alignment, size_t size)")                                        \
	X(memalign, "void *f(size_t alignment, size_t size)")                                                          \
	X(loader_event, "void f(void), called by the dynamic loader when its list changes")                            \
	X(new, "void *f(size_t size, ...), which may throw: see struct hook_island, companion")                        \
	X(allocate, "a new block, as the layout says")                                                                 \
	X(release, "gives a block back, as the layout says")                                                           \
	X(reallocate, "a block for another, as the layout says")                                                       \
	X(resize, "size_t f(block, size, extra, ...), in place; gives the usable size")                                \
	X(watched, "a new block, as the layout says; it runs without a frame of ours: see exit_point")                 \
	X(exit_point, "where a watched function returns: its result is the block")

enum hook_kind {
#define X(kind, doc) HOOK_##kind,
	HS_HOOK_KINDS(X)
#undef X
		HOOK_KIND_COUNT
};

#define HS_HOOK_KINDS_MAX 16u // what any version may have
_Static_assert(HOOK_loader_event == 7 && HOOK_allocate == 9 && HOOK_exit_point == 14, "these never change (stable.h)");

// Hooks of this kind stand for an allocation function: not the loader's event, nor one of the places where a function
// returns.
static inline _Bool hook_kind_is_function(enum hook_kind kind)
{
	return kind != HOOK_loader_event && kind != HOOK_exit_point;
}

// Functions of this kind do nothing but give a block back.
static inline _Bool hook_kind_only_releases(enum hook_kind kind) { return kind == HOOK_free || kind == HOOK_release; }

// Hooks of this kind change no register but those that the function itself changes. The others are for functions whose
// callers cannot know what they change: those that a shared library exports, so that another may stand in their place.
static inline _Bool hook_kind_keeps_registers(enum hook_kind kind)
{
	return kind == HOOK_loader_event || (kind >= HOOK_allocate && kind <= HOOK_exit_point);
}

// Functions of this kind give back the block that they get, always or when they succeed.
static inline _Bool hook_kind_releases(enum hook_kind kind)
{
	return hook_kind_only_releases(kind) || kind == HOOK_realloc || kind == HOOK_reallocarray ||
	       kind == HOOK_reallocate;
}

// Functions of this kind make blocks, and are not hooked for this reason: nobody sees the blocks.
static inline _Bool hook_makes_unseen(enum hook_kind kind, enum hook_verdict verdict)
{
	return verdict != VERDICT_ok && verdict != VERDICT_forwards && hook_kind_is_function(kind) &&
	       !hook_kind_only_releases(kind) && kind != HOOK_resize;
}

// How the control block of a thread (from the thread pointer up) tells of its stack.
enum libc_kind {
	LIBC_unknown = 0, // as glibc
	LIBC_glibc = 1,
	LIBC_musl = 2,
};

// How the generic kinds (allocate, release, reallocate, resize) read arguments and result. Arguments have numbers from
// 1 to HS_LAYOUT_ARGUMENTS, those in general registers; 0 = there is none.
struct hook_layout {
	uint8_t size;  // bytes of the (new) block. allocate, without HS_LAYOUT_STRING, and reallocate have it
	uint8_t count; // times so many
	uint8_t block; // the block that is given back, reallocated or resized
	uint8_t where; // points to a word that holds the block's address, before (reallocate) and after; then the
		       // result is 0 on success. Without it the result is the new block, 0 on failure
	uint8_t extra; // resize: bytes beyond size that are welcome; HS_LAYOUT_CHAIN: where the next one's address is
	uint8_t flags;
	uint8_t reserved[2];
};
_Static_assert(sizeof(struct hook_layout) == 8, "hook_layout is 8 bytes");
#define HS_LAYOUT_ARGUMENTS 6u

enum hook_layout_flags {
	HS_LAYOUT_STRING = 1,    // the new block is a string and has the bytes that it needs
	HS_LAYOUT_FREES = 2,     // reallocate: the old block is given back even when there is no new one
	HS_LAYOUT_COMPANION = 4, // the function may throw: the companion, which does not, is called in its place with
				 // the same arguments
	HS_LAYOUT_CHAIN = 16,    // release: `block` is the first of a list; each holds the next one's address, `extra`
				 // bytes from its start
	HS_LAYOUT_ALL = 32,      // release: all blocks of an arena; which ones, nobody can tell
	HS_LAYOUT_SWAPPED = 8,   // the companion takes the first two arguments in the other order
};

// What the payload must know of its target. Written by the tool, never changed afterwards.
struct payload_config {
	uint64_t region;     // address of the region in the target
	uint64_t state;      // address of the state pages: struct payload_state
	uint64_t code;       // address of the image itself
	uint64_t tid_offset; // from the thread pointer to the thread's kernel id (u32); 0 = unknown
	uint64_t tcb_size;   // bytes of the libc's control block, from the thread pointer up; 0 = unknown
	uint64_t r_debug;    // address of the dynamic loader's struct r_debug; 0 = none
	uint64_t main_stack_low;
	uint64_t main_stack_high;     // the main thread's stack lies in [low, high)
	uint64_t main_thread_pointer; // the tool has seen that the libc's control block can be read there; 0 = unknown
	uint64_t main_stack_start;    // where the main thread's stack pointer was at the program's start; 0 = unknown
	uint64_t main_tid;    // the main thread's kernel id, for programs whose libc keeps it nowhere; 0 = unknown
	uint64_t libc;        // enum libc_kind
	uint64_t region_size; // bytes; so that a region is known from the moment on that it is mapped
	uint64_t state_size;  // bytes of the state pages
	uint64_t reserved[2];
};
_Static_assert(sizeof(struct payload_config) == 128, "payload_config is 128 bytes");
_Static_assert(offsetof(struct payload_config, region) == 0 && offsetof(struct payload_config, state) == 8 &&
		       offsetof(struct payload_config, code) == 16 &&
		       offsetof(struct payload_config, region_size) == 96 &&
		       offsetof(struct payload_config, state_size) == 104,
	       "these never change (stable.h)");

struct payload_header {
	uint64_t magic;
	uint32_t abi_version;
	uint32_t image_size;               // bytes, a multiple of the page size
	uint32_t entry[HS_HOOK_KINDS_MAX]; // offset in the image of each hook kind's entry, by enum hook_kind
	uint32_t syscall_gadget;           // offset of code that makes a system call, then returns
	uint32_t sigreturn_gadget;         // offset of code that makes rt_sigreturn
	// Where the code reads the thread pointer: a list of u32, each the distance from itself to such an instruction.
	// The tool may put another there that reads it without memory (attach/arch/thread_pointer_code.h).
	uint32_t thread_pointer_reads, thread_pointer_reads_end; // offsets in the image
	struct payload_config config;
	// Heads of islands, by enum hook_kind: offset in the image of HS_ISLAND_TRAMPOLINE_OFFSET bytes, of which those
	// from HS_ISLAND_FAST_PATH_OFFSET on are the island's `inline_fast_path`; 0 = this kind has none. And where in
	// them the first instruction is.
	uint32_t island_head[HS_HOOK_KINDS_MAX];
	uint8_t island_begin[HS_HOOK_KINDS_MAX];
};
_Static_assert(HOOK_KIND_COUNT <= HS_HOOK_KINDS_MAX, "the entry table is full");
_Static_assert(offsetof(struct payload_header, magic) == 0 && offsetof(struct payload_header, image_size) == 12 &&
		       offsetof(struct payload_header, config) == 96,
	       "these never change (stable.h)");
_Static_assert(offsetof(struct payload_header, entry) == 16, "entry");
_Static_assert(offsetof(struct payload_header, syscall_gadget) == 80, "syscall_gadget");
_Static_assert(offsetof(struct payload_header, island_head) == 224, "island_head");
_Static_assert(sizeof(struct payload_header) == 304, "payload_header is 304 bytes");

// A thread's sampling credit: as long as its unsampled allocations fit into `countdown`, they do not enter the C code
// (arch/*/entry.S, the inline fast paths). Where an entry is another thread's, or nobody's, the C code decides each
// time.
struct sampling_credit {
	uint64_t thread_pointer; // 0 = nobody's
	int64_t countdown; // bytes that may pass, and at most as many as the thread's interval, so that a block as
			   // large does not; 0 and below: none
	// What the countdown is a part of. It stays when the thread ends: a later one with the same thread pointer goes
	// on with it, whichever slot it gets.
	int64_t rest;        // bytes to the sample when the countdown has ended; 0 = there it is
	uint64_t interval;   // with which the gap was drawn; 0 = none was
	uint32_t generation; // of the settings that `interval` is from
	uint8_t unused[28];  // so that no other thread writes to the cache line
};
_Static_assert(sizeof(struct sampling_credit) == 64, "sampling_credit is a cache line");

#define HS_SAMPLING_CREDITS 1024u // power of two

// The state pages: what hooks look at before anything else. All zero in a forked child, because they are
// MADV_WIPEONFORK: every call then goes straight through, and nothing leads to the region, which is not there.
struct payload_state {
	uint32_t active;  // 1 = hooks record; 0 = hooks pass straight through
	uint32_t present; // 1 = the region is mapped, from the first time that hooks are active; 0 = not, in a forked
			  // child
	uint8_t unused[56];
	// HS_TRUST_CALLS = the hook's function calls no hooked function, so an unsampled call needs no frame; less = so
	// many calls of it have been seen that did not; HS_TRUST_NEVER = it does.
	uint8_t hook_trust[HS_HOOKS_MAX];
	uint8_t unused2[HS_PAGE_SIZE - 64 - HS_HOOKS_MAX];
	uint8_t bloom[HS_BLOOM_SIZE]; // how many recorded blocks have an address of each hash; HS_BLOOM_SATURATED
				      // stays so
	struct sampling_credit credits[HS_SAMPLING_CREDITS];
};
_Static_assert(offsetof(struct payload_state, active) == 0, "it never changes (stable.h)");
_Static_assert(offsetof(struct payload_state, bloom) == HS_PAGE_SIZE, "the filter begins a page");
_Static_assert(sizeof(struct payload_state) % HS_PAGE_SIZE == 0, "payload_state is whole pages");
#define HS_STATE_SIZE sizeof(struct payload_state)

// Where a thread's sampling credit is: an index into `credits`.
static inline uint32_t sampling_credit_index(uint64_t thread_pointer)
{
	return (uint32_t)thread_pointer * HS_HASH_FACTOR >> 22;
}
_Static_assert(1u << (32 - 22) == HS_SAMPLING_CREDITS, "sampling_credit_index reaches all of them");

#define HS_BLOOM_SHIFT 19u
_Static_assert(1u << (32 - HS_BLOOM_SHIFT) == HS_BLOOM_SIZE, "bloom_index reaches the whole filter");

// Where an address counts in the Bloom filter.
static inline uint32_t bloom_index(uint64_t address) { return (uint32_t)address * HS_HASH_FACTOR >> HS_BLOOM_SHIFT; }

// One hooked function, in an island. The patched function jumps to `begin`: to the inline fast path, if its kind has
// one, which decides most calls and runs on into the trampoline; what it leaves to the C code, and all other kinds, go
// through `stub`, which loads the address of this struct into a scratch register and jumps to `entry`. The original
// continues through `trampoline`. The last fields repeat what the journal in the region says of the hook, for a child
// that was forked while attached: it has the islands and the patched text, but not the region.
struct hook_island {
	uint64_t entry;      // address in the target of the payload's entry for this kind
	uint32_t hook_index; // of the hook in the region's hook list
	uint32_t begin;      // offset in this struct to which the function jumps
	uint8_t stub[16];    // kinds that keep registers save the scratch register first, below the stack pointer
	uint8_t inline_fast_path[96]; // ends where the trampoline begins
	uint8_t trampoline[80]; // the relocated first instructions, then a jump to the rest of the original. Of an exit
				// point: the relocated last ones, with a jump to the stub in place of the return
	// Another function of the same allocator, or 0. HOOK_new and HS_LAYOUT_COMPANION: what makes the block in place
	// of the original, which runs, without a frame of ours, when that gives 0. Kinds that release: size_t f(block),
	// its usable size.
	uint64_t companion;
	struct hook_layout layout; // of the generic kinds
	uint64_t address;          // of the first patched byte
	uint32_t kind;             // enum hook_kind
	uint8_t size;              // patched bytes
	uint8_t reserved2[3];
	uint8_t old_bytes[16]; // what stood there
};
#define HS_ISLAND_STUB_OFFSET       16
#define HS_ISLAND_FAST_PATH_OFFSET  32
#define HS_ISLAND_TRAMPOLINE_OFFSET 128
#define HS_ISLAND_TRAMPOLINE_SIZE   80
_Static_assert(offsetof(struct hook_island, stub) == HS_ISLAND_STUB_OFFSET, "stub");
_Static_assert(offsetof(struct hook_island, inline_fast_path) == HS_ISLAND_FAST_PATH_OFFSET, "inline_fast_path");
_Static_assert(offsetof(struct hook_island, trampoline) == HS_ISLAND_TRAMPOLINE_OFFSET, "trampoline");
_Static_assert(offsetof(struct hook_island, entry) == 0 && offsetof(struct hook_island, hook_index) == 8 &&
		       offsetof(struct hook_island, begin) == 12 && offsetof(struct hook_island, stub) == 16 &&
		       offsetof(struct hook_island, address) == 224 && offsetof(struct hook_island, kind) == 232 &&
		       offsetof(struct hook_island, size) == 236 && offsetof(struct hook_island, old_bytes) == 240 &&
		       sizeof(struct hook_island) == 256,
	       "these never change (stable.h)");

// What stands in an inline fast path for what only the tool knows: the address of the state pages, and from there to
// the hook's byte of trust.
#define HS_FAST_PATH_STATE UINT64_C(0x5ea7e5ea7e5ea7e5)
#define HS_FAST_PATH_TRUST UINT32_C(0x57a057a0)

#endif
