// SPDX-License-Identifier: Apache-2.0
#include "cli/aftermath.h"

#include "attach/guard/interrupt.h"
#include "attach/session/attached_list.h"
#include "base/proc_maps.h"
#include "inject/abi/region.h"

static void print_state(const struct options *options, const struct attached_process *process)
{
	if (process->has_leftovers || process->state == REGION_ATTACHING || process->state == REGION_DETACHING)
		console_print(
			options,
			"process %d goes on with the rest of an unfinished attach or detach in it, which does nothing: heapsnap detach %d\n",
			process->pid, process->pid);
	else if (process->has_idle_hooks)
		console_print(
			options,
			"process %d is not attached; it still has idle hooks, inherited from an attached parent: heapsnap detach %d\n",
			process->pid, process->pid);
	else if (process->state == REGION_ATTACHED)
		console_print(options, "process %d is attached, as it was\n", process->pid);
	else
		console_print(options, "how process %d is cannot be read: %s\n", process->pid, process->reason);
}

// An execve makes away with the memory that was read and with all threads but one: to a tool at work that looks as the
// end of the process does.
static struct hs_error *unless_it_lives(pid_t pid, struct hs_error *error)
{
	struct hs_error *better;

	if (error->code != HS_ERROR_GONE || !proc_maps_has_memory(pid))
		return error;
	better = hs_error_create(
		HS_ERROR_GONE,
		"process %d runs, but is not what it was: it has executed another program meanwhile (%s): try again",
		pid, error->message);
	hs_error_destroy(error);
	return better;
}

enum exit_status fail_and_look(const struct options *options, pid_t pid, struct hs_error *error)
{
	const bool is_interrupted = error->code == HS_ERROR_INTERRUPTED;
	enum exit_status status = console_fail(options, unless_it_lives(pid, error));
	struct attached_process process;

	if (!is_interrupted)
		return status;
	interrupt_clear();
	error = attached_examine(pid, &process);
	if (!error)
		print_state(options, &process);
	else if (error->code == HS_ERROR_NOT_FOUND && !process.late.tid)
		console_print(options, "nothing of heapsnap is in process %d\n", pid);
	else
		console_print(options, "how process %d is cannot be said: %s\n", pid, error->message);
	hs_error_destroy(error);
	return status;
}
