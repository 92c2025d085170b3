// SPDX-License-Identifier: Apache-2.0
#include "lib/leave.h"

#include "attach/guard/interrupt_signal.h"
#include "lib/status.h"

struct hs_error *hs_enter(const struct process *process, const struct hs_attach_options *options, struct hs_entry *ret)
{
	struct hs_attach_result attach;
	struct hs_status status;
	struct hs_error *error = hs_status_read(process, &status, NULL);

	*ret = (struct hs_entry){ .was_attached = !error && status.state == HS_STATE_ATTACHED };
	hs_error_destroy(error);
	if (!ret->was_attached)
		return hs_attach(process, options, &attach);
	ret->is_stopped = status.has_settings && status.sampling.mode == HS_SAMPLING_STOPPED;
	return NULL;
}

bool hs_leave_is_nothing_left(const struct hs_error *error)
{
	return error && (error->code == HS_ERROR_GONE || error->code == HS_ERROR_NOT_FOUND);
}

struct hs_error *hs_leave(const struct process *process, struct hs_error *error, unsigned wait_ms,
			  struct hs_detach_result *ret)
{
	struct hs_error *second;

	if (error && error->code == HS_ERROR_INTERRUPTED)
		interrupt_clear();
	second = hs_detach(process, wait_ms, ret);
	if (hs_leave_is_nothing_left(error) && (hs_leave_is_nothing_left(second) || !process_lives(process))) {
		hs_error_destroy(second);
		second = NULL;
	}
	return hs_error_join(error, second);
}

struct hs_error *hs_leave_explain(const struct process *process, struct hs_error *error, uint64_t attached_for_ns)
{
	const double seconds = (double)attached_for_ns / 1e9;

	if (!hs_leave_is_nothing_left(error))
		return error;
	hs_error_destroy(error);
	if (!process_lives(process))
		return hs_error_create(
			HS_ERROR_GONE,
			"process %d ended %.1f s after the attach, before its heap was written: what was recorded is gone",
			(int)process->pid, seconds);
	return hs_error_create(HS_ERROR_GONE,
			       "process %d has executed another program, or was detached by another command, within "
			       "%.1f s after the attach: what was recorded is gone",
			       (int)process->pid, seconds);
}
