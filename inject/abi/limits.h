// SPDX-License-Identifier: Apache-2.0
// Sizes that tool and payload agree on. Each is in the unit that its name or comment says.
#ifndef HEAPSNAP_INJECT_ABI_LIMITS_H
#define HEAPSNAP_INJECT_ABI_LIMITS_H

#define HS_ABI_VERSION 14 // also read by the assembler

#define HS_PAGE_SHIFT 12u
#define HS_PAGE_SIZE  (1u << HS_PAGE_SHIFT)

// Of hashes of addresses: 2^32 divided by the golden ratio, so that neighbours fall far apart.
#define HS_HASH_FACTOR 0x9e3779b1u

// What a region may use besides its fixed parts, bytes. Refs reach 128 GiB (records.h).
#define HS_REGION_MEMORY_MIN (1ull << 20)
#define HS_REGION_MEMORY_MAX (120ull << 30)

// Frames kept of one stack.
#define HS_DEPTH_DEFAULT 256u
#define HS_DEPTH_MAX     256u

#define HS_HOOKS_MAX        512u
#define HS_ISLAND_AREAS_MAX 16u // ranges of pages that hold the hooks' islands, each within reach of other code
#define HS_MODULES_MAX      8192u
#define HS_BUILD_ID_MAX     32u        // bytes; longer ids are cut and so never match a file
#define HS_STRINGS_SIZE     (4u << 20) // bytes, for module paths

// Threads that can be known at one time: slots by a hash of the thread pointer, and slots that are made where the first
// one of a hash is taken; and threads ever seen (history).
#define HS_THREAD_SLOTS       4096u // power of two
#define HS_THREAD_EXTRA_SLOTS 65536u
#define HS_THREAD_SLOTS_ALL   (HS_THREAD_SLOTS + HS_THREAD_EXTRA_SLOTS)
#define HS_THREAD_EXTRA_PART  4u // of the region's pages, what extra slots may take: one part in so many
#define HS_THREAD_HISTORY_MAX (1u << 20)

#define HS_RULES_SIZE (1u << 20) // bytes, for the payload's cache of unwind rules
// Powers of two. The first ones hold the nodes of a usual program, and touch few pages.
#define HS_STACK_BUCKETS_FIRST  (1u << 14)
#define HS_STACK_BUCKETS_SECOND (1u << 18)
#define HS_STACK_BUCKETS        (HS_STACK_BUCKETS_FIRST + HS_STACK_BUCKETS_SECOND)

// The Bloom filter of tracked addresses: bytes, power of two. Fits the first-level cache.
#define HS_BLOOM_SIZE      8192u
#define HS_BLOOM_SATURATED 255u

// Hooks that are known not to call hooked functions: after so many calls that did not.
#define HS_TRUST_CALLS 16u
#define HS_TRUST_NEVER 255u

// Sampling intervals, bytes. 1 is every allocation.
#define HS_INTERVAL_MAX        (1u << 31)
#define HS_BUDGET_INTERVAL_MIN 128u // the smallest that a budget leads to, but for 1
#define HS_BUDGET_INTERVAL_MAX (1u << 26)
#define HS_BUDGET_MAX          1000000u // all of a thread's time, in millionths

// Entries of a thread's cache of totals; power of two.
#define HS_TOTALS_ENTRIES 128u

#endif
