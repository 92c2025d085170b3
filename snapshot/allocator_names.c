// SPDX-License-Identifier: Apache-2.0
#include "snapshot/allocator_names.h"

#include <stddef.h>
#include <string.h>

// Before one of the names below. "" is last, and "__libc_" before "__".
static const char *const prefixes[] = {
	"__libc_", "__", "_int_", "_mid_", "je_", "_rjem_je_", "_rjem_", "tc_", "mi_", "",
};

static const char *const names[] = {
	"aligned_alloc", "calloc",	 "cfree",  "dallocx", "free",	 "free_aligned_sized", "free_sized",
	"mallocx",	 "malloc",	 "memalign", "new",    "newarray", "posix_memalign",     "pvalloc",
	"rallocx",	 "reallocarray", "realloc", "sdallocx", "valloc", "xallocx",
};

// Itanium ABI 5.1.5.3: nw, na, dl, da are the operators new, new[], delete, delete[]. A member of a class has _ZN
// before them.
static const char *const operators[] = { "_Znw", "_Zna", "_Zdl", "_Zda" };

bool is_allocator_name(const char *system_name)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strncmp(system_name, operators[i], strlen(operators[i])) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(system_name, prefixes[i], length) != 0)
			continue;
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			// A C program may well call a function of its own "new".
			if (strncmp(names[j], "new", 3) == 0 && strcmp(prefixes[i], "tc_") != 0)
				continue;
			if (strcmp(system_name + length, names[j]) == 0)
				return true;
		}
	}
	return false;
}
