// SPDX-License-Identifier: Apache-2.0
#include "cli/tree_rows.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/console.h"
#include "cli/value_cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tree_printing {
	const struct options *options;
	const struct call_tree *tree;
	struct value_kind kind;
	struct table table;
	double weight;      // of all stacks
	uint32_t *children; // of each node, how many are shown
	uint32_t *levels;   // of the row that a node stands in
};

// Shares are those of the bytes beside them, whatever rows are ordered by.
static enum values_order share_order(const struct value_kind *kind)
{
	return kind->is_temporary ? ORDER_TEMPORARY : kind->is_allocated ? ORDER_ALLOCATED : ORDER_LIVE;
}

// Of nothing there is nothing to say; of a difference it may be a sum that happens to be none.
static bool is_shown(const struct tree_printing *printing, const struct tree_node *node)
{
	return !node->is_rest || printing->kind.profile->is_difference ||
	       values_weight(&node->cumulative, share_order(&printing->kind)) > 0;
}

// The node that stands in the same row as `node`, behind it: its only child, where nothing else is in it. NULL = none.
static const struct tree_node *next_in_row(const struct tree_printing *printing, const struct tree_node *node)
{
	const size_t index = (size_t)(node - printing->tree->nodes);

	if (node->parent == TREE_NO_PARENT || node->is_cut || printing->children[index] != 1 ||
	    !values_are_zero(&node->values) || node[1].is_rest)
		return NULL;
	return &node[1];
}

// "a.cpp:18" behind the name, where rows are lines.
static void put_name(FILE *file, const struct tree_printing *printing, const struct tree_node *node)
{
	const struct group_text text = call_tree_text(printing->tree, node);
	const bool is_whole = console_width(printing->options) == 0;
	const char *slash = strrchr(text.file, '/');

	fputs(is_whole && *text.full_name ? text.full_name : text.name, file);
	if (printing->tree->groups.unit == UNIT_LINE && text.line > 0)
		fprintf(file, " %s:%" PRId64, slash && !is_whole ? slash + 1 : text.file, text.line);
}

// The names of all nodes of a row; *last_ret: the last one. *ret is owned by the caller.
static struct hs_error *row_name(const struct tree_printing *printing, const struct tree_node *node,
				 const struct tree_node **last_ret, char **ret)
{
	const char *arrow = printing->options->view.bottom_up ? " < " : " > ";
	HS_CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return &hs_error_no_memory;
	put_name(file, printing, node);
	*last_ret = node;
	for (const struct tree_node *next = node; (next = next_in_row(printing, next)); *last_ret = next) {
		fputs(arrow, file);
		put_name(file, printing, next);
	}
	if (fclose(file) != 0)
		return &hs_error_no_memory;
	*ret = HS_STEAL_POINTER(text);
	return NULL;
}

static struct hs_error *print_row(const struct tree_printing *printing, const struct profile_values *values,
				  uint32_t level, const char *name)
{
	enum { INDENT = 2, INDENT_MOST = 60 };
	const struct table_text text = {
		.name = name, .full_name = "", .file = "", .via = "", .mark = "", .has_ends = true
	};
	const double share =
		printing->weight > 0 ? 100 * values_weight(values, share_order(&printing->kind)) / printing->weight : 0;
	struct value_cells cells;
	char share_text[NUMBER_SIZE];
	const char *shown[TABLE_COLUMNS_MAX] = { cells.bytes };
	size_t count = 1;

	value_cells_make(&printing->kind, values, value_error(&printing->kind, values), &cells);
	snprintf(share_text, sizeof(share_text), "%.1f %%", share);
	if (value_has_error(&printing->kind))
		shown[count++] = cells.error;
	if (!printing->kind.profile->is_difference)
		shown[count++] = share_text;
	shown[count++] = cells.blocks;
	return table_row(&printing->table, shown, level * INDENT < INDENT_MOST ? level * INDENT : INDENT_MOST, &text);
}

// The siblings that limits have left out.
static struct hs_error *rest_name(const struct tree_node *node, char **ret)
{
	return hs_format(ret, "[%" PRIu32 " more]", node->rest_count);
}

// The row that begins with a node; *index_ret: the first node of the next one.
static struct hs_error *print_node(struct tree_printing *printing, size_t *index_ret)
{
	const struct tree_node *nodes = printing->tree->nodes, *node = &nodes[*index_ret], *last = node;
	const uint32_t level = node->parent == TREE_NO_PARENT ? 0 : printing->levels[node->parent] + 1;
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error = node->is_rest ? rest_name(node, &name) : row_name(printing, node, &last, &name);

	if (error)
		return error;
	for (const struct tree_node *each = node; each <= last; each++)
		printing->levels[each - nodes] = level;
	error = print_row(printing, &node->cumulative, level, name);
	if (!error && printing->children[last - nodes] > 0 && !values_are_zero(&last->values))
		error = print_row(printing, &last->values, level + 1, "[itself]");
	*index_ret = (size_t)(last - nodes) + 1;
	return error;
}

static struct hs_error *print_all(struct tree_printing *printing)
{
	const struct call_tree *tree = printing->tree;
	struct hs_error *error = NULL;
	bool is_cut = false;

	for (size_t i = 1; i < tree->count; i++)
		printing->children[tree->nodes[i].parent] += is_shown(printing, &tree->nodes[i]);
	error = table_head(&printing->table, printing->options->view.bottom_up ? "what allocated < its callers"
									       : "roots > what they call");
	for (size_t i = 0; i < tree->count && !error;) {
		is_cut |= tree->nodes[i].is_cut;
		if (is_shown(printing, &tree->nodes[i]))
			error = print_node(printing, &i);
		else
			i++;
	}
	if (!error && is_cut)
		console_print(printing->options,
			      "The tree has more rows than can be shown; --focus makes it smaller.\n");
	return error;
}

struct hs_error *tree_rows_print(const struct options *options, const struct heap_profile *profile,
				 const struct call_tree *tree)
{
	struct tree_printing printing = {
		.options = options,
		.tree = tree,
		.kind = value_kind_of(profile, options->view.order),
		.table = { .options = options },
		.children = calloc(tree->count, sizeof(*printing.children)),
		.levels = calloc(tree->count, sizeof(*printing.levels)),
	};
	struct hs_error *error = printing.children && printing.levels ? NULL : &hs_error_no_memory;

	printing.weight = values_weight(&tree->nodes[0].cumulative, share_order(&printing.kind));
	table_column(&printing.table, value_title(&printing.kind), 10);
	if (value_has_error(&printing.kind))
		table_column(&printing.table, "", -9);
	if (!profile->is_difference)
		table_column(&printing.table, "share", 7);
	table_column(&printing.table, printing.kind.is_temporary ? "of own" : "blocks", 7);
	if (!error && tree->count > 1) // of no stack there is nothing to show
		error = print_all(&printing);
	free(printing.children);
	free(printing.levels);
	return error;
}
