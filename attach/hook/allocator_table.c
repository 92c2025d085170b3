// SPDX-License-Identifier: Apache-2.0
// Sources: ISO C, POSIX and their manual pages; jemalloc(3); gperftools/tcmalloc.h; mimalloc.h; Itanium C++ ABI 5.1.5.3
// for the operators; mozjemalloc's malloc_decls.h and mozalloc.h; rpmalloc.h; snmalloc's override/malloc.cc and
// rust.cc; Heap Layers' wrapper for Hoard's; GLib's gslice.h.
#include "attach/hook/allocator_table.h"

#include "attach/hook/allocator_family.h"

#define RESERVED(name, layout)                                                                                         \
	{                                                                                                              \
		name, layout, BELIEF_RESERVED, "", { 0 }, 0                                                            \
	}
#define BESIDE(name, layout)                                                                                           \
	{                                                                                                              \
		name, layout, BELIEF_BESIDE, "", { 0 }, 0                                                              \
	}
#define MARK(name)                                                                                                     \
	{                                                                                                              \
		name, 0, BELIEF_MARK, "", { 0 }, 0                                                                     \
	}
#define OPERATOR(name, layout, companion)                                                                              \
	{                                                                                                              \
		name, layout, BELIEF_OPERATOR, "", { 0 }, companion                                                    \
	}
#define PREFIXED(prefix, name, layout)                                                                                 \
	{                                                                                                              \
		prefix name, layout, BELIEF_FAMILY, prefix, { "malloc", "free" }, 0                                    \
	}

#define EXTENDED(prefix, name, layout)                                                                                 \
	{                                                                                                              \
		prefix name, layout, BELIEF_FAMILY, prefix, { "malloc", "free", "mallocx", "sdallocx" }, 0             \
	}
#define JEMALLOC_EXTENDED(prefix)                                                                                      \
	EXTENDED(prefix, "mallocx", "alloc(size,_)"), EXTENDED(prefix, "rallocx", "realloc(block,size,_)"),            \
		EXTENDED(prefix, "xallocx", "resize(block,size,extra,_)"),                                             \
		EXTENDED(prefix, "dallocx", "free(block,_)"), EXTENDED(prefix, "sdallocx", "free(block,size,_)")

#define JEMALLOC_PREFIXED(prefix)                                                                                      \
	PREFIXED(prefix, "malloc", "alloc(size)"), PREFIXED(prefix, "calloc", "alloc(count,size)"),                    \
		PREFIXED(prefix, "realloc", "realloc(block,size)"), PREFIXED(prefix, "free", "free(block)"),           \
		PREFIXED(prefix, "free_sized", "free(block,size)"),                                                    \
		PREFIXED(prefix, "free_aligned_sized", "free(block,_,size)"),                                          \
		PREFIXED(prefix, "posix_memalign", "alloc(*block,_,size)"),                                            \
		PREFIXED(prefix, "aligned_alloc", "alloc(_,size)"), PREFIXED(prefix, "memalign", "alloc(_,size)"),     \
		PREFIXED(prefix, "valloc", "alloc(size)"), PREFIXED(prefix, "pvalloc", "alloc(size)"),                 \
		JEMALLOC_EXTENDED(prefix)

#define TC(name, layout) PREFIXED("tc_", name, layout)
#define TC_NEW(name, layout, companion)                                                                                \
	{                                                                                                              \
		"tc_" name, layout, BELIEF_FAMILY, "tc_", { "malloc", "free" }, companion                              \
	}

#define MI(name, layout) PREFIXED("mi_", name, layout)
#define MI_NEW(name, layout, companion)                                                                                \
	{                                                                                                              \
		"mi_" name, layout, BELIEF_FAMILY, "mi_", { "malloc", "free" }, companion                              \
	}
#define MI_PLAIN(name, layout)                                                                                         \
	{                                                                                                              \
		name, layout, BELIEF_FAMILY, "", { "malloc", "free", "mi_malloc", "mi_free" }, 0                       \
	}

// Firefox. Arenas are numbers; one must be empty before it is given up (moz_dispose_arena).
#define MOZ_ARENA(name, layout)                                                                                        \
	{                                                                                                              \
		"moz_arena_" name, layout, BELIEF_FAMILY, "moz_arena_", { "malloc", "free" }, 0                        \
	}
