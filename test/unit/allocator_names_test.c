// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/symbols/allocator_names.h"
#include "snapshot/symbols/demangle.h"
#include "views/frame_rules.h"

#include <stdlib.h>

static const char *const allocators[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"posix_memalign",
	"aligned_alloc",
	"memalign",
	"valloc",
	"pvalloc",
	"free",
	"cfree",
	"__libc_malloc",
	"__libc_calloc",
	"__libc_memalign",
	"__posix_memalign",
	"_int_malloc",
	"_mid_memalign",
	"je_malloc",
	"_rjem_sdallocx",
	"_rjem_je_mallocx",
	"tc_malloc",
	"tc_new",
	"mi_calloc",
	"_Znwm",
	"__rust_alloc",
	"__rust_alloc_zeroed",
	"__rust_realloc",
	"__rdl_alloc",
	"__rg_alloc",
	"_RNvCsj4CZ6flxxfE_7___rustc12___rust_alloc",
	"_ZN5alloc5alloc5alloc17hb9213c8b740e8eb8E",
	"_ZN5alloc5alloc6Global10alloc_impl17hca4fbc901c07e702E",
	"_ZN63_$LT$alloc..alloc..Global$u20$as$u20$core..alloc..Allocator$GT$8allocate17h9d999105ada8a6a4E",
	"_ZN3std3sys4unix5alloc14aligned_malloc17h95732a372c9961bfE",
	"_RNvNtCsihNoVIYWwLU_5alloc5alloc15exchange_malloc",
	"_RNvMNtCsihNoVIYWwLU_5alloc5allocNtB2_6Global10alloc_impl",
	"_RNvXs_NtCsihNoVIYWwLU_5alloc5allocNtB4_6GlobalNtNtCs6IL9ONYDOZW_4core5alloc9Allocator8allocate",
	"_ZN67_$LT$linked..jemalloc..Jemalloc$u20$as$u20$core..alloc..global..GlobalAlloc$GT$5alloc17h0123456789abcdefE",
	"_RNvXNtCse8i1cTylc5f_6linked8jemallocNtB2_8JemallocNtNtNtCs6IL9ONYDOZW_4core5alloc6global11GlobalAlloc5alloc",
	"_mid_memalign",
	"je_malloc",
	"_rjem_sdallocx",
	"_rjem_je_mallocx",
	"tc_malloc",
	"tc_new",
	"tc_newarray_aligned_nothrow",
	"tc_delete_sized_aligned",
	"tc_deletearray",
	"tc_malloc_skip_new_handler",
	"mi_calloc",
	"mi_malloc_small",
	"mi_heap_realloc_aligned_at",
	"mi_new_n",
	"mi_heap_alloc_new",
	"mi_strdup",
	"mi_valloc",
	"mi_new_aligned_nothrow",
	"mi_free_size_aligned",
	"_Znwm",
	"moz_xmalloc",
	"moz_xstrdup",
	"moz_arena_memalign",
	"rpmalloc",
	"rpaligned_zalloc",
	"rpmalloc_heap_alloc",
	"sn_calloc",
	"sn_rust_alloc_zeroed",
	"xxmalloc",
	"g_slice_alloc0",
	"g_slice_copy",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamSt11align_val_t",
	"_ZdlPv",
	"_ZdaPvm",
};

static const char *const others[] = {
	"",
	"main",
	"xmalloc",
	"malloc_usable_size",
	"my_malloc",
	"zmalloc",
	"new",
	"newarray",
	"strdup",
	"__rust_begin_short_backtrace",
	"_ZN5alloc3vec12Vec$LT$T$GT$13with_capacity17h8834e8bf6dca201bE",
	"_RNv",
	"_RNvXs",
	"_R",
	"_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$11allocate_in17h0d7e3ef7e7d82e09E",
	"_RNvMs_NtCsihNoVIYWwLU_5alloc3vecINtB4_3VechE7reserve",
	"_RINvNtCsihNoVIYWwLU_5alloc7raw_vec11finish_growNtNtB4_5alloc6GlobalECse8i1cTylc5f_6linked",
	"_ZN5alloc",
	"_RNvNtCsx_5alloc4sync3new",
	"__libc_start_main",
	"_ZN3FoonwEm",
	"_ZNSt15__new_allocatorIiE8allocateEmPKv",
	"operator new",
	"tc_",
	"__libc_",
	"__libc_start_main",
	"_ZN3FoonwEm",
	"_ZNSt15__new_allocatorIiE8allocateEmPKv",
	"operator new",
	"tc_",
	"__libc_",
	"tc_news",
	"tc_delete_sizes",
	"alloc",
	"copy",
	"zalloc",
	"dealloc",
	"moz_arena_",
	"g_slice_",
	"rp",
	"rpc",
	"sn_rust_",
	"snmalloc",
	"mi_",
	"mi_heap_",
	"mi_new_block",
	"mi_open",
	"new_aligned",
	"heap_malloc",
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

// A profile that another program has written does not say what an allocator is: the patterns of names have to know the
// same ones, but for whatever type in Rust implements GlobalAlloc. A caller's frame is the site then, not one of these.
static void test_patterns(void)
{
	struct frame_rules *rules = NULL;

	CHECK(!frame_rules_create(&rules));
	for (size_t i = 0; rules && i < sizeof(allocators) / sizeof(allocators[0]); i++) {
		char *text = demangle(allocators[i]);
		const struct frame_text frame = { .function = text ? text : allocators[i],
						  .system_name = allocators[i],
						  .file = "",
						  .module = "/bin/app" };
		const enum frame_class class = frame_rules_judge(rules, &frame).class;

		const bool is_own = class == FRAME_OWN || class == FRAME_UNKNOWN;

		CHECK(!is_own || strstr(allocators[i], "GlobalAlloc"));
		if (is_own && !strstr(allocators[i], "GlobalAlloc"))
			fprintf(stderr, "own code: %s\n", frame.function);
		free(text);
	}
	frame_rules_destroy(rules);
}

int main(void)
{
	test_patterns();
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
