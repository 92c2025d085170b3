// SPDX-License-Identifier: Apache-2.0
// Allocates at the end of known call chains, from main and from a thread, each through a library that calls back
// (qsort). Any line of input: once each, 100 bytes from main's chain, 200 from the thread's, and 300 below 200 frames
// of one function.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"

#define FRAME  static __attribute__((noipa))
#define STAY() __asm__ volatile("" ::: "memory") // no tail call

static __thread size_t wanted;
static void *volatile kept[1000];
static int count;

FRAME void innermost(void)
{
	kept[count] = malloc(wanted);
	STAY();
}

FRAME int compare(const void *left, const void *right)
{
	(void)left;
	(void)right;
	if (wanted)
		innermost();
	wanted = 0; // once
	STAY();
	return 0;
}

FRAME void through_library(size_t size)
{
	int pair[2] = { 1, 2 };

	wanted = size;
	qsort(pair, 2, sizeof(pair[0]), compare);
	count++;
	STAY();
}

FRAME void from_main(void)
{
	through_library(100);
	STAY();
}

FRAME void recurse(unsigned frames)
{
	if (frames > 1)
		recurse(frames - 1);
	else
		through_library(300);
	STAY();
}

FRAME void *from_thread(void *argument)
{
	through_library(200);
	STAY();
	return argument;
}

int main(void)
{
	say_ready();
	while (count < 900 && next_command()) {
		pthread_t thread;

		from_main();
		recurse(200);
		if (pthread_create(&thread, NULL, from_thread, NULL) || pthread_join(thread, NULL))
			return 2;
		puts("done");
	}
	return 0;
}
