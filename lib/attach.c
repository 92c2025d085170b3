// SPDX-License-Identifier: Apache-2.0
#include "lib/attach.h"

#include "attach/session/session.h"
#include "lib/sampling_convert.h"
#include "lib/user_allocators_parse.h"

struct hs_error *hs_attach(const struct process *process, const struct hs_attach_options *options,
			   struct hs_attach_result *ret)
{
	struct hook_addition additions[HS_USER_ALLOCATORS_MAX];
	struct attach_options attach = {
		.depth = options->depth,
		.max_memory = options->max_memory,
		.sampling = sampling_to_region(&options->sampling),
	};
	struct attach_report report;
	struct hs_error *error = user_allocators_parse(&options->allocators, additions, &attach.additions);

	if (!error)
		error = session_attach(process, &attach, &report);
	if (error)
		return error;
	*ret = (struct hs_attach_result){
		.hooks = report.hooks,
		.hooks_refused = report.hooks_refused,
		.unseen_functions = report.unseen_makers,
		.modules = report.modules,
		.threads = report.threads,
		.unseen_threads = report.unseen_threads,
		.stopped_all_ns = report.stopped_all_ns,
		.region_bytes = report.region_bytes,
		.loader_followed = report.loader_followed,
		.is_static = report.is_static,
	};
	return NULL;
}
