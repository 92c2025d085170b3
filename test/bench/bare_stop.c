// SPDX-License-Identifier: Apache-2.0
// How long a process stands when each of its threads is stopped, looked at once, and let go again, and nothing else is
// done: what no tool that works by ptrace goes below. With a real-time priority, as heapsnap has while threads stand.
// usage: bare_stop PID. Prints the microseconds from the first request to stop to the last release.
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS_MAX = 100000 };

static pid_t threads[THREADS_MAX];

static void request(int what, pid_t tid, void *address, void *data, const char *name)
{
	if (ptrace(what, tid, address, data)) {
		fprintf(stderr, "%s of thread %d: %s\n", name, tid, strerror(errno));
		exit(1);
	}
}

static int list_threads(const char *pid)
{
	char path[64];
	struct dirent *entry;
	DIR *directory;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	directory = opendir(path);
	while (directory && count < THREADS_MAX && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			threads[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	if (directory)
		closedir(directory);
	return count;
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	const struct sched_param least = { .sched_priority = 1 };
	int count = argc == 2 ? list_threads(argv[1]) : 0, status;
	struct user_regs_struct registers;
	double began;

	if (!count) {
		fprintf(stderr, "usage: bare_stop PID\n");
		return 2;
	}
	if (sched_setscheduler(0, SCHED_FIFO, &least))
		fprintf(stderr, "bare_stop: no real-time priority: %s\n", strerror(errno));
	for (int i = 0; i < count; i++)
		request(PTRACE_SEIZE, threads[i], NULL, NULL, "PTRACE_SEIZE");
	began = now_us();
	for (int i = 0; i < count; i++)
		request(PTRACE_INTERRUPT, threads[i], NULL, NULL, "PTRACE_INTERRUPT");
	for (int i = 0; i < count; i++) {
		struct iovec room = { &registers, sizeof(registers) };

		if (waitpid(threads[i], &status, __WALL) != threads[i] || !WIFSTOPPED(status))
			return 1;
		request(PTRACE_GETREGSET, threads[i], (void *)NT_PRSTATUS, &room, "PTRACE_GETREGSET");
	}
	for (int i = 0; i < count; i++)
		request(PTRACE_DETACH, threads[i], NULL, NULL, "PTRACE_DETACH");
	printf("%.0f\n", now_us() - began);
	return 0;
}
