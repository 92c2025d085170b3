// SPDX-License-Identifier: Apache-2.0
#include "cli/view_json.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/site_json.h"
#include "cli/view_text.h"
#include "snapshot/size_age.h"
#include "views/json_parts.h"
#include "views/stack_places.h"

#include <stdlib.h>
#include <string.h>

static size_t limit_of(const struct options *options)
{
	return options->has_limit && options->limit != SIZE_MAX ? options->limit : 0;
}

static void put_text(struct json *json, const struct group_text *text)
{
	json_string(json, "name", text->name);
	json_string(json, "function", text->full_name);
	json_string(json, "file", text->file);
	json_number(json, "line", (uint64_t)text->line);
	json_string(json, "module", text->module);
	json_string(json, "class", frame_class_name(text->class));
}

static void put_both(struct json *json, const struct heap_profile *profile, const struct profile_values *itself,
		     const struct profile_values *cumulative)
{
	values_put_json(json, profile, itself);
	json_open(json, "cumulative", '{');
	values_put_json(json, profile, cumulative);
	json_close(json, '}');
}

static struct hs_error *put_rows(struct json *json, const struct options *options, const struct profile_view *view)
{
	struct report report;
	struct hs_error *error = view_report(options, view, limit_of(options), &report);

	if (error)
		return error;
	json_open(json, "rows", '[');
	for (size_t i = 0; i < report.count; i++) {
		json_open(json, NULL, '{');
		put_text(json, &report.rows[i].text);
		if (report.rows[i].has_cumulative)
			put_both(json, view->named.profile, &report.rows[i].values, &report.rows[i].cumulative);
		else
			values_put_json(json, view->named.profile, &report.rows[i].values);
		json_close(json, '}');
	}
	json_close(json, ']');
	report_deinit(&report);
	return NULL;
}

// In their order, each before all that is below it: a reader needs no stack for a tree that is deep.
static struct hs_error *put_nodes(struct json *json, const struct options *options, const struct profile_view *view)
{
	struct call_tree tree;
	struct hs_error *error = view_tree(options, view, limit_of(options), 0, &tree);

	if (error)
		return error;
	json_open(json, "nodes", '[');
	for (size_t i = 0; i < tree.count; i++) {
		const struct tree_node *node = &tree.nodes[i];
		const struct group_text text = call_tree_text(&tree, node);

		json_open(json, NULL, '{');
		json_integer(json, "parent", node->parent == TREE_NO_PARENT ? -1 : (int64_t)node->parent);
		put_text(json, &text);
		json_number(json, "rest_of", node->rest_count);
		json_bool(json, "cut", node->is_cut);
		put_both(json, view->named.profile, &node->values, &node->cumulative);
		json_close(json, '}');
	}
	json_close(json, ']');
	call_tree_deinit(&tree);
	return NULL;
}

struct hs_error *view_put_json(struct json *json, const struct options *options, const struct profile_view *view)
{
	if (view->kept) {
		json_open(json, "shown", '{');
		json_number(json, "stacks", view->shown_count);
		values_put_json(json, view->named.profile, &view->shown);
		json_close(json, '}');
	}
	if (view_is_tree(options))
		return put_nodes(json, options, view);
	if (view_words_unit(&options->view) != ROWS_SITE)
		return put_rows(json, options, view);
	sites_put_json(json, view, limit_of(options));
	return NULL;
}

void view_warn_empty(const struct options *options, const struct profile_view *view)
{
	if (view_is_empty(view) && view->named.profile->sample_count > 0)
		hs_warn("nothing is shown: %s", view_empty_text(options, view));
}

struct ordered_stack {
	double size;
	uint32_t sample;
};

static int by_size(const void *left, const void *right)
{
	const struct ordered_stack *a = left, *b = right;
	const int order = (a->size < b->size) - (a->size > b->size);

	return order ? order : (a->sample > b->sample) - (a->sample < b->sample);
}

static size_t order_stacks(const struct options *options, const struct profile_view *view, struct ordered_stack *stacks)
{
	const struct heap_profile *profile = view->named.profile;
	const size_t limit = limit_of(options);
	size_t count = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		if (!view->kept || view->kept[i])
			stacks[count++] =
				(struct ordered_stack){ values_size(&profile->samples[i].values, options->view.order),
							(uint32_t)i };
	if (count > 0)
		qsort(stacks, count, sizeof(*stacks), by_size);
	return limit && limit < count ? limit : count;
}

static struct hs_error *put_stack(struct json *json, const struct named_profile *named,
				  const struct profile_sample *sample, struct stack_buffer *stack)
{
	struct hs_error *error = stack_places(named, sample, stack);

	if (error)
		return error;
	json_open(json, NULL, '{');
	values_put_json(json, named->profile, &sample->values);
	labels_put_json(json, named->profile, &sample->labels);
	json_open(json, "frames", '[');
	for (size_t i = 0; i < stack->count; i++)
		place_put_json(json, place_of(named, stack->items[i]));
	json_close(json, ']');
	json_close(json, '}');
	return NULL;
}

struct hs_error *stacks_put_json(struct json *json, const struct options *options, const struct profile_view *view)
{
	const struct heap_profile *profile = view->named.profile;
	HS_CLEANUP_FREE struct ordered_stack *stacks = calloc(profile->sample_count + 1, sizeof(*stacks));
	struct hs_error *error = stacks ? NULL : &hs_error_no_memory;
	struct stack_buffer stack = { 0 };
	size_t count = 0;

	if (!error)
		count = order_stacks(options, view, stacks);
	json_open(json, "stacks", '[');
	for (size_t i = 0; i < count && !error; i++)
		error = put_stack(json, &view->named, &profile->samples[stacks[i].sample], &stack);
	json_close(json, ']');
	stack_buffer_deinit(&stack);
	return error;
}
