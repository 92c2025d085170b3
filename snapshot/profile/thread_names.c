// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/thread_names.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <stdlib.h>
#include <string.h>

bool thread_name_parse(const char *status, uint32_t shown, struct thread_name *ret)
{
	const char *name = proc_status_field(status, "Name:");
	const pid_t innermost = proc_status_innermost_id(status);
	size_t length = 0;

	if (!name)
		return false;
	*ret = (struct thread_name){ .tid = innermost > 0 ? (uint32_t)innermost : shown, .shown = shown };
	for (; *name && *name != '\n' && length < sizeof(ret->name) - 1; name++) {
		if (name[0] == '\\' && (name[1] == 'n' || name[1] == '\\')) {
			name++;
			ret->name[length++] = *name == 'n' ? '\n' : '\\';
		} else {
			ret->name[length++] = *name;
		}
	}
	return true;
}

static struct hs_error *read_one(const struct process *process, pid_t tid, struct thread_names *names)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "status", &status, NULL);

	if (error) { // it has ended, or has a great many groups: it stays without a name
		hs_error_destroy(error);
		return NULL;
	}
	error = ARRAY_RESERVE(names->items, names->count + 1, &names->room);
	if (!error && thread_name_parse(status, (uint32_t)tid, &names->items[names->count]))
		names->count++;
	return error;
}

static int by_tid(const void *left, const void *right)
{
	const struct thread_name *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

struct hs_error *thread_names_read(const struct process *process, struct thread_names *ret)
{
	struct hs_error *error = NULL;
	struct thread_walk walk;
	pid_t tid;

	*ret = (struct thread_names){ 0 };
	if (!thread_walk_begin(process, &walk))
		return NULL;
	while (!error && (tid = thread_walk_next(&walk)) != 0)
		error = read_one(process, tid, ret);
	thread_walk_end(&walk);
	if (error)
		thread_names_deinit(ret);
	else if (ret->count > 0)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_tid);
	return error;
}

void thread_names_deinit(struct thread_names *names)
{
	free(names->items);
	*names = (struct thread_names){ 0 };
}

const struct thread_name *thread_names_find(const struct thread_names *names, uint32_t tid)
{
	const size_t after = ARRAY_COUNT_UP_TO(names->items, names->count, tid, tid);

	return after > 0 && names->items[after - 1].tid == tid ? &names->items[after - 1] : NULL;
}
