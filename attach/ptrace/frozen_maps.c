// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/frozen_maps.h"

#include <stdlib.h>

struct hs_error *frozen_maps(struct frozen_process *process, const struct proc_maps **ret)
{
	struct proc_maps *maps;
	struct hs_error *error;

	if (!process->maps) {
		maps = calloc(1, sizeof(*maps));
		if (!maps)
			return &hs_error_no_memory;
		error = proc_maps_read(process->target, maps);
		if (error) {
			free(maps);
			return error;
		}
		process->maps = maps;
	}
	*ret = process->maps;
	return NULL;
}

void frozen_maps_forget(struct frozen_process *process)
{
	if (process->maps)
		proc_maps_deinit(process->maps);
	free(process->maps);
	process->maps = NULL;
}
