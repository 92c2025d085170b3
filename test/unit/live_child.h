// SPDX-License-Identifier: Apache-2.0
// A program that says "r" when it is ready, and ends with its input; and what a plan is made from.
#ifndef HEAPSNAP_TEST_LIVE_CHILD_H
#define HEAPSNAP_TEST_LIVE_CHILD_H

#include "attach/hook/hook_plan.h"
#include "check.h"
#include "held_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct live_child {
	pid_t pid;
	int input; // our end
};

static inline struct live_child live_child_start(const char *program)
{
	struct live_child child = { -1, -1 };
	int input[2], output[2];
	char ready;

	if (pipe(input) < 0 || pipe(output) < 0)
		exit(2);
	fflush(NULL);
	child.pid = fork();
	if (child.pid < 0)
		exit(2); // kill(-1) would end every process
	if (child.pid == 0) {
		dup2(input[0], 0);
		dup2(output[1], 1);
		close(input[0]), close(input[1]), close(output[0]), close(output[1]);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	child.input = input[1];
	CHECK_EQUAL(read(output[0], &ready, 1), 1);
	close(output[0]);
	return child;
}

static inline void live_child_stop(struct live_child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->input);
}

struct live_target {
	struct proc_maps maps;
	struct target_memory memory;
	struct module_list modules;
};

static inline bool live_target_open(pid_t pid, struct live_target *ret)
{
	struct hs_error *error;

	*ret = (struct live_target){ 0 };
	error = proc_maps_read(held_process(pid), &ret->maps);
	if (!error)
		error = target_memory_open(held_process(pid), &ret->memory);
	if (!error)
		error = modules_read(held_process(pid), &ret->maps, &ret->memory, &ret->modules);
	CHECK(error == NULL);
	hs_error_destroy(error);
	return error == NULL;
}

static inline void live_target_close(struct live_target *target)
{
	modules_deinit(&target->modules);
	target_memory_close(&target->memory);
	proc_maps_deinit(&target->maps);
}

#endif
