// SPDX-License-Identifier: Apache-2.0
// The sites of two profiles side by side: what grew, what shrank, and whether that is more than chance. Pure.
#ifndef HEAPSNAP_VIEWS_SITE_CHANGES_H
#define HEAPSNAP_VIEWS_SITE_CHANGES_H

#include "views/site_keys.h"
#include "views/sites.h"
#include "views/values.h"

enum site_change_order {
	CHANGES_BY_SIZE,  // most bytes more or less first
	CHANGES_BY_GROWTH // what grew most first, what shrank most last
};

struct site_change {
	// Borrowed; NULL = it has none. Of several that are one here the first in its list.
	const struct site *old, *new;
	struct profile_values before, after, change; // change = after - before
	// Standard errors of the change's live bytes and blocks, as if the two were independent (views/diff.h); 0 =
	// exact.
	uint64_t bytes_error, objects_error;
	bool is_significant; // the live bytes changed by more than two standard errors
};

struct site_changes {
	struct site_change *items; // owned; also those whose change is 0
	size_t count;
};

// *ret is owned by the caller; all others must live as long. HS_ERROR_NO_MEMORY.
struct hs_error *site_changes_make(const struct named_profile *old_named, const struct site_list *old,
				   const struct named_profile *new_named, const struct site_list *new,
				   enum site_match match, enum site_change_order order,
				   struct site_changes *ret) HS_MUST_CHECK;
// Into another order: of `order`, most more or less first, or by the names of the sites.
void site_changes_sort(struct site_changes *changes, const struct named_profile *old_named,
		       const struct named_profile *new_named, enum values_order order);
void site_changes_deinit(struct site_changes *changes);

#endif
