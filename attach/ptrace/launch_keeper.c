// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// In the keeper.
static _Noreturn void keep(int pidfd, int signal, int fd)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid(); // out of reach of what is sent to the terminal's process group
	prctl(PR_SET_NAME, "heapsnap-keeper");
	for (int other = 0; other < 3; other++)
		close(other);
	if (read(fd, &byte, 1) == 0)
		syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
	_exit(0);
}

struct hs_error *launch_keeper_begin(const struct process *process, int signal, struct launch_keeper *ret)
{
	int ends[2];

	*ret = (struct launch_keeper){ .fd = -1 };
	if (process->pidfd < 0)
		return NULL; // before Linux 5.3: nobody does it
	if (pipe2(ends, O_CLOEXEC) != 0)
		return hs_error_system(errno, "cannot make a pipe");
	ret->pid = fork();
	if (ret->pid == 0) {
		close(ends[1]);
		keep(process->pidfd, signal, ends[0]);
	}
	close(ends[0]);
	ret->fd = ends[1];
	if (ret->pid > 0)
		return NULL;
	ret->pid = 0;
	close(ends[1]);
	return hs_error_system(errno, "cannot start a process");
}

void launch_keeper_end(struct launch_keeper *keeper)
{
	if (!keeper->pid)
		return;
	(void)!write(keeper->fd, "", 1);
	close(keeper->fd);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
}
