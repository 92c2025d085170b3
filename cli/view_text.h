// SPDX-License-Identifier: Apache-2.0
// The rows of a profile as the command line asks for them: sites, functions and the like, or a tree.
#ifndef HEAPSNAP_CLI_VIEW_TEXT_H
#define HEAPSNAP_CLI_VIEW_TEXT_H

#include "cli/options.h"
#include "views/call_tree.h"
#include "views/profile_view.h"
#include "views/report.h"

// Of a tree, nodes with less than this of all are among the others, unless --limit 0 asks for all.
#define TREE_SHARE_LEAST 0.01

// What --own, --library, --focus, --ignore and --sort say.
struct view_setting {
	struct frame_rules *rules; // owned
	struct stack_filter *filter;
	struct view_options options; // of these
};

// *ret is owned by the caller. HS_ERROR_BAD_DATA: a rule that cannot be understood; HS_ERROR_SYSTEM: the file of rules
// cannot be read; HS_ERROR_NO_MEMORY.
struct hs_error *view_setting_init(const struct options *options, struct view_setting *ret) HS_MUST_CHECK;
void view_setting_deinit(struct view_setting *setting);

// What the rows are by that is no frame; NULL = they are by frames, or sites.
const struct sample_attribute *view_attribute(const struct options *options);

// HS_ERROR_NOT_FOUND: the profile does not say what --by asks for. To be asked before anything is shown.
struct hs_error *view_check(const struct options *options) HS_MUST_CHECK;

// Likewise of a file that has been read: it may say it.
struct hs_error *view_check_file(const struct options *options, const struct heap_profile *profile) HS_MUST_CHECK;

// Whether --focus and --ignore have left nothing of it; and why, in words, for one of which nothing is left.
bool view_is_empty(const struct profile_view *view);
const char *view_empty_text(const struct options *options, const struct profile_view *view);

// How much of the profile --focus and --ignore have left, a line; nothing without them.
void shown_print(const struct options *options, const struct profile_view *view);

// HS_ERROR_NO_MEMORY.
struct hs_error *view_rows_print(const struct options *options, const struct profile_view *view) HS_MUST_CHECK;

// What these rows are made of; for JSON, too. `limit`: rows, or children of a node; 0 = all. *ret is owned by the
// caller. HS_ERROR_NO_MEMORY.
// pre: view_check; a report is not one of sites
struct hs_error *view_report(const struct options *options, const struct profile_view *view, size_t limit,
			     struct report *ret) HS_MUST_CHECK;
struct hs_error *view_tree(const struct options *options, const struct profile_view *view, size_t limit,
			   double share_least, struct call_tree *ret) HS_MUST_CHECK;

static inline bool view_is_tree(const struct options *options) { return options->view.tree || options->view.bottom_up; }

#endif
