// SPDX-License-Identifier: Apache-2.0
// The tree of calls: from the roots down to what asked for memory, or from that up to the roots. Pure.
//
//   stacks, innermost first     from the roots down             from the leaf up
//   put < main     10           [all]           10 + 3 + 2      [all]           15
//   get < main      3             main               15           put           12
//   put < get < main 2              put              10             main        10
//                                   get               5             get          2
//                                     put             2               main       2
//                                                                 get            3
//                                                                   main         3
#ifndef HEAPSNAP_VIEWS_CALL_TREE_H
#define HEAPSNAP_VIEWS_CALL_TREE_H

#include "views/place_groups.h"
#include "views/values.h"

// No more nodes than this, about, are opened; then all are is_cut.
enum { TREE_OPENED_MAX = 1 << 20 };
#define TREE_NO_PARENT UINT32_MAX

struct tree_options {
	enum place_unit unit;
	bool is_from_leaf;
	enum values_order order; // of siblings
	uint32_t depth_limit;    // the deepest nodes; 0 = any depth
	size_t limit;            // the most children of a node; 0 = all
	// Of the sum over all stacks without signs, 0 to 1: nodes with less are among the rest of their siblings. What
	// a node has is the sum of its stacks without signs, too, so that of a difference nothing hides that cancels
	// out.
	double share_least;
	unsigned hidden;  // classes of frames that are left out of stacks (frame_class_bit)
	const bool *kept; // of the profile's samples, as stack_filter_apply says; NULL = all
};

// cumulative = values + the sum of the children's cumulative values; where a node is_cut without the children.
struct tree_node {
	uint32_t parent;                  // index, always before the node; TREE_NO_PARENT of the first node
	uint32_t depth;                   // 0 of the first node
	uint32_t group;                   // for call_tree_text; arbitrary where is_rest, and of the first node
	uint32_t rest_count;              // of a rest: how many siblings it stands for; else 0
	bool is_rest;                     // the siblings that limits have left out; always the last child
	bool is_cut;                      // has children that limits have left out, all of them
	struct profile_values values;     // of the stacks that end here
	struct profile_values cumulative; // of all that pass
};

struct call_tree {
	struct tree_node *nodes; // owned; [0] is all stacks; each node is followed by all that is below it
	size_t count;            // at least 1
	struct place_groups groups;
};

// *ret is owned by the caller; `named` must live as long. Time and memory are those of all stacks' frames.
// HS_ERROR_NO_MEMORY.
struct hs_error *call_tree_make(const struct named_profile *named, const struct tree_options *options,
				struct call_tree *ret) HS_MUST_CHECK;
void call_tree_deinit(struct call_tree *tree);

// "[all]" for the first node, "[others]" for a rest.
struct group_text call_tree_text(const struct call_tree *tree, const struct tree_node *node);

#endif
