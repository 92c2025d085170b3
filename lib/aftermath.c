// SPDX-License-Identifier: Apache-2.0
#include "lib/aftermath.h"

#include "attach/guard/interrupt_signal.h"
#include "base/proc_maps.h"

// An execve drops the memory and all threads but one; a tool at work takes that for the end of the process.
struct hs_error *hs_aftermath_explain(const struct process *process, struct hs_error *error)
{
	enum process_memory memory = error->code == HS_ERROR_GONE ? proc_maps_memory(process) : MEMORY_GONE;

	if (memory == MEMORY_GONE)
		return error;
	hs_error_destroy(error);
	if (memory == MEMORY_UNKNOWN)
		return hs_error_create(HS_ERROR_GONE,
				       "process %d is there, and its memory may not be read any more (it has given up "
				       "or taken rights, say)",
				       (int)process->pid);
	return hs_error_create(HS_ERROR_GONE, "process %d has executed another program; try again", (int)process->pid);
}

struct hs_error *hs_aftermath_look(const struct process *process, struct hs_status *ret, bool *is_free_ret)
{
	struct hs_error *error;
	bool may_still_come;

	interrupt_clear();
	*is_free_ret = false;
	error = hs_status_read(process, ret, &may_still_come);
	if (error && error->code == HS_ERROR_NOT_FOUND && !may_still_come) {
		hs_error_destroy(error);
		error = NULL;
		*is_free_ret = true;
	}
	return error;
}
