// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/frozen_maps.h"

#include <stdlib.h>

struct hs_error *frozen_maps(struct frozen_process *frozen, const struct proc_maps **ret)
{
	struct proc_maps *maps;
	struct hs_error *error;

	if (!frozen->maps) {
		maps = calloc(1, sizeof(*maps));
		if (!maps)
			return &hs_error_no_memory;
		error = proc_maps_read(frozen->process, maps);
		if (error) {
			free(maps);
			return error;
		}
		frozen->maps = maps;
	}
	*ret = frozen->maps;
	return NULL;
}

void frozen_maps_forget(struct frozen_process *frozen)
{
	if (frozen->maps)
		proc_maps_deinit(frozen->maps);
	free(frozen->maps);
	frozen->maps = NULL;
}
