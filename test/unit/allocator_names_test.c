// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/allocator_names.h"
#include "snapshot/demangle.h"

#include <stdlib.h>

static const char *const allocators[] = {
	"malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc",
	"pvalloc", "free", "cfree", "__libc_malloc", "__libc_calloc", "__libc_memalign", "__posix_memalign",
	"_int_malloc",
	"_mid_memalign", "je_malloc", "_rjem_sdallocx", "_rjem_je_mallocx", "tc_malloc", "tc_new", "mi_calloc", "_Znwm",
	"_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZdlPv", "_ZdaPvm",
};

static const char *const others[] = {
	"", "main", "xmalloc", "malloc_usable_size", "my_malloc", "zmalloc", "new", "newarray", "strdup",
	"__libc_start_main", "_ZN3FoonwEm", "_ZNSt15__new_allocatorIiE8allocateEmPKv", "operator new", "tc_", "__libc_",
};

static void check_demangled(const char *name, const char *expected)
{
	char *text = demangle(name);

	if (expected)
		CHECK_STRING(text, expected);
	else
		CHECK(!text);
	free(text);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
		CHECK(is_allocator_name(allocators[i]));
		if (!is_allocator_name(allocators[i]))
			fprintf(stderr, "not an allocator: %s\n", allocators[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		CHECK(!is_allocator_name(others[i]));
		if (is_allocator_name(others[i]))
			fprintf(stderr, "an allocator: %s\n", others[i]);
	}
	check_demangled("_Znwm", "operator new(unsigned long)");
	check_demangled("_ZN3FoonwEm", "Foo::operator new(unsigned long)");
	check_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check_demangled("i", NULL);
	check_demangled("main", NULL);
	check_demangled("_Z", NULL);
	return CHECK_RESULT();
}
