// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/allocator_names.h"

#include <stddef.h>
#include <string.h>

// Before one of the names below. "" is last, and "__libc_" before "__".
static const char *const prefixes[] = {
	"__libc_", "__", "_int_", "_mid_", "je_",   "_rjem_je_",  "_rjem_", "tc_",
	"mi_",     "rp", "sn_",   "xx",    "moz_x", "moz_arena_", "",
};

static const char *const names[] = {
	"aligned_alloc", "calloc",       "cfree",   "dallocx",  "free",           "free_aligned_sized",
	"free_sized",    "mallocx",      "malloc",  "memalign", "posix_memalign", "pvalloc",
	"rallocx",       "reallocarray", "realloc", "sdallocx", "valloc",         "xallocx",
};

// After "mi_" or "mi_heap_", and before "_aligned", "_aligned_at", "_small" or nothing.
static const char *const mimalloc_names[] = {
	"alloc_new",   "alloc_new_n", "expand",       "free_size", "malloc",     "mallocn",  "new",      "new_n",
	"new_nothrow", "new_realloc", "new_reallocn", "realloc",   "reallocarr", "reallocf", "reallocn", "realpath",
	"recalloc",    "rezalloc",    "strdup",       "strndup",   "zalloc",     "calloc",
};
static const char *const mimalloc_ends[] = { "", "_aligned", "_aligned_at", "_aligned_nothrow", "_small" };

// gperftools' "tc_", then new, newarray, delete or deletearray, then any of these, in this order.
static const char *const tcmalloc_ends[] = { "_sized", "_aligned", "_nothrow" };

// Families whose functions have names that mean nothing without their prefix.
static const struct {
	const char *prefix;
	const char *names[10];
} families[] = {
	{ "rpmalloc_heap_",
	  { "alloc", "zalloc", "aligned_alloc", "aligned_zalloc", "calloc", "aligned_calloc", "realloc",
	    "aligned_realloc" } },
	{ "rp", { "zalloc", "aligned_zalloc", "aligned_calloc", "aligned_realloc" } },
	{ "sn_rust_", { "alloc", "alloc_zeroed", "realloc", "dealloc" } },
	{ "moz_x", { "strdup", "strndup", "memdup" } },
	{ "g_slice_", { "alloc", "alloc0", "copy", "free1", "free_chain_with_offset" } },
};

static bool is_family_name(const char *name)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		size_t length = strlen(families[i].prefix);

		if (strncmp(name, families[i].prefix, length) != 0)
			continue;
		for (size_t j = 0; families[i].names[j]; j++)
			if (strcmp(name + length, families[i].names[j]) == 0)
				return true;
	}
	return false;
}

static bool is_mimalloc_name(const char *name)
{
	if (strncmp(name, "mi_", 3) != 0)
		return false;
	name += strncmp(name, "mi_heap_", 8) == 0 ? 8 : 3;
	for (size_t i = 0; i < sizeof(mimalloc_names) / sizeof(mimalloc_names[0]); i++) {
		size_t length = strlen(mimalloc_names[i]);

		for (size_t j = 0; j < sizeof(mimalloc_ends) / sizeof(mimalloc_ends[0]); j++)
			if (strncmp(name, mimalloc_names[i], length) == 0 &&
			    strcmp(name + length, mimalloc_ends[j]) == 0)
				return true;
	}
	return false;
}

static bool is_tcmalloc_operator(const char *name)
{
	if (strcmp(name, "tc_malloc_skip_new_handler") == 0)
		return true;
	if (strncmp(name, "tc_new", 6) != 0 && strncmp(name, "tc_delete", 9) != 0)
		return false;
	name += name[3] == 'n' ? 6 : 9;
	if (strncmp(name, "array", 5) == 0)
		name += 5;
	for (size_t i = 0; i < sizeof(tcmalloc_ends) / sizeof(tcmalloc_ends[0]); i++)
		if (strncmp(name, tcmalloc_ends[i], strlen(tcmalloc_ends[i])) == 0)
			name += strlen(tcmalloc_ends[i]);
	return *name == '\0';
}

// Itanium ABI 5.1.5.3: nw, na, dl, da are the operators new, new[], delete, delete[]. A member of a class has _ZN
// before them.
static const char *const operators[] = { "_Znw", "_Zna", "_Zdl", "_Zda" };

static bool starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

// Rust's v0 mangling of a function in the module alloc of the crate alloc: _RNv, the impl that it is in,
// NtCs<hash>_5alloc5alloc.
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

// Between Rust's containers and the allocator: the compiler's functions __rust_* (chosen: __rdl_* for the system's
// allocator, __rg_* for the program's own), the standard library's modules alloc::alloc and std::sys::...::alloc,
// whoever implements GlobalAlloc.
static bool is_rust_allocator(const char *name)
{
	static const char *const starts[] = { "__rust_alloc",
					      "__rust_realloc",
					      "__rust_dealloc",
					      "__rdl_",
					      "__rg_",
					      "_ZN5alloc5alloc",
					      "_ZN3std3sys4unix5alloc",
					      "_ZN3std3sys5alloc",
					      "_ZN3std3sys3pal4unix5alloc" };

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
	if (is_family_name(system_name) || is_mimalloc_name(system_name) || is_tcmalloc_operator(system_name))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(system_name, prefixes[i], length) != 0)
			continue;
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			if (strcmp(system_name + length, names[j]) == 0)
				return true;
		}
	}
	return false;
}
