// SPDX-License-Identifier: Apache-2.0
// Starts and ends threads and child processes all the time.
#include "ptrace_target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

static atomic_bool ending, wrong;

static void *nothing(void *argument) { return argument; }

static void *spawn(void *unused)
{
	while (!ending) {
		pthread_t thread;
		void *result;
		int some;

		if (pthread_create(&thread, NULL, nothing, &some) || pthread_join(thread, &result) || result != &some)
			wrong = 1;
	}
	return unused;
}

static void *fork_loop(void *unused)
{
	while (!ending) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(7);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
			wrong = 1;
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i == 3 ? fork_loop : spawn, NULL);
	target_ready();
	target_wait_for_end();
	ending = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return wrong;
}
