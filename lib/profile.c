// SPDX-License-Identifier: Apache-2.0
#include "lib/profile.h"

#include "attach/guard/interrupt_signal.h"
#include "base/clock.h"
#include "lib/leave.h"
#include "lib/pause.h"
#include "lib/peak.h"

void hs_profile_result_deinit(struct hs_profile_result *result)
{
	hs_dump_result_deinit(&result->dump);
	hs_dump_result_deinit(&result->peak);
	hs_error_destroy(result->peak_error);
	*result = (struct hs_profile_result){ 0 };
}

static enum hs_pause_end wait_until(const struct process *process, const struct hs_profile_options *options,
				    uint64_t began, uint64_t until)
{
	const uint64_t ends = began + options->time_ns;

	return hs_pause(process, until < ends ? until : ends, "recording, seconds", began, ends);
}

// Until the time is over. A look that has failed is passed over, unless none will succeed.
static struct hs_error *look(const struct process *process, const struct hs_profile_options *options, uint64_t began,
			     struct hs_peak *peak, enum hs_pause_end *end_ret)
{
	*end_ret = HS_PAUSE_OVER;
	while (*end_ret == HS_PAUSE_OVER && hs_monotonic_ns() < began + options->time_ns) {
		struct hs_error *error = hs_peak_look(peak, process, &options->dump.blocks);
		const bool is_interrupted = interrupt_signal_came() || (error && error->code == HS_ERROR_INTERRUPTED);

		if (hs_leave_is_nothing_left(error))
			return error;
		if (error && !is_interrupted && hs_peak_is_hopeless(peak))
			return hs_error_prefix(error, "its peak cannot be seen");
		hs_error_destroy(error);
		if (is_interrupted) {
			interrupt_clear();
			*end_ret = HS_PAUSE_INTERRUPTED;
		} else {
			*end_ret = wait_until(process, options, began, peak->next_ns);
		}
	}
	return NULL;
}

static struct hs_error *wait_and_dump(const struct process *process, const struct hs_profile_options *options,
				      struct hs_peak *peak, struct hs_profile_result *result)
{
	const uint64_t began = hs_monotonic_ns();
	struct hs_error *error = NULL;
	enum hs_pause_end end;

	if (options->peak_output)
		error = look(process, options, began, peak, &end);
	else
		end = wait_until(process, options, began, UINT64_MAX);
	result->waited_ns = hs_monotonic_ns() - began;
	result->is_interrupted = end == HS_PAUSE_INTERRUPTED;
	if (!error)
		error = end == HS_PAUSE_GONE ? process_gone(process) : hs_dump(process, &options->dump, &result->dump);
	return hs_leave_explain(process, error, hs_monotonic_ns() - began);
}

// All that was recorded, selected or not.
static uint64_t live_bytes(const struct heap_profile *profile)
{
	return (uint64_t)(profile->selection ? profile->recorded : profile->total).live_bytes;
}

static struct hs_error *write_peak(struct hs_peak *peak, bool has_end, const struct hs_profile_options *options,
				   struct hs_profile_result *result)
{
	struct heap_profile *end = &result->dump.profile;
	struct hs_dump_options dump = options->dump;
	struct hs_error *error;

	if (!peak->copy && (!has_end || peak->missed > 0))
		return hs_error_create(HS_ERROR_REFUSED, "no profile %s: no look has succeeded", options->peak_output);
	result->looks = dump.peak_looks = peak->looks + has_end;
	result->missed = peak->missed;
	result->peak_is_end = has_end && (!peak->copy || live_bytes(end) >= peak->live_bytes);
	dump.output = options->peak_output;
	if (result->peak_is_end) {
		end->peak_looks = dump.peak_looks;
		error = hs_dump_write(&result->dump.view.named, &dump, NULL, &result->peak_bytes);
		end->peak_looks = 0; // what is shown is the end
	} else {
		error = hs_dump_copied(peak->copy, &dump, &result->peak);
		result->peak_bytes = result->peak.file_bytes;
	}
	return error ? hs_error_prefix(error, "no profile of the peak") : NULL;
}

static struct hs_error *check_outputs(const struct hs_profile_options *options)
{
	struct hs_error *error = hs_dump_check_output(options->dump.output, options->dump.format);

	return error ? error : hs_dump_check_output(options->peak_output, options->dump.format);
}

struct hs_error *hs_profile(const struct process *process, const struct hs_profile_options *options,
			    struct hs_profile_result *ret)
{
	struct hs_error *error = check_outputs(options);
	struct hs_peak peak = { 0 };
	bool has_end;

	*ret = (struct hs_profile_result){ 0 };
	if (!error)
		error = hs_attach(process, &options->attach, &ret->attach);
	if (error)
		return error;
	error = wait_and_dump(process, options, &peak, ret);
	has_end = !error;
	error = hs_leave(process, error, options->detach_wait_ms, &ret->detach);
	if (options->peak_output && (has_end || peak.copy)) {
		// The process is left, and files alone are needed: a signal that has ended the rest does not end this.
		interrupt_clear();
		ret->peak_error = write_peak(&peak, has_end, options, ret);
		ret->has_peak = !ret->peak_error;
	}
	hs_peak_deinit(&peak);
	if (error)
		hs_dump_result_deinit(&ret->dump);
	return error;
}