// These end the program where there is no memory. They call malloc, which is seen; operators new jump to them, which
// shows that they need no hook.
#define MOZ_X(name, layout)                                                                                            \
	{                                                                                                              \
		"moz_x" name, layout, BELIEF_FAMILY, "moz_x", { "malloc", "calloc", "memalign" }, 0                    \
	}

#define RP(name, layout)                                                                                               \
	{                                                                                                              \
		"rp" name, layout, BELIEF_FAMILY, "rp", { "malloc", "free", "malloc_usable_size" }, 0                  \
	}
#define RP_HEAP(name, layout)                                                                                          \
	{                                                                                                              \
		"rpmalloc_heap_" name, layout, BELIEF_FAMILY, "rpmalloc_heap_", { "alloc", "free", "acquire" }, 0      \
	}

#define SN(name, layout)                                                                                               \
	{                                                                                                              \
		"sn_" name, layout, BELIEF_FAMILY, "sn_", { "malloc", "free", "malloc_usable_size" }, 0                \
	}
#define SN_RUST(name, layout)                                                                                          \
	{                                                                                                              \
		"sn_rust_" name, layout, BELIEF_FAMILY, "sn_rust_", { "alloc", "dealloc", "realloc" }, 0               \
	}

// Hoard and others that are made with Heap Layers.
#define XX(name, layout)                                                                                               \
	{                                                                                                              \
		"xx" name, layout, BELIEF_FAMILY, "xx", { "malloc", "free", "malloc_usable_size" }, 0                  \
	}

#define G_SLICE(name, layout)                                                                                          \
	{                                                                                                              \
		"g_slice_" name, layout, BELIEF_FAMILY, "g_slice_",                                                    \
			{ "alloc", "alloc0", "free1", "free_chain_with_offset" }, 0                                    \
	}

