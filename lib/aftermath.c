// SPDX-License-Identifier: Apache-2.0
#include "lib/aftermath.h"

#include "attach/guard/interrupt_signal.h"
#include "base/proc_maps.h"

// An execve drops the memory and all threads but one; a tool at work takes that for the end of the process.
struct hs_error *hs_aftermath_explain(const struct process *process, struct hs_error *error)
{
	struct hs_error *better;

	if (error->code != HS_ERROR_GONE || !proc_maps_has_memory(process))
		return error;
	better = hs_error_create(HS_ERROR_GONE, "process %d has executed another program; try again", process->pid);
	hs_error_destroy(error);
	return better;
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
