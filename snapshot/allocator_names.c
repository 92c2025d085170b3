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

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

// Rust's v0 mangling of a function in the module alloc of the crate alloc: _RNv, the impl that it is in, NtCs<hash>_5alloc5alloc.
static bool is_rust_v0(const char *name)
{
	name += strlen("_RNv");
	if (*name == 'M' || *name == 'X') {
		name++;
		if (*name == 's') {
			name = strchr(name, '_');
			if (!name)
				return false;
			name++;
		}
	}
	if (!starts_with(name, "NtCs"))
		return false;
	name = strchr(name, '_');
	return name && starts_with(name, "_5alloc5alloc");
}

// Between Rust's containers and the allocator: the compiler's functions __rust_* (chosen: __rdl_* for the system's allocator, __rg_* for the
// program's own), the standard library's modules alloc::alloc and std::sys::...::alloc, whoever implements GlobalAlloc.
static bool is_rust_allocator(const char *name)
{
	static const char *const starts[] = { "__rust_alloc", "__rust_realloc", "__rust_dealloc", "__rdl_", "__rg_", "_ZN5alloc5alloc",
					      "_ZN3std3sys4unix5alloc", "_ZN3std3sys5alloc", "_ZN3std3sys3pal4unix5alloc" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
			return true;
	if (starts_with(name, "_R"))
		return strstr(name, "_4core5alloc6global11GlobalAlloc") || strstr(name, "_7___rustc") ||
		       (starts_with(name, "_RNv") && is_rust_v0(name));
	return starts_with(name, "_ZN") && (strstr(name, "_$LT$alloc..alloc..Global$u20$as$u20$") ||
					    strstr(name, "$u20$as$u20$core..alloc..global..GlobalAlloc$GT$"));
}

bool is_allocator_name(const char *system_name)
{
	if (is_rust_allocator(system_name))
		return true;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (starts_with(system_name, operators[i]))
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
