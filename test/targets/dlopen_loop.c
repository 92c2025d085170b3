// SPDX-License-Identifier: Apache-2.0
// Loads and unloads a library again and again. usage: dlopen_loop PLUGIN.so
//
// Commands on standard input: "keep" loads, allocates 3 blocks of 1000 bytes that stay, unloads; "loop" does that 50
// times with the blocks freed (half of them after the library has gone); each prints "done". At end of input exit
// status 0.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static void *kept[3000];
static int kept_count;

static int load_and_allocate(const char *path, int stay)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *(*allocate)(size_t);
	void *blocks[3];

	if (!library)
		return 1;
	*(void **)&allocate = dlsym(library, "loop_plugin_allocate");
	if (!allocate)
		return 1;
	for (int i = 0; i < 3; i++) {
		blocks[i] = allocate(1000);
		memset(blocks[i], 0x77, 1000);
	}
	if (stay)
		for (int i = 0; i < 3; i++)
			kept[kept_count++] = blocks[i];
	else
		free(blocks[0]);
	dlclose(library);
	if (!stay) {
		free(blocks[1]);
		free(blocks[2]);
	}
#ifdef __GLIBC__
	return dlopen(path, RTLD_NOLOAD | RTLD_NOW) ? 1 : 0; // it must be gone
#else
	return 0; // musl never unloads
#endif
}

int main(int argc, char **argv)
{
	const char *command;

	if (argc != 2)
		return 2;
	say_ready();
	while ((command = next_command())) {
		int rounds = strcmp(command, "loop") == 0 ? 50 : 1;

		for (int i = 0; i < rounds; i++)
			if (kept_count > 2900 || load_and_allocate(argv[1], rounds == 1))
				return 2;
		puts("done");
	}
	return 0;
}
