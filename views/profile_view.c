// SPDX-License-Identifier: Apache-2.0
#include "views/profile_view.h"

struct hs_error *profile_view_make(const struct heap_profile *profile, const struct frame_rules *rules,
				   struct profile_view *ret)
{
	struct hs_error *error = named_profile_make(profile, rules, &ret->named);

	if (error)
		return error;
	error = sites_make(&ret->named, &ret->sites);
	if (error)
		named_profile_deinit(&ret->named);
	return error;
}

void profile_view_deinit(struct profile_view *view)
{
	sites_deinit(&view->sites);
	named_profile_deinit(&view->named);
}
