// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/callee_names.h"

#include <string.h>

enum { FIRST = 1, SECOND = 2, THIRD = 4 }; // arguments

struct named_callee {
	const char *name;
	struct callee callee;
};

// Allocators' prefixes of the names in `allocators`. "" is last, and "__libc_" before "__".
static const char *const prefixes[] = { "__libc_", "__GI___libc_", "__", "je_", "_rjem_je_", "_rjem_",
					"tc_",     "mi_",          "rp", "sn_", "" };

static const struct named_callee allocators[] = {
	{ "malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "calloc", { CALLEE_ALLOCATES, FIRST | SECOND } },
	{ "realloc", { CALLEE_ALLOCATES, SECOND } },
	{ "reallocarray", { CALLEE_ALLOCATES, SECOND | THIRD } },
	{ "aligned_alloc", { CALLEE_ALLOCATES, SECOND } },
	{ "memalign", { CALLEE_ALLOCATES, SECOND } },
	{ "valloc", { CALLEE_ALLOCATES, FIRST } },
	{ "pvalloc", { CALLEE_ALLOCATES, FIRST } },
	{ "mallocx", { CALLEE_ALLOCATES, FIRST } },
	{ "rallocx", { CALLEE_ALLOCATES, SECOND } },
	{ "zalloc", { CALLEE_ALLOCATES, FIRST } },
	{ "free", { CALLEE_HARMLESS, 0 } },
	{ "cfree", { CALLEE_HARMLESS, 0 } },
	{ "malloc_usable_size", { CALLEE_HARMLESS, 0 } },
};

static const struct named_callee others[] = {
	{ "g_malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "g_malloc0", { CALLEE_ALLOCATES, FIRST } },
	{ "g_try_malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "g_realloc", { CALLEE_ALLOCATES, SECOND } },
	{ "g_free", { CALLEE_HARMLESS, 0 } },
	{ "PyMem_Malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "PyMem_RawMalloc", { CALLEE_ALLOCATES, FIRST } },
	{ "PyObject_Malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "PyMem_Realloc", { CALLEE_ALLOCATES, SECOND } },
	{ "CRYPTO_malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "CRYPTO_zalloc", { CALLEE_ALLOCATES, FIRST } },
	{ "sqlite3_malloc", { CALLEE_ALLOCATES, FIRST } },
	{ "sqlite3_malloc64", { CALLEE_ALLOCATES, FIRST } },
	{ "__errno_location", { CALLEE_HARMLESS, 0 } },
	{ "__cxa_begin_catch", { CALLEE_HARMLESS, 0 } },
	{ "memset", { CALLEE_CLEARS, 0 } },
	{ "__memset_chk", { CALLEE_CLEARS, 0 } },
	{ "pthread_mutex_lock", { CALLEE_HARMLESS, 0 } },
	{ "pthread_mutex_unlock", { CALLEE_HARMLESS, 0 } },
	{ "abort", { CALLEE_ENDS, 0 } },
	{ "exit", { CALLEE_ENDS, 0 } },
	{ "_exit", { CALLEE_ENDS, 0 } },
	{ "_Exit", { CALLEE_ENDS, 0 } },
	{ "quick_exit", { CALLEE_ENDS, 0 } },
	{ "pthread_exit", { CALLEE_ENDS, 0 } },
	{ "__assert_fail", { CALLEE_ENDS, 0 } },
	{ "__assert", { CALLEE_ENDS, 0 } },
	{ "__stack_chk_fail", { CALLEE_ENDS, 0 } },
	{ "__stack_chk_fail_local", { CALLEE_ENDS, 0 } },
	{ "__chk_fail", { CALLEE_ENDS, 0 } },
	{ "__fortify_fail", { CALLEE_ENDS, 0 } },
	{ "__libc_fatal", { CALLEE_ENDS, 0 } },
	{ "err", { CALLEE_ENDS, 0 } },
	{ "errx", { CALLEE_ENDS, 0 } },
	{ "verr", { CALLEE_ENDS, 0 } },
	{ "verrx", { CALLEE_ENDS, 0 } },
	{ "longjmp", { CALLEE_ENDS, 0 } },
	{ "_longjmp", { CALLEE_ENDS, 0 } },
	{ "siglongjmp", { CALLEE_ENDS, 0 } },
	{ "__longjmp_chk", { CALLEE_ENDS, 0 } },
	{ "_Unwind_Resume", { CALLEE_ENDS, 0 } },
	{ "_ZSt9terminatev", { CALLEE_ENDS, 0 } },
	{ "__cxa_throw", { CALLEE_ENDS, 0 } },
	{ "__cxa_rethrow", { CALLEE_ENDS, 0 } },
	{ "__cxa_throw_bad_array_new_length", { CALLEE_ENDS, 0 } },
};

// By how the name begins: operators new and delete, std::__throw_…
static const struct named_callee beginnings[] = {
	{ "_Znw", { CALLEE_ALLOCATES, FIRST } },  { "_Zna", { CALLEE_ALLOCATES, FIRST } },
	{ "_Zdl", { CALLEE_HARMLESS, 0 } },       { "_Zda", { CALLEE_HARMLESS, 0 } },
	{ "_ZSt17__throw_", { CALLEE_ENDS, 0 } }, { "_ZSt20__throw_", { CALLEE_ENDS, 0 } },
	{ "_ZSt28__throw_", { CALLEE_ENDS, 0 } },
};

static const struct callee *find(const struct named_callee *items, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(items[i].name, name, size) == 0 && !items[i].name[size])
			return &items[i].callee;
	return NULL;
}

struct callee callee_by_name(const char *name)
{
	const size_t size = strcspn(name, "@");
	const struct callee *found = find(others, sizeof(others) / sizeof(others[0]), name, size);

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && !found; i++) {
		const size_t length = strlen(prefixes[i]);

		if (length <= size && strncmp(name, prefixes[i], length) == 0)
			found = find(allocators, sizeof(allocators) / sizeof(allocators[0]), name + length,
				     size - length);
	}
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]) && !found; i++)
		if (strncmp(name, beginnings[i].name, strlen(beginnings[i].name)) == 0)
			found = &beginnings[i].callee;
	return found ? *found : (struct callee){ .kind = CALLEE_OTHER };
}
