// SPDX-License-Identifier: Apache-2.0
// Stacks as one tree, outermost place first: what stacks have in common is stored once. Pure.
//
//   main > run > Cache::put          nodes   0 root   1 main   2 run   3 Cache::put   4 log
//   main > run > log                 parent      0        0       1        2              2
#ifndef HEAPSNAP_PROTO_PAGE_PAGE_TREE_H
#define HEAPSNAP_PROTO_PAGE_PAGE_TREE_H

#include "base/error.h"
#include "views/named_profile.h"

#include <stddef.h>
#include <stdint.h>

enum { PAGE_LIVE_BYTES, PAGE_LIVE_OBJECTS, PAGE_ALLOC_BYTES, PAGE_ALLOC_OBJECTS, PAGE_TEMPORARY_OBJECTS, PAGE_VALUES };

// The place of the root, and of the one node of all stacks that are unknown.
#define PAGE_PLACE_ROOT    UINT32_MAX
#define PAGE_PLACE_UNKNOWN (UINT32_MAX - 1)

struct page_node {
	uint32_t parent; // below its own number; the root's is the root
	uint32_t place;
	int64_t values[PAGE_VALUES]; // of the stacks that end here
};

struct page_tree {
	struct page_node *nodes; // [0] is the root
	size_t count, room;
	uint32_t *sample_nodes; // for each of the profile's samples where its stack ends
};

// *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *page_tree_make(const struct named_profile *named, struct page_tree *ret) HS_MUST_CHECK;
void page_tree_deinit(struct page_tree *tree);

// How many of the values a page has: the last one only where it is known.
int page_value_count(const struct heap_profile *profile);
// All of them in their order.
void page_values_of(const struct profile_values *values, int64_t ret[PAGE_VALUES]);

#endif
