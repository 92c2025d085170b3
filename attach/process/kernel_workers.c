// SPDX-License-Identifier: Apache-2.0
#include "attach/process/kernel_workers.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/proc_stat.h"

#include <string.h>

// include/linux/sched.h. Before Linux 5.12 and 6.4 the bits meant something else; so the name is compared as well.
#define PF_IO_WORKER   0x10u
#define PF_USER_WORKER 0x4000u

bool stat_is_of_kernel_worker(const char *text)
{
	struct proc_stat stat;

	if (!proc_stat_parse(text, &stat))
		return false;
	return ((stat.flags & PF_IO_WORKER) && strncmp(stat.name, "iou-", 4) == 0) ||
	       ((stat.flags & PF_USER_WORKER) && strncmp(stat.name, "vhost-", 6) == 0);
}

static bool read_is_worker(const struct process *process, pid_t tid, bool *known_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "stat", &text, NULL);

	*known_ret = !error;
	hs_error_destroy(error);
	return *known_ret && stat_is_of_kernel_worker(text);
}

static bool is_user_thread(pid_t tid, const void *context)
{
	bool known;

	return !read_is_worker(context, tid, &known) && known;
}

void user_threads_list(const struct process *process, struct pid_set *ret)
{
	thread_set_list(process, is_user_thread, process, ret);
}

bool thread_is_kernel_worker(const struct process *process, pid_t tid, const struct pid_set *user_threads)
{
	bool known;

	return !pid_set_has(user_threads, tid) && read_is_worker(process, tid, &known);
}
