// SPDX-License-Identifier: Apache-2.0
// strange_names NAME LIBRARY...: gives itself and a thread that name, loads the libraries, and with each line of input
// lets a function of each of them allocate; the sizes are 4001, 4002, ...
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "commands.h"

typedef void *allocator(size_t size);

static void *volatile kept;

static void *rest(void *name)
{
	prctl(PR_SET_NAME, name);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	allocator *functions[8] = { NULL };
	pthread_t thread;
	int count = argc - 2;

	if (count < 0 || count > 8)
		return 2;
	prctl(PR_SET_NAME, argv[1]);
	for (int i = 0; i < count; i++) {
		void *library = dlopen(argv[i + 2], RTLD_NOW | RTLD_LOCAL);
		allocator *const *entry = library ? dlsym(library, "strange_entry") : NULL;

		if (!entry) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		functions[i] = *entry;
	}
	if (pthread_create(&thread, NULL, rest, argv[1]) != 0)
		return 1;
	say_ready();
	while (next_command()) {
		for (int i = 0; i < count; i++)
			kept = functions[i](4001 + (size_t)i);
		puts("done");
	}
	_exit(0);
}
