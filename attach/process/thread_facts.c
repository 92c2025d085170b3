// SPDX-License-Identifier: Apache-2.0
#include "attach/process/thread_facts.h"

#include "attach/arch/thread_status.h"
#include "attach/process/kernel_workers.h"
#include "base/cleanup.h"
#include "base/proc_stat.h"
#include "base/proc_status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_dead(char state) { return state == 'Z' || state == 'X' || state == 'x'; }

void thread_facts_add(struct thread_facts *facts, pid_t tid, const char *status)
{
	const char state = proc_status_state(status);
	uint32_t mode = (uint32_t)proc_status_number(status, "Seccomp:", 10, 0);

	if (is_dead(state))
		return;
	facts->count++;
	facts->stopped += state == 'T';
	facts->uninterruptible += state == 'D';
	if (state == 'D' && facts->waiting == 0)
		facts->waiting = tid;
	facts->shadow_stacks += arch_has_shadow_stack(status);
	facts->filtered += mode != 0;
	if (mode > facts->seccomp_mode)
		facts->seccomp_mode = mode;
}

static char *read_of_thread(const struct process *process, pid_t tid, const char *file)
{
	char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, file, &text, NULL);

	hs_error_destroy(error); // a thread that has ended
	return error ? NULL : text;
}

char thread_state(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = read_of_thread(process, tid, "stat");
	struct proc_stat stat;

	return text && proc_stat_parse(text, &stat) ? stat.state : 'X';
}

bool thread_is_ending(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_task_file(process, tid, "stat", &text, NULL);
	const bool is_gone = error && (error->error_number == ENOENT || error->error_number == ESRCH);

	hs_error_destroy(error);
	return error ? is_gone : !proc_stat_lives(text);
}

bool thread_is_own_tracee(const struct process *process, pid_t tid)
{
	HS_CLEANUP_FREE char *text = read_of_thread(process, tid, "status");

	return text && proc_status_number(text, "TracerPid:", 10, 0) == (uint64_t)getpid();
}

// By its name, so that one more file is read only for the few that may be one.
static bool is_kernel_worker(const struct process *process, pid_t tid, const char *status)
{
	HS_CLEANUP_FREE char *stat = NULL;

	if (strncmp(status, "Name:\tiou-", 10) != 0 && strncmp(status, "Name:\tvhost-", 12) != 0)
		return false;
	stat = read_of_thread(process, tid, "stat");
	return stat && stat_is_of_kernel_worker(stat);
}

struct hs_error *thread_facts_read(const struct process *process, struct thread_facts *ret)
{
	struct thread_walk walk;

	*ret = (struct thread_facts){ 0 };
	if (!thread_walk_begin(process, &walk))
		return hs_error_system(errno, "cannot list the threads of process %d", (int)process->pid);
	for (pid_t tid; (tid = thread_walk_next(&walk));) {
		HS_CLEANUP_FREE char *status = NULL;
		const pid_t waiting = ret->waiting;

		status = read_of_thread(process, tid, "status");
		if (status && !is_kernel_worker(process, tid, status))
			thread_facts_add(ret, tid, status);
		if (ret->waiting != waiting) {
			HS_CLEANUP_FREE char *channel = read_of_thread(process, tid, "wchan");

			// "0": it has gone on meanwhile, or the kernel does not tell.
			if (channel && strcmp(channel, "0") != 0)
				snprintf(ret->waits_in, sizeof(ret->waits_in), "%s", channel);
		}
	}
	thread_walk_end(&walk);
	return NULL;
}