const struct allocator_name allocator_names[] = {
	RESERVED("malloc", "alloc(size)"),
	RESERVED("calloc", "alloc(count,size)"),
	RESERVED("realloc", "realloc(block,size)"),
	RESERVED("free", "free(block)"),
	RESERVED("posix_memalign", "alloc(*block,_,size)"),
	RESERVED("aligned_alloc", "alloc(_,size)"),
	BESIDE("free_sized", "free(block,size)"),
	BESIDE("free_aligned_sized", "free(block,_,size)"),
	BESIDE("reallocarray", "realloc(block,count,size)"),
	BESIDE("cfree", "free(block)"),
	BESIDE("memalign", "alloc(_,size)"),
	BESIDE("valloc", "alloc(size)"),
	BESIDE("pvalloc", "alloc(size)"),
	BESIDE("__libc_malloc", "alloc(size)"),
	BESIDE("__libc_calloc", "alloc(count,size)"),
	BESIDE("__libc_realloc", "realloc(block,size)"),
	BESIDE("__libc_reallocarray", "realloc(block,count,size)"),
	BESIDE("__libc_free", "free(block)"),
	BESIDE("__libc_cfree", "free(block)"),
	BESIDE("__libc_memalign", "alloc(_,size)"),
	BESIDE("__posix_memalign", "alloc(*block,_,size)"),
	BESIDE("__libc_valloc", "alloc(size)"),
	BESIDE("__libc_pvalloc", "alloc(size)"),

	JEMALLOC_EXTENDED(""),
	JEMALLOC_PREFIXED("je_"),
	JEMALLOC_PREFIXED("_rjem_"), // Rust's crate

	TC("malloc", "alloc(size)"),
	TC("malloc_skip_new_handler", "alloc(size)"),
	TC("calloc", "alloc(count,size)"),
	TC("realloc", "realloc(block,size)"),
	TC("free", "free(block)"),
	TC("free_sized", "free(block,size)"),
	TC("cfree", "free(block)"),
	TC("memalign", "alloc(_,size)"),
	TC("posix_memalign", "alloc(*block,_,size)"),
	TC("valloc", "alloc(size)"),
	TC("pvalloc", "alloc(size)"),
	TC_NEW("new", "new(size)", "malloc_skip_new_handler"),
	TC_NEW("new_nothrow", "new(size,_)", "malloc_skip_new_handler"),
	TC_NEW("newarray", "new(size)", "malloc_skip_new_handler"),
	TC_NEW("newarray_nothrow", "new(size,_)", "malloc_skip_new_handler"),
	TC_NEW("new_aligned", "new(size,_)", "memalign<>"),
	TC_NEW("new_aligned_nothrow", "new(size,_,_)", "memalign<>"),
	TC_NEW("newarray_aligned", "new(size,_)", "memalign<>"),
	TC_NEW("newarray_aligned_nothrow", "new(size,_,_)", "memalign<>"),
	TC("delete", "free(block)"),
	TC("delete_nothrow", "free(block,_)"),
	TC("delete_sized", "free(block,size)"),
	TC("delete_aligned", "free(block,_)"),
	TC("delete_aligned_nothrow", "free(block,_,_)"),
	TC("delete_sized_aligned", "free(block,size,_)"),
	TC("deletearray", "free(block)"),
	TC("deletearray_nothrow", "free(block,_)"),
	TC("deletearray_sized", "free(block,size)"),
	TC("deletearray_aligned", "free(block,_)"),
	TC("deletearray_aligned_nothrow", "free(block,_,_)"),
	TC("deletearray_sized_aligned", "free(block,size,_)"),

	MI("malloc", "alloc(size)"),
	MI("malloc_small", "alloc(size)"),
	MI("zalloc", "alloc(size)"),
	MI("zalloc_small", "alloc(size)"),
	MI("calloc", "alloc(count,size)"),
	MI("mallocn", "alloc(count,size)"),
	MI("realloc", "realloc(block,size)"),
	MI("reallocn", "realloc(block,count,size)"),
	MI("reallocf", "reallocf(block,size)"),
	MI("rezalloc", "realloc(block,size)"),
	MI("recalloc", "realloc(block,count,size)"),
	MI("expand", "realloc(block,size)"),
	MI("_expand", "realloc(block,size)"),
	MI("reallocarray", "realloc(block,count,size)"),
	MI("reallocarr", "realloc(*block,count,size)"),
	MI("free", "free(block)"),
	MI("cfree", "free(block)"),
	MI("free_size", "free(block,size)"),
	MI("free_size_aligned", "free(block,size,_)"),
	MI("free_aligned", "free(block,_)"),
	MI("strdup", "string(_)"),
	MI("strndup", "string(_,_)"),
	MI("malloc_aligned", "alloc(size,_)"),
	MI("malloc_aligned_at", "alloc(size,_,_)"),
	MI("zalloc_aligned", "alloc(size,_)"),
	MI("zalloc_aligned_at", "alloc(size,_,_)"),
	MI("calloc_aligned", "alloc(count,size,_)"),
	MI("calloc_aligned_at", "alloc(count,size,_,_)"),
	MI("realloc_aligned", "realloc(block,size,_)"),
	MI("realloc_aligned_at", "realloc(block,size,_,_)"),
	MI("rezalloc_aligned", "realloc(block,size,_)"),
	MI("rezalloc_aligned_at", "realloc(block,size,_,_)"),
	MI("recalloc_aligned", "realloc(block,count,size,_)"),
	MI("recalloc_aligned_at", "realloc(block,count,size,_,_)"),
	MI("aligned_recalloc", "realloc(block,count,size,_)"),
	MI("aligned_offset_recalloc", "realloc(block,count,size,_,_)"),
	MI("aligned_alloc", "alloc(_,size)"),
	MI("memalign", "alloc(_,size)"),
	MI("posix_memalign", "alloc(*block,_,size)"),
	MI("valloc", "alloc(size)"),
	MI("pvalloc", "alloc(size)"),
	MI("heap_malloc", "alloc(_,size)"),
	MI("heap_malloc_small", "alloc(_,size)"),
	MI("heap_zalloc", "alloc(_,size)"),
	MI("heap_calloc", "alloc(_,count,size)"),
	MI("heap_mallocn", "alloc(_,count,size)"),
	MI("heap_realloc", "realloc(_,block,size)"),
	MI("heap_reallocn", "realloc(_,block,count,size)"),
	MI("heap_reallocf", "reallocf(_,block,size)"),
	MI("heap_rezalloc", "realloc(_,block,size)"),
	MI("heap_recalloc", "realloc(_,block,count,size)"),
	MI("heap_strdup", "string(_,_)"),
	MI("heap_strndup", "string(_,_,_)"),
	MI("heap_malloc_aligned", "alloc(_,size,_)"),
	MI("heap_malloc_aligned_at", "alloc(_,size,_,_)"),
	MI("heap_zalloc_aligned", "alloc(_,size,_)"),
	MI("heap_zalloc_aligned_at", "alloc(_,size,_,_)"),
	MI("heap_calloc_aligned", "alloc(_,count,size,_)"),
	MI("heap_calloc_aligned_at", "alloc(_,count,size,_,_)"),
	MI("heap_realloc_aligned", "realloc(_,block,size,_)"),
	MI("heap_realloc_aligned_at", "realloc(_,block,size,_,_)"),
	MI("heap_rezalloc_aligned", "realloc(_,block,size,_)"),
	MI("heap_rezalloc_aligned_at", "realloc(_,block,size,_,_)"),
	MI("heap_recalloc_aligned", "realloc(_,block,count,size,_)"),
	MI("heap_recalloc_aligned_at", "realloc(_,block,count,size,_,_)"),
	MI_NEW("new", "new(size)", "malloc"),
	MI_NEW("new_nothrow", "new(size)", "malloc"),
	MI_NEW("new_aligned", "new(size,_)", "malloc_aligned"),
	MI_NEW("new_aligned_nothrow", "new(size,_)", "malloc_aligned"),
	MI_NEW("new_n", "new(count,size)", "mallocn"),
	MI_NEW("new_realloc", "renew(block,size)", "realloc"),
	MI_NEW("new_reallocn", "renew(block,count,size)", "reallocn"),
	MI_NEW("heap_alloc_new", "new(_,size)", "heap_malloc"),
	MI_NEW("heap_alloc_new_n", "new(_,count,size)", "heap_mallocn"),
	MI_PLAIN("reallocf", "reallocf(block,size)"),
	MI_PLAIN("reallocarr", "realloc(*block,count,size)"),
	MI_PLAIN("vfree", "free(block)"),
	MI_PLAIN("_aligned_malloc", "alloc(_,size)"),

	MI("heap_destroy", "freeall(_)"),

	MOZ_ARENA("malloc", "alloc(_,size)"),
	MOZ_ARENA("calloc", "alloc(_,count,size)"),
	MOZ_ARENA("realloc", "realloc(_,block,size)"),
	MOZ_ARENA("memalign", "alloc(_,_,size)"),
	MOZ_ARENA("free", "free(_,block)"),
	MOZ_X("malloc", "new(size)"),
	MOZ_X("calloc", "new(count,size)"),
	MOZ_X("memalign", "new(_,size)"),

	RP("malloc", "alloc(size)"),
	RP("zalloc", "alloc(size)"),
	RP("calloc", "alloc(count,size)"),
	RP("realloc", "realloc(block,size)"),
	RP("free", "free(block)"),
	RP("aligned_alloc", "alloc(_,size)"),
	RP("aligned_zalloc", "alloc(_,size)"),
	RP("aligned_calloc", "alloc(_,count,size)"),
	RP("aligned_realloc", "realloc(block,_,size,_,_)"),
	RP("memalign", "alloc(_,size)"),
	RP("posix_memalign", "alloc(*block,_,size)"),
	RP_HEAP("alloc", "alloc(_,size)"),
	RP_HEAP("zalloc", "alloc(_,size)"),
	RP_HEAP("aligned_alloc", "alloc(_,_,size)"),
	RP_HEAP("aligned_zalloc", "alloc(_,_,size)"),
	RP_HEAP("calloc", "alloc(_,count,size)"),
	RP_HEAP("aligned_calloc", "alloc(_,_,count,size)"),
	RP_HEAP("realloc", "realloc(_,block,size,_)"),
	RP_HEAP("aligned_realloc", "realloc(_,block,_,size,_)"),
	RP_HEAP("free", "free(_,block)"),
	RP_HEAP("free_all", "freeall(_)"),

	SN("malloc", "alloc(size)"),
	SN("calloc", "alloc(count,size)"),
	SN("realloc", "realloc(block,size)"),
	SN("reallocarray", "realloc(block,count,size)"),
	SN("reallocarr", "realloc(*block,count,size)"),
	SN("free", "free(block)"),
	SN("cfree", "free(block)"),
	SN("aligned_alloc", "alloc(_,size)"),
	SN("memalign", "alloc(_,size)"),
	SN("posix_memalign", "alloc(*block,_,size)"),
	SN("valloc", "alloc(size)"),
	SN("pvalloc", "alloc(size)"),
	SN_RUST("alloc", "alloc(_,size)"),
	SN_RUST("alloc_zeroed", "alloc(_,size)"),
	SN_RUST("realloc", "realloc(block,_,_,size)"),
	SN_RUST("dealloc", "free(block,_,size)"),

	XX("malloc", "alloc(size)"),
	XX("calloc", "alloc(count,size)"),
	XX("realloc", "realloc(block,size)"),
	XX("memalign", "alloc(_,size)"),
	XX("free", "free(block)"),

	G_SLICE("alloc", "alloc(size)"),
	G_SLICE("alloc0", "alloc(size)"),
	G_SLICE("copy", "alloc(size,_)"),
	G_SLICE("free1", "free(size,block)"),
	G_SLICE("free_chain_with_offset", "chain(size,block,extra)"),

	// S: std::align_val_t; RKSt9nothrow_t: const std::nothrow_t &
	OPERATOR("_Znwm", "new(size)", "malloc"),
	OPERATOR("_ZnwmRKSt9nothrow_t", "new(size,_)", "malloc"),
	OPERATOR("_Znam", "new(size)", "malloc"),
	OPERATOR("_ZnamRKSt9nothrow_t", "new(size,_)", "malloc"),
	OPERATOR("_ZnwmSt11align_val_t", "new(size,_)", "aligned_alloc<>"),
	OPERATOR("_ZnwmSt11align_val_tRKSt9nothrow_t", "new(size,_,_)", "aligned_alloc<>"),
	OPERATOR("_ZnamSt11align_val_t", "new(size,_)", "aligned_alloc<>"),
	OPERATOR("_ZnamSt11align_val_tRKSt9nothrow_t", "new(size,_,_)", "aligned_alloc<>"),
	OPERATOR("_ZdlPv", "free(block)", 0),
	OPERATOR("_ZdlPvm", "free(block,size)", 0),
	OPERATOR("_ZdlPvRKSt9nothrow_t", "free(block,_)", 0),
	OPERATOR("_ZdlPvSt11align_val_t", "free(block,_)", 0),
	OPERATOR("_ZdlPvmSt11align_val_t", "free(block,size,_)", 0),
	OPERATOR("_ZdlPvSt11align_val_tRKSt9nothrow_t", "free(block,_,_)", 0),
	OPERATOR("_ZdaPv", "free(block)", 0),
	OPERATOR("_ZdaPvm", "free(block,size)", 0),
	OPERATOR("_ZdaPvRKSt9nothrow_t", "free(block,_)", 0),
	OPERATOR("_ZdaPvSt11align_val_t", "free(block,_)", 0),
	OPERATOR("_ZdaPvmSt11align_val_t", "free(block,size,_)", 0),
	OPERATOR("_ZdaPvSt11align_val_tRKSt9nothrow_t", "free(block,_,_)", 0),

#define X(family, name) MARK(name),
	HS_SANITIZER_MARKS(X)
#undef X
	// gperftools' debugging allocator.
	MARK("_Z20DanglingWriteCheckerv"),
	// Static in jemalloc_cpp.cpp, beside all of its operators.
	MARK("_ZL9handleOOMmb"),
	MARK("malloc_usable_size"),
	// What makes a family of names that are short.
	MARK("rpmalloc_usable_size"),
	MARK("rpmalloc_heap_acquire"),
	MARK("sn_malloc_usable_size"),
	MARK("xxmalloc_usable_size"),
	// Beside the operators that a C++ library has for those who have none.
	MARK("_ZSt15get_new_handlerv"),
};

const size_t allocator_name_count = sizeof(allocator_names) / sizeof(allocator_names[0]);
