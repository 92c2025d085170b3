// SPDX-License-Identifier: Apache-2.0
// Libraries that come and go, descriptors that are closed all at once, memory that is locked, limited, or changes its
// protection. See restless.h. usage: restless_memory BEHAVIOUR [LIBRARY]
#include "restless.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static const char *library;

typedef void *library_function(size_t);

static library_function *load(void **handle)
{
	library_function *function;

	*handle = dlopen(library, RTLD_NOW);
	EXPECT(*handle);
	function = (library_function *)dlsym(*handle, "loop_plugin_allocate");
	EXPECT(function);
	return function;
}

// All load, use and unload it; so it often stays because of another.
static void step_library(int number)
{
	library_function *function;
	void *handle, *blocks[50];

	function = load(&handle);
	for (int i = 0; i < 50; i++) {
		blocks[i] = function((size_t)(i + number + 1));
		EXPECT(blocks[i]);
	}
	EXPECT(dlclose(handle) == 0);
	for (int i = 0; i < 50; i++)
		free(blocks[i]);
}

static void step_descriptors(int number)
{
	int fd = open("/dev/null", O_RDONLY);

	if (number == 0)
		closefrom(3);
	else if (fd >= 0)
		close(fd);
	allocate_and_check((unsigned)number);
}

static void prepare_locked(void) { EXPECT(mlockall(MCL_CURRENT | MCL_FUTURE) == 0); }

static void step_allocate(int number) { allocate_and_check((unsigned)number); }

// The page in which malloc begins, and the program's own code, are made writable and back.
static void change(void *code)
{
	void *page = (void *)((uintptr_t)code & ~(uintptr_t)4095);

	EXPECT(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	allocate_and_check(1);
	EXPECT(mprotect(page, 8192, PROT_READ | PROT_EXEC) == 0);
}

static void step_protection(int number)
{
	if (number == 0) {
		change(dlsym(RTLD_DEFAULT, "malloc"));
		change(dlsym(RTLD_DEFAULT, "free"));
	}
	allocate_and_check((unsigned)number);
}

// A limit, and allocations until they fail.
static void prepare_limited(void)
{
	struct rlimit limit = { 0 };
	char text[64] = "";
	FILE *file = fopen("/proc/self/statm", "r");

	EXPECT(file && fgets(text, sizeof(text), file));
	fclose(file);
	limit.rlim_cur = limit.rlim_max = strtoul(text, NULL, 10) * 4096 + (1500ul << 20);
	EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void step_limited(int number)
{
	void *blocks[40];
	int count = 0, failed = 0;

	for (int i = 0; i < 40; i++) {
		blocks[count] = malloc(64u << 20);
		if (blocks[count])
			count++;
		else
			failed++;
	}
	EXPECT(failed > 0);
	while (count > 0)
		free(blocks[--count]);
	usleep(20000);
	(void)number;
}

// Sealed against every change from within (mseal, Linux 6.10): the first hook's page included.
static void prepare_sealed(void)
{
	void *page = (void *)((uintptr_t)dlsym(RTLD_DEFAULT, "malloc") & ~(uintptr_t)4095);

	if (syscall(462, page, 4096, 0) != 0) {
		puts("no mseal here");
		exit(0);
	}
}

static const struct behaviour behaviours[] = {
	{ "library", 4, NULL, step_library, NULL, NULL },
	{ "descriptors", 3, NULL, step_descriptors, NULL, NULL },
	{ "locked", 2, prepare_locked, step_allocate, NULL, NULL },
	{ "protection", 3, NULL, step_protection, NULL, NULL },
	{ "limited", 1, prepare_limited, step_limited, NULL, NULL },
	{ "sealed", 2, prepare_sealed, step_allocate, NULL, NULL },
};

int main(int argc, char **argv)
{
	if (argc > 2)
		library = argv[2];
	return restless_main(argc, argv, behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
}
