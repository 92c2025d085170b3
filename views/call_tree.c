// SPDX-License-Identifier: Apache-2.0
#include "views/call_tree.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

// Each node has a part of `order`, the stacks that pass through it, which is dealt out to its children. So each frame
// of each stack is looked at a few times and nothing else is kept of it.
//
//   order   [ 4 7 | 1 3 9 | 2 ]    a node
//             ^     ^       ^
//             one   another those that end here, or have gone to the rest
struct branch {
	struct tree_node node;
	size_t begin, count; // in `order`
	double weight, size; // of its stacks without signs, for shares; what siblings are ordered by
	const char *name;
};

struct growing {
	const struct heap_profile *profile;
	const struct tree_options *options;
	struct call_tree *tree;
	uint32_t *frames; // groups of all stacks, in the order of the tree
	size_t *ends;     // of stack i in frames, where stack i + 1 begins
	uint32_t *samples;
	size_t stack_count;
	uint32_t *order, *scratch; // numbers of stacks
	uint32_t *branch_of;       // of a group: among the branches that are being made, + 1; 0 = none
	struct branch *branches;   // still to be done: the last one is next
	size_t branch_count, branch_room, node_room;
	double weight;
};

static size_t begin_of(const struct growing *growing, uint32_t stack)
{
	return stack > 0 ? growing->ends[stack - 1] : 0;
}

static const struct profile_values *values_of(const struct growing *growing, uint32_t stack)
{
	return &growing->profile->samples[growing->samples[stack]].values;
}

static void append_stack(struct growing *growing, const struct stack_buffer *stack, size_t at)
{
	for (size_t i = 0; i < stack->count; i++)
		growing->frames[at + i] = stack->items[growing->options->is_from_leaf ? i : stack->count - 1 - i];
	growing->ends[growing->stack_count++] = at + stack->count;
}

static struct hs_error *read_stacks(struct growing *growing)
{
	const struct heap_profile *profile = growing->profile;
	const struct tree_options *options = growing->options;
	struct stack_buffer stack = { 0 };
	struct hs_error *error = NULL;
	size_t at = 0, room = 0;

	for (size_t i = 0; i < profile->sample_count && !error; i++) {
		if (options->kept && !options->kept[i])
			continue;
		error = stack_groups(&growing->tree->groups, &profile->samples[i], options->hidden, &stack);
		if (!error)
			error = ARRAY_RESERVE(growing->frames, at + stack.count, &room);
		if (error)
			break;
		growing->samples[growing->stack_count] = (uint32_t)i;
		growing->order[growing->stack_count] = (uint32_t)growing->stack_count;
		append_stack(growing, &stack, at);
		at += stack.count;
	}
	stack_buffer_deinit(&stack);
	return error;
}

static void add_stack(struct growing *growing, struct branch *branch, uint32_t stack)
{
	const struct profile_values *values = values_of(growing, stack);

	profile_values_add(&branch->node.cumulative, values);
	branch->weight += values_weight(values, growing->options->order);
	branch->count++;
}

static int by_size(const void *left, const void *right)
{
	const struct branch *a = left, *b = right;
	int order = (a->size < b->size) - (a->size > b->size);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->node.group > b->node.group) - (a->node.group < b->node.group);
}

static int by_name(const void *left, const void *right)
{
	const struct branch *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : by_size(left, right);
}

// Makes a branch for each group that follows in the stacks of `from`, unsorted, behind the others; those that end are
// the node's own.
static struct hs_error *split(struct growing *growing, const struct branch *from, struct tree_node *node,
			      uint32_t node_index)
{
	const size_t first = growing->branch_count;

	for (size_t i = from->begin; i < from->begin + from->count; i++) {
		const uint32_t stack = growing->order[i];
		const size_t at = begin_of(growing, stack) + node->depth;
		struct hs_error *error;
		uint32_t *number;

		if (at >= growing->ends[stack]) {
			profile_values_add(&node->values, values_of(growing, stack));
			continue;
		}
		number = &growing->branch_of[growing->frames[at]];
		if (!*number) {
			error = ARRAY_RESERVE(growing->branches, growing->branch_count + 1, &growing->branch_room);
			if (error)
				return error;
			growing->branches[growing->branch_count++] = (struct branch){
				.node = { .parent = node_index,
					  .depth = node->depth + 1,
					  .group = growing->frames[at] },
				.name = group_text(&growing->tree->groups, growing->frames[at]).name,
			};
			*number = (uint32_t)(growing->branch_count - first);
		}
		add_stack(growing, &growing->branches[first + *number - 1], stack);
	}
	return NULL;
}

// Sorts the branches from `first` on, and makes those that are too small or too many a rest, which comes to the end.
// Returns how many are left, without the rest.
static size_t limit_branches(struct growing *growing, size_t first, struct branch *rest)
{
	const struct tree_options *options = growing->options;
	const size_t count = growing->branch_count - first;
	struct branch *branches = growing->branches + first;
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		branches[i].size = values_size(&branches[i].node.cumulative, options->order);
	if (count > 0)
		qsort(branches, count, sizeof(*branches), options->order == ORDER_NAME ? by_name : by_size);
	for (size_t i = 0; i < count; i++) {
		growing->branch_of[branches[i].node.group] = 0;
		if ((!options->limit || left < options->limit) &&
		    branches[i].weight >= options->share_least * growing->weight) {
			branches[left++] = branches[i];
			continue;
		}
		profile_values_add(&rest->node.cumulative, &branches[i].node.cumulative);
		rest->node.rest_count++;
	}
	return left;
}

