// SPDX-License-Identifier: Apache-2.0
#include "lib/profile.h"

#include "base/clock.h"
#include "lib/leave.h"
#include "lib/pause.h"

void hs_profile_result_deinit(struct hs_profile_result *result)
{
	hs_dump_result_deinit(&result->dump);
	*result = (struct hs_profile_result){ 0 };
}

static struct hs_error *wait_and_dump(const struct process *process, const struct hs_profile_options *options,
				      struct hs_profile_result *result)
{
	const uint64_t began = hs_monotonic_ns(), ends = began + options->time_ns;
	const enum hs_pause_end end = hs_pause(process, ends, "recording, seconds", began, ends);
	struct hs_error *error;

	result->waited_ns = hs_monotonic_ns() - began;
	result->is_interrupted = end == HS_PAUSE_INTERRUPTED;
	error = end == HS_PAUSE_GONE ? process_gone(process) : hs_dump(process, &options->dump, &result->dump);
	return hs_leave_explain(process, error, hs_monotonic_ns() - began);
}

struct hs_error *hs_profile(const struct process *process, const struct hs_profile_options *options,
			    struct hs_profile_result *ret)
{
	struct hs_error *error = hs_dump_check_output(options->dump.output, options->dump.format);

	*ret = (struct hs_profile_result){ 0 };
	if (!error)
		error = hs_attach(process, &options->attach, &ret->attach);
	if (error)
		return error;
	error = wait_and_dump(process, options, ret);
	error = hs_leave(process, error, options->detach_wait_ms, &ret->detach);
	if (error)
		hs_profile_result_deinit(ret);
	return error;
}
