// SPDX-License-Identifier: Apache-2.0
// A profile as people look at it: with names, and by sites. Pure.
#ifndef HEAPSNAP_VIEWS_PROFILE_VIEW_H
#define HEAPSNAP_VIEWS_PROFILE_VIEW_H

#include "views/named_profile.h"
#include "views/sites.h"
#include "views/stack_filter.h"

// Borrowed.
struct view_options {
	const struct frame_rules *rules;
	const struct stack_filter *filter; // NULL = all stacks
	enum values_order order;           // of the sites
};

struct profile_view {
	struct named_profile named;
	struct site_list sites;      // of the stacks that are kept
	bool *kept;                  // of the profile's samples; owned; NULL = all
	struct profile_values shown; // of the stacks that are kept
	size_t shown_count;          // as many
};

// *ret is owned by the caller; profile and rules must live as long, and *ret stay where it is. HS_ERROR_NO_MEMORY.
struct hs_error *profile_view_make_of(const struct heap_profile *profile, const struct view_options *options,
				      struct profile_view *ret) HS_MUST_CHECK;
// Of all stacks, by live bytes.
struct hs_error *profile_view_make(const struct heap_profile *profile, const struct frame_rules *rules,
				   struct profile_view *ret) HS_MUST_CHECK;
void profile_view_deinit(struct profile_view *view);

#endif