// Deals the stacks of `from` out to the branches from `first` on.
static void deal_out(struct growing *growing, const struct branch *from, size_t first, size_t count)
{
	struct branch *branches = growing->branches + first;
	size_t begin = from->begin;

	for (size_t i = 0; i < count; i++) {
		branches[i].begin = begin;
		begin += branches[i].count;
		branches[i].count = 0;
		growing->branch_of[branches[i].node.group] = (uint32_t)(i + 1);
	}
	for (size_t i = from->begin; i < from->begin + from->count; i++) {
		const uint32_t stack = growing->order[i];
		const size_t at = begin_of(growing, stack) + branches[0].node.depth - 1;
		const uint32_t number = at < growing->ends[stack] ? growing->branch_of[growing->frames[at]] : 0;

		if (number)
			growing->scratch[branches[number - 1].begin + branches[number - 1].count++] = stack;
	}
	memcpy(growing->order + from->begin, growing->scratch + from->begin,
	       (begin - from->begin) * sizeof(*growing->order));
	for (size_t i = 0; i < count; i++)
		growing->branch_of[branches[i].node.group] = 0;
}

// The last branch is the next one to be done: the rest must come first, then the smallest.
static struct hs_error *put_in_order(struct growing *growing, size_t first, size_t count, const struct branch *rest)
{
	struct hs_error *error = ARRAY_RESERVE(growing->branches, first + count + 1, &growing->branch_room);
	struct branch *branches;

	if (error)
		return error;
	branches = growing->branches + first;
	for (size_t i = 0; i < count / 2; i++) {
		const struct branch other = branches[i];

		branches[i] = branches[count - 1 - i];
		branches[count - 1 - i] = other;
	}
	if (rest->node.rest_count > 0) {
		memmove(branches + 1, branches, count * sizeof(*branches));
		branches[0] = *rest;
		count++;
	}
	growing->branch_count = first + count;
	return NULL;
}

// Takes the last branch, makes it a node, and its children branches.
static struct hs_error *grow(struct growing *growing)
{
	struct call_tree *tree = growing->tree;
	const struct branch from = growing->branches[--growing->branch_count];
	const size_t first = growing->branch_count;
	const uint32_t depth_limit = growing->options->depth_limit, index = (uint32_t)tree->count;
	struct branch rest = { .node = { .parent = index, .depth = from.node.depth + 1, .is_rest = true } };
	struct hs_error *error = ARRAY_RESERVE(tree->nodes, tree->count + 1, &growing->node_room);
	struct tree_node *node;
	size_t left;

	if (error)
		return error;
	node = &tree->nodes[tree->count++];
	*node = from.node;
	if (node->is_rest)
		return NULL;
	error = split(growing, &from, node, index);
	if (error)
		return error;
	left = limit_branches(growing, first, &rest);
	if ((depth_limit && node->depth >= depth_limit) || tree->count > TREE_OPENED_MAX) {
		node->is_cut = left + rest.node.rest_count > 0;
		growing->branch_count = first;
		return NULL;
	}
	if (left > 0)
		deal_out(growing, &from, first, left);
	return put_in_order(growing, first, left, &rest);
}

static struct hs_error *grow_all(struct growing *growing)
{
	struct branch all = { .node = { .parent = TREE_NO_PARENT }, .name = "" };
	struct hs_error *error = ARRAY_RESERVE(growing->branches, 1, &growing->branch_room);

	if (error)
		return error;
	for (size_t i = 0; i < growing->stack_count; i++)
		add_stack(growing, &all, (uint32_t)i);
	growing->weight = all.weight;
	growing->branches[growing->branch_count++] = all;
	while (growing->branch_count > 0 && !error)
		error = grow(growing);
	return error;
}

struct hs_error *call_tree_make(const struct named_profile *named, const struct tree_options *options,
				struct call_tree *ret)
{
	const size_t count = named->profile->sample_count;
	struct growing growing = { .profile = named->profile, .options = options, .tree = ret };
	struct hs_error *error;

	*ret = (struct call_tree){ 0 };
	error = place_groups_make(named, options->unit, &ret->groups);
	if (error)
		return error;
	growing.ends = calloc(count + 1, sizeof(*growing.ends));
	growing.samples = calloc(count + 1, sizeof(*growing.samples));
	growing.order = calloc(count + 1, sizeof(*growing.order));
	growing.scratch = calloc(count + 1, sizeof(*growing.scratch));
	growing.branch_of = calloc(ret->groups.count, sizeof(*growing.branch_of));
	error = growing.ends && growing.samples && growing.order && growing.scratch && growing.branch_of
			? read_stacks(&growing)
			: &hs_error_no_memory;
	if (!error)
		error = grow_all(&growing);
	free(growing.frames);
	free(growing.ends);
	free(growing.samples);
	free(growing.order);
	free(growing.scratch);
	free(growing.branch_of);
	free(growing.branches);
	if (error)
		call_tree_deinit(ret);
	return error;
}

void call_tree_deinit(struct call_tree *tree)
{
	free(tree->nodes);
	place_groups_deinit(&tree->groups);
	*tree = (struct call_tree){ 0 };
}

struct group_text call_tree_text(const struct call_tree *tree, const struct tree_node *node)
{
	if (!node->is_rest && node->parent != TREE_NO_PARENT)
		return group_text(&tree->groups, node->group);
	return (struct group_text){
		.name = node->is_rest ? "[others]" : "[all]",
		.full_name = "",
		.file = "",
		.module = "",
	};
}
