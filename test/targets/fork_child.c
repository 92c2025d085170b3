// SPDX-License-Identifier: Apache-2.0
// Forks and spawns while attached. Commands on standard input: "allocate" (50 blocks of 100 bytes), "fork" (the child
// allocates, frees and checks by itself, then the parent allocates 50 blocks of 200 bytes), "spawn" (a vfork child that
// becomes another program), "stay" (a child that allocates until it is killed or the parent ends; its id is printed),
// "stay again" (a child of such a child; the child in between forks and stays too).
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

extern char **environ;

static void *blocks[1000];
static int count;

static __attribute__((noipa)) void site_parent_before(void)
{
	for (int i = 0; i < 50; i++) {
		blocks[count++] = malloc(100);
		__asm__ volatile("" ::: "memory");
	}
}

static __attribute__((noipa)) void site_parent_after(void)
{
	for (int i = 0; i < 50; i++) {
		blocks[count++] = malloc(200);
		__asm__ volatile("" ::: "memory");
	}
}

static __attribute__((noipa)) int site_child(void)
{
	static char *kept[2000];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 2000; i++) {
			kept[i] = realloc(kept[i], 10 + (size_t)(i + round) % 500);
			__asm__ volatile("" ::: "memory");
			memset(kept[i], i, 10);
		}
		for (int i = 0; i < 2000; i++)
			for (int j = 0; j < 10; j++)
				if (kept[i][j] != (char)i)
					return 1;
		for (int i = round % 2; i < 2000; i += 2) {
			free(kept[i]);
			kept[i] = NULL;
		}
	}
	for (int i = 0; i < count; i++) // the parent's blocks, in the child's memory
		free(blocks[i]);
	return 0;
}

static _Noreturn void stay(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (site_child() == 0)
		count = 0; // the parent's blocks are freed once
	_exit(1);
}

int main(void)
{
	const char *command;
	int status;

	say_ready();
	while ((command = next_command())) {
		pid_t child = 0;

		if (count > 900)
			return 2;
		if (strcmp(command, "allocate") == 0) {
			site_parent_before();
			puts("allocated");
			continue;
		}
		if (strcmp(command, "stay") == 0) {
			child = fork();
			if (child == 0)
				stay();
			printf("%d\n", (int)child);
			continue;
		}
		if (strcmp(command, "stay again") == 0) {
			int ends[2];

			if (pipe(ends))
				return 2;
			if (fork() == 0) {
				child = fork();
				if (child != 0 && write(ends[1], &child, sizeof(child)) != sizeof(child))
					_exit(1);
				stay();
			}
			if (read(ends[0], &child, sizeof(child)) != sizeof(child))
				return 2;
			close(ends[0]);
			close(ends[1]);
			printf("%d\n", (int)child);
			continue;
		}
		if (strcmp(command, "fork") == 0) {
			child = fork();
			if (child == 0)
				_exit(site_child());
		} else if (strcmp(command, "spawn") == 0) {
			char *arguments[] = { "true", NULL };
			if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ))
				return 2;
		}
		if (child <= 0 || waitpid(child, &status, 0) != child)
			return 2;
		site_parent_after();
		printf("child %d\n", status);
	}
	return 0;
}
