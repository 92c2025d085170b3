// SPDX-License-Identifier: Apache-2.0
#include "attach/quiet_names.h"

#include <string.h>

// POSIX (XSH 2.9.5.2) names the functions that are cancellation points and those that may be. None of these is among them, and glibc declares them
// as not throwing (__THROW), which it does not of any cancellation point. No function is here that takes one of the program's (qsort,
// pthread_once), or that writes to a stream before it ends the program (__assert_fail), which is a cancellation point.
static const char *const returning[] = {
	"__errno_location", "__memcpy_chk", "__memmove_chk", "__memset_chk", "__mempcpy_chk", "__strcpy_chk", "__strncpy_chk", "__tls_get_addr",
	"__rawmemchr", "bcmp", "bcopy", "brk", "bzero", "clock_gettime", "explicit_bzero", "getpagesize", "getpid", "madvise", "memccpy", "memchr", "memcmp",
	"memcpy", "memmove", "mempcpy", "memrchr", "memset", "mmap", "mmap64", "mprotect", "mremap", "munmap", "pthread_equal", "pthread_getspecific",
	"pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock", "pthread_self", "pthread_setspecific", "pthread_spin_lock",
	"pthread_spin_trylock", "pthread_spin_unlock", "rawmemchr", "sbrk", "sched_getcpu", "sched_yield", "stpcpy", "stpncpy", "strcat", "strchr", "strchrnul", "strcmp",
	"strcpy", "strcspn", "strlen", "strncat", "strncmp", "strncpy", "strnlen", "strrchr", "strspn", "strstr",
};

static const char *const ending[] = { "__chk_fail", "__stack_chk_fail", "_Exit", "_exit", "abort" };

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

enum way_of_call quiet_name(const char *name)
{
	if (is_among(name, ending, sizeof(ending) / sizeof(ending[0])))
		return WAY_ends;
	return is_among(name, returning, sizeof(returning) / sizeof(returning[0])) ? WAY_returns : WAY_unknown;
}
