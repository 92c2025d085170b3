// SPDX-License-Identifier: Apache-2.0
// Loads and unloads a library all the time, in a thread. usage: reloads PLUGIN.so
// Knows "pause", "continue" and "count" (of rounds) on standard input, and prints "ok COUNT" at its end.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "commands.h"

static atomic_ulong rounds;
static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;

static void *reload(void *path)
{
	for (;;) {
		void *(*allocate)(size_t);
		void *library;

		pthread_mutex_lock(&work);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			abort();
		*(void **)&allocate = dlsym(library, "loop_plugin_allocate");
		free(allocate(1000));
		dlclose(library);
		pthread_mutex_unlock(&work);
		atomic_fetch_add(&rounds, 1);
		sched_yield(); // to whoever wants to pause it
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	const char *command;

	if (argc != 2 || pthread_create(&thread, NULL, reload, argv[1]))
		return 2;
	while (atomic_load(&rounds) == 0) // a thread that begins has its signals blocked
		sched_yield();
	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "pause") == 0) {
			pthread_mutex_lock(&work);
			puts("paused");
		} else if (strcmp(command, "continue") == 0) {
			pthread_mutex_unlock(&work);
			puts("continued");
		} else {
			printf("%lu\n", atomic_load(&rounds));
		}
	}
	printf("ok %lu\n", atomic_load(&rounds));
	return 0;
}
