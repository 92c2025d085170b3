// SPDX-License-Identifier: Apache-2.0
#include "views/profile_view.h"

#include <stdlib.h>

static void add_up(const struct heap_profile *profile, struct profile_view *view)
{
	view->shown = view->kept ? (struct profile_values){ 0 } : profile->total;
	view->shown_count = view->kept ? 0 : profile->sample_count;
	for (size_t i = 0; view->kept && i < profile->sample_count; i++) {
		if (!view->kept[i])
			continue;
		profile_values_add(&view->shown, &profile->samples[i].values);
		view->shown_count++;
	}
}

struct hs_error *profile_view_make_of(const struct heap_profile *profile, const struct view_options *options,
				      struct profile_view *ret)
{
	struct hs_error *error = NULL;

	*ret = (struct profile_view){ 0 };
	if (options->order == ORDER_TEMPORARY && !profile->has_temporaries)
		return hs_error_create(HS_ERROR_NOT_FOUND,
				       "the profile does not say how many allocations were temporary");
	error = named_profile_make(profile, options->rules, &ret->named);
	if (error)
		return error;
	if (options->filter)
		error = stack_filter_apply(options->filter, &ret->named, &ret->kept);
	if (!error)
		error = sites_make_of(&ret->named, &(struct site_options){ options->order, ret->kept }, &ret->sites);
	if (error)
		profile_view_deinit(ret);
	else
		add_up(profile, ret);
	return error;
}

struct hs_error *profile_view_make(const struct heap_profile *profile, const struct frame_rules *rules,
				   struct profile_view *ret)
{
	return profile_view_make_of(profile, &(struct view_options){ .rules = rules }, ret);
}

void profile_view_deinit(struct profile_view *view)
{
	sites_deinit(&view->sites);
	named_profile_deinit(&view->named);
	free(view->kept);
	*view = (struct profile_view){ 0 };
}
