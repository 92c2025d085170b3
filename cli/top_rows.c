// SPDX-License-Identifier: Apache-2.0
#include "cli/top_rows.h"

#include "base/array.h"
#include "cli/site_rows.h"

#include <stdlib.h>
#include <string.h>

enum {
	CALLERS_MOST = 5000, // rows
	CALLERS_DEPTH = 100, // nodes of a way
	SIBLINGS_MOST = 30   // of a node
};

static const double SHARE_LEAST = 0.001; // of the site

static void drop_callers(struct top_rows *rows)
{
	free(rows->callers);
	call_tree_deinit(&rows->tree);
	rows->callers = NULL;
	rows->data.callers = NULL;
	rows->data.caller_count = 0;
}

void top_rows_deinit(struct top_rows *rows)
{
	drop_callers(rows);
	free(rows->rows);
	free(rows->shown);
	*rows = (struct top_rows){ 0 };
}

static struct top_row row_of(const struct named_profile *named, const struct growth_site *site)
{
	return (struct top_row){
		.number = site->number,
		.live = (double)site->site->values.live_bytes,
		.blocks = (double)site->site->values.live_objects,
		.error = profile_is_recorded_exactly(&site->site->values)
				 ? 0
				 : (double)profile_bytes_error(named->profile, site->site->values.live_bytes_variance),
		.rate = site->speed,
		.grows = site->grows || site->in_steps,
		.text = site_row_text(named, site->site),
	};
}

struct hs_error *top_rows_make(const struct named_profile *named, const struct growth *growth, struct top_rows *rows)
{
	top_rows_deinit(rows);
	rows->rows = calloc(growth->count + 1, sizeof(*rows->rows));
	rows->shown = calloc(growth->count + 1, sizeof(*rows->shown));
	if (!rows->rows || !rows->shown) {
		top_rows_deinit(rows);
		return &hs_error_no_memory;
	}
	for (size_t i = 0; i < growth->count; i++) {
		const struct growth_site *site = &growth->sites[i];

		// Nothing of it is live, and that was so in all looks that count.
		if (site->site->values.live_bytes == 0 && site->site->values.live_objects == 0 && site->speed == 0)
			continue;
		rows->rows[rows->data.row_count++] = row_of(named, site);
	}
	rows->data.rows = rows->rows;
	rows->data.shown = rows->shown;
	rows->data.has_rates = growth->all.live.is_known;
	rows->data.is_estimate = named->profile->is_estimate;
	return NULL;
}

static struct top_caller caller_of(const struct top_rows *rows, const struct tree_node *node, unsigned level)
{
	const struct group_text text = call_tree_text(&rows->tree, node);
	const double all = (double)rows->tree.nodes[0].cumulative.live_bytes;

	return (struct top_caller){
		.live = (double)node->cumulative.live_bytes,
		.blocks = (double)node->cumulative.live_objects,
		.share = all > 0 ? (double)node->cumulative.live_bytes / all : 0,
		.level = level,
		.text = { .name = text.name,
			  .full_name = text.full_name,
			  .file = *text.full_name ? text.file : "", // else it is the name
			  .line = text.line,
			  .via = "",
			  .mark = "" },
	};
}

// A row for each node but the first one; a way that does not branch stays at its level.
static struct hs_error *list_callers(struct top_rows *rows)
{
	const struct call_tree *tree = &rows->tree;
	uint32_t *children = calloc(tree->count, sizeof(*children)), *levels = calloc(tree->count, sizeof(*levels));
	struct hs_error *error = NULL;

	rows->callers = calloc(tree->count < CALLERS_MOST ? tree->count : CALLERS_MOST, sizeof(*rows->callers));
	if (!children || !levels || !rows->callers)
		error = &hs_error_no_memory;
	for (size_t i = 1; i < tree->count && !error; i++)
		children[tree->nodes[i].parent]++;
	for (size_t i = 1; i < tree->count && rows->data.caller_count < CALLERS_MOST && !error; i++) {
		const uint32_t parent = tree->nodes[i].parent;

		levels[i] = levels[parent] + (children[parent] > 1 && parent > 0);
		rows->callers[rows->data.caller_count++] = caller_of(rows, &tree->nodes[i], levels[i]);
	}
	rows->data.callers = rows->callers;
	free(children);
	free(levels);
	return error;
}

static const struct site *site_of(const struct growth *growth, uint32_t number)
{
	for (size_t i = 0; i < growth->count; i++)
		if (growth->sites[i].number == number)
			return growth->sites[i].site;
	return NULL;
}

struct hs_error *top_rows_callers(const struct named_profile *named, const struct growth *growth, uint32_t number,
				  struct top_rows *rows)
{
	const struct site *site = site_of(growth, number);
	struct tree_options options = {
		.unit = UNIT_LINE,
		.is_from_leaf = true,
		.order = ORDER_LIVE,
		.depth_limit = CALLERS_DEPTH,
		.limit = SIBLINGS_MOST,
		.share_least = SHARE_LEAST,
		.hidden = FRAME_PLUMBING_BITS,
	};
	struct hs_error *error;
	bool *kept = NULL;

	drop_callers(rows);
	if (!site || site->values.live_bytes <= 0)
		return NULL;
	error = site_samples(named, site, &kept);
	options.kept = kept;
	if (!error)
		error = call_tree_make(named, &options, &rows->tree);
	free(kept);
	if (!error)
		error = list_callers(rows);
	if (error)
		drop_callers(rows);
	return error;
}

struct top_facts top_facts_of(const struct named_profile *named, const struct growth *growth)
{
	const struct heap_profile *profile = named->profile;

	return (struct top_facts){
		.program = profile_process_name(profile),
		.pid = profile->pid,
		.has_look = true,
		.seconds = (double)profile->duration_ns / 1e9,
		.memory = profile->memory,
		.anonymous_rate = growth->anonymous.rate,
		.live = (double)profile->total.live_bytes,
		.error = (double)profile_bytes_error(profile, profile->total.live_bytes_variance),
		.blocks = (double)profile->total.live_objects,
		.rate = growth->all.live.rate,
		.completeness = "",
		.message = "",
	};
}
