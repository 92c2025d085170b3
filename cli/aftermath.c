// SPDX-License-Identifier: Apache-2.0
#include "cli/aftermath.h"

#include "lib/aftermath.h"

static void print_state(const struct options *options, const struct hs_status *process)
{
	switch (process->state) {
	case HS_STATE_LEFTOVERS:
	case HS_STATE_ATTACH_UNFINISHED:
	case HS_STATE_DETACH_UNFINISHED:
		console_explain(
			options,
			"process %d runs on with inactive leftovers of an unfinished attach or detach; to remove them: heapsnap detach %d\n",
			process->pid, process->pid);
		break;
	case HS_STATE_IDLE_HOOKS:
		console_explain(
			options,
			"process %d is not attached; it has idle hooks, inherited from an attached parent; to remove them: heapsnap detach %d\n",
			process->pid, process->pid);
		break;
	case HS_STATE_ATTACHED:
		console_explain(options, "process %d is still attached\n", process->pid);
		break;
	case HS_STATE_UNREADABLE:
		console_explain(options, "the state of process %d cannot be read: %s\n", process->pid, process->reason);
		break;
	}
}

enum exit_status fail_and_look(const struct options *options, const struct process *process, struct hs_error *error)
{
	const bool is_interrupted = error->code == HS_ERROR_INTERRUPTED;
	enum exit_status status = console_fail(options, hs_aftermath_explain(process, error));
	struct hs_status found;
	bool is_free;

	if (!is_interrupted)
		return status;
	error = hs_aftermath_look(process, &found, &is_free);
	if (error)
		console_explain(options, "cannot tell the state of process %d: %s\n", process->pid, error->message);
	else if (is_free)
		console_explain(options, "nothing of heapsnap is left in process %d\n", process->pid);
	else
		print_state(options, &found);
	hs_error_destroy(error);
	return status;
}
