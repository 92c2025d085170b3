// SPDX-License-Identifier: Apache-2.0
// Where the user's own code asked for memory. Pure.
#ifndef HEAPSNAP_VIEWS_SITES_H
#define HEAPSNAP_VIEWS_SITES_H

#include "views/named_profile.h"
#include "views/values.h"

// The site of a stack is its first own place from the leaf that has a name; what has none is passed over, also on the
// way to the site, unless no other own code but main has one. Of a stack without own code it is the innermost place
// that is neither allocator nor wrapper nor container; but where an interpreter or made code has called it, the
// outermost one that was called so: the library's function that a script named. Two stacks are one site only when all
// their own places agree.
struct site {
	const uint32_t *path; // places: the site first, then the own code that led to it, innermost first
	uint32_t path_length; // 0 = the stack is unknown
	bool is_own;          // path[0] is own code
	char *via;            // owned: what was skipped to get to it, "std::string, unordered_map"; "" = nothing
	struct profile_values values;
	uint32_t sample; // the one of its stacks that holds most: index into the profile's samples
	uint32_t stack_count;
	uint32_t found; // how many were found before it, while the list was made
};

struct site_list {
	struct site *items; // most first; of equal ones by live bytes, allocated bytes, names
	size_t count;
	uint32_t *paths;      // owned: what all `path` point into
	uint32_t *of_samples; // owned: index into items, of each of the profile's samples; UINT32_MAX = it is left out
};

struct site_options {
	enum values_order order; // of a difference without signs (values_size)
	const bool *kept;        // of the profile's samples, as stack_filter_apply says; NULL = all
};

// *ret is owned by the caller; `named` must live as long. HS_ERROR_NO_MEMORY.
struct hs_error *sites_make_of(const struct named_profile *named, const struct site_options *options,
			       struct site_list *ret) HS_MUST_CHECK;
// Of all stacks, by live bytes.
struct hs_error *sites_make(const struct named_profile *named, struct site_list *ret) HS_MUST_CHECK;
void sites_deinit(struct site_list *sites);

// Which of the profile's samples a site is made of: *kept_ret, owned by the caller (free), as stack_filter_apply makes
// it. HS_ERROR_NO_MEMORY.
struct hs_error *site_samples(const struct named_profile *named, const struct site *site,
			      bool **kept_ret) HS_MUST_CHECK;

// "site < caller < caller": short names of `path` from `first` on, at most `limit`. *ret is owned by the caller.
struct hs_error *site_path_text(const struct named_profile *named, const struct site *site, uint32_t first,
				uint32_t limit, char **ret) HS_MUST_CHECK;

#endif
