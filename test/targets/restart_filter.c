// SPDX-License-Identifier: Apache-2.0
// A program whose seccomp filter kills it for restart_syscall(2), which nothing makes it call: a signal that it ignores
// comes while it waits, and nobody traces it. Prints what its waits have returned.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int set_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// Ends in a moment; its parent gets SIGCHLD.
static void start_child(void)
{
	if (fork() == 0) {
		usleep(200000);
		_exit(0);
	}
}

int main(void)
{
	struct timespec time = { .tv_nsec = 500000000 };
	int polled, slept;

	start_child();
	if (set_filter())
		return 77;
	polled = poll(NULL, 0, 500);
	wait(NULL);
	start_child();
	slept = nanosleep(&time, NULL);
	wait(NULL);
	printf("poll %d, nanosleep %d\n", polled, slept);
	return 0;
}
