// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: a table of the names that allocators export.
// Calls every function of its allocator that it finds, by name, and keeps the account of it.
//
// Commands on standard input:
//   early      makes blocks before the attach; prints {"count": ..., "bytes": ...}
//   work       for each function that makes blocks: many of them, from the function site_NAME, some given back again in
//              every way there is. Prints {"site", "objects", "bytes", "rounded", "calls"} for each, then {"end":
//              sites}
//   finish     gives back all that is left, checks what the blocks hold; prints "ok"
//   drop       gives the early blocks back, by plain and by sized functions; prints {"plain", "sized", "sized_bytes"}
//   grow       reallocates early blocks and gives them back; prints their count and bytes
//   throw      operators that fail, with handlers of all kinds; prints what happened
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <new>

#define SITE   extern "C" __attribute__((noipa))
#define STAY() __asm__ volatile("" ::: "memory") // no tail call

typedef void *(*maker)(size_t);
typedef void (*dropper)(void *, size_t);

enum group { PLAIN = 1, ALIGNED = 2, OPERATOR_ALIGNED = 4 };

struct site {
	const char *name;
	maker make;
	int groups;                                                   // how its blocks may be given back
	const char *function;                                         // NULL: always there
	unsigned long calls, live_objects, live_bytes, rounded_bytes; // rounded: to multiples of the alignment
	void *block[8];
	size_t size[8];
};

struct drop {
	dropper call;
	int groups;
	const char *function;
};

enum { ALIGNMENT = 64, MOST = 256 };

// Of the allocator in use: where it has no pvalloc, the C library's makes blocks that its free does not know.
static void *find(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);
	Dl_info its, used;

	if (!function || !dladdr(function, &its) || !dladdr(dlsym(RTLD_DEFAULT, "malloc"), &used))
		return NULL;
	return its.dli_fbase == used.dli_fbase || strcmp(name, "reallocarray") == 0 ? function : NULL;
}

static void *found(const char *name)
{
	static struct {
		const char *name;
		void *function;
	} known[MOST];

	for (size_t i = 0; i < MOST; i++) {
		if (!known[i].name) {
			known[i].name = name;
			known[i].function = find(name);
		}
		if (strcmp(known[i].name, name) == 0)
			return known[i].function;
	}
	abort();
}

#define CALL(result, name, types) (reinterpret_cast<result(*) types>(found(#name)))

// MAKE(name, types, arguments): site_NAME(size) calls it.
#define MAKE(name, types, arguments)                                                                                   \
	SITE void *site_##name(size_t size)                                                                            \
	{                                                                                                              \
		void *block = CALL(void *, name, types) arguments;                                                     \
		(void)size;                                                                                            \
		STAY();                                                                                                \
		return block;                                                                                          \
	}
// The same under a family's prefix.
#define REMAKE(name, types, before, after)                                                                             \
	SITE void *site_##name(size_t size)                                                                            \
	{                                                                                                              \
		void *block = CALL(void *, name, types) before;                                                        \
		STAY();                                                                                                \
		block = CALL(void *, name, types) after;                                                               \
		STAY();                                                                                                \
		return block;                                                                                          \
	}

MAKE(malloc, (size_t), (size))
MAKE(calloc, (size_t, size_t), (size / 8, 8))
REMAKE(realloc, (void *, size_t), (NULL, size + 1000), (block, size))
MAKE(aligned_alloc, (size_t, size_t), (ALIGNMENT, size))
MAKE(memalign, (size_t, size_t), (ALIGNMENT, size))
MAKE(valloc, (size_t), (size))
MAKE(pvalloc, (size_t), (size))
REMAKE(reallocarray, (void *, size_t, size_t), (NULL, size, 3), (block, size / 8, 8))
SITE void *site_posix_memalign(size_t size)
{
	void *block = NULL;

	if (posix_memalign(&block, ALIGNMENT, size))
		abort();
	STAY();
	return block;
}

#define JEMALLOC(prefix)                                                                                               \
	MAKE(prefix##mallocx, (size_t, int), (size, 0))                                                                \
	REMAKE(prefix##rallocx, (void *, size_t, int),                                                                 \
	       (CALL(void *, prefix##mallocx, (size_t, int))(size * 3, 0), size * 2, 0), (block, size, 0))
// The mallocx and both rallocx are calls of the site.
JEMALLOC()
// Grows and shrinks in place as far as it goes: a block of 40,000 bytes may use what its class has.
SITE void *site_xallocx(size_t size)
{
	void *block = CALL(void *, mallocx, (size_t, int))(200000, 0);

	STAY();
	if (CALL(size_t, xallocx, (void *, size_t, size_t, int))(block, size + 190000, 0, 0) < size + 190000)
		abort();
	STAY();
	return block;
}

MAKE(tc_malloc, (size_t), (size))
MAKE(tc_malloc_skip_new_handler, (size_t), (size))
MAKE(tc_calloc, (size_t, size_t), (size / 8, 8))
MAKE(tc_memalign, (size_t, size_t), (ALIGNMENT, size))
MAKE(tc_valloc, (size_t), (size))
MAKE(tc_new, (size_t), (size))
MAKE(tc_newarray, (size_t), (size))
MAKE(tc_new_nothrow, (size_t, const std::nothrow_t &), (size, std::nothrow))
MAKE(tc_newarray_nothrow, (size_t, const std::nothrow_t &), (size, std::nothrow))
MAKE(tc_new_aligned, (size_t, size_t), (size, ALIGNMENT))
MAKE(tc_newarray_aligned_nothrow, (size_t, size_t, const std::nothrow_t &), (size, ALIGNMENT, std::nothrow))

static void *heap() { return CALL(void *, mi_heap_get_default, ())(); }

MAKE(mi_malloc, (size_t), (size))
MAKE(mi_malloc_small, (size_t), (size))
MAKE(mi_zalloc, (size_t), (size))
MAKE(mi_zalloc_small, (size_t), (size))
MAKE(mi_calloc, (size_t, size_t), (size / 8, 8))
MAKE(mi_mallocn, (size_t, size_t), (size / 8, 8))
REMAKE(mi_realloc, (void *, size_t), (NULL, 8 * size), (block, size))
REMAKE(mi_reallocn, (void *, size_t, size_t), (NULL, size, 3), (block, size / 8, 8))
REMAKE(mi_reallocf, (void *, size_t), (NULL, size * 9), (block, size))
REMAKE(mi_rezalloc, (void *, size_t), (NULL, size / 8), (block, size))
REMAKE(mi_recalloc, (void *, size_t, size_t), (NULL, size, 5), (block, size / 8, 8))
MAKE(mi_malloc_aligned, (size_t, size_t), (size, ALIGNMENT))
MAKE(mi_malloc_aligned_at, (size_t, size_t, size_t), (size, ALIGNMENT, 8))
MAKE(mi_zalloc_aligned, (size_t, size_t), (size, ALIGNMENT))
MAKE(mi_zalloc_aligned_at, (size_t, size_t, size_t), (size, ALIGNMENT, 8))
MAKE(mi_calloc_aligned, (size_t, size_t, size_t), (size / 8, 8, ALIGNMENT))
MAKE(mi_calloc_aligned_at, (size_t, size_t, size_t, size_t), (size / 8, 8, ALIGNMENT, 8))
REMAKE(mi_realloc_aligned, (void *, size_t, size_t), (NULL, size * 4, ALIGNMENT), (block, size, ALIGNMENT))
REMAKE(mi_realloc_aligned_at, (void *, size_t, size_t, size_t), (NULL, size * 4, ALIGNMENT, 8),
       (block, size, ALIGNMENT, 8))
REMAKE(mi_recalloc_aligned, (void *, size_t, size_t, size_t), (NULL, size, 7, ALIGNMENT),
       (block, size / 8, 8, ALIGNMENT))
MAKE(mi_aligned_alloc, (size_t, size_t), (ALIGNMENT, size / ALIGNMENT * ALIGNMENT))
MAKE(mi_memalign, (size_t, size_t), (ALIGNMENT, size))
MAKE(mi_heap_malloc, (void *, size_t), (heap(), size))
MAKE(mi_heap_malloc_small, (void *, size_t), (heap(), size))
MAKE(mi_heap_zalloc, (void *, size_t), (heap(), size))
MAKE(mi_heap_calloc, (void *, size_t, size_t), (heap(), size / 8, 8))
MAKE(mi_heap_mallocn, (void *, size_t, size_t), (heap(), size / 8, 8))
REMAKE(mi_heap_realloc, (void *, void *, size_t), (heap(), NULL, size * 4), (heap(), block, size))
REMAKE(mi_heap_recalloc, (void *, void *, size_t, size_t), (heap(), NULL, size, 4), (heap(), block, size / 8, 8))
MAKE(mi_heap_malloc_aligned, (void *, size_t, size_t), (heap(), size, ALIGNMENT))
MAKE(mi_heap_malloc_aligned_at, (void *, size_t, size_t, size_t), (heap(), size, ALIGNMENT, 8))
MAKE(mi_heap_calloc_aligned_at, (void *, size_t, size_t, size_t, size_t), (heap(), size / 8, 8, ALIGNMENT, 8))
REMAKE(mi_heap_recalloc_aligned_at, (void *, void *, size_t, size_t, size_t, size_t),
       (heap(), NULL, size, 4, ALIGNMENT, 8), (heap(), block, size / 8, 8, ALIGNMENT, 8))
MAKE(mi_new, (size_t), (size))
MAKE(mi_new_nothrow, (size_t), (size))
MAKE(mi_new_aligned, (size_t, size_t), (size, ALIGNMENT))
MAKE(mi_new_aligned_nothrow, (size_t, size_t), (size, ALIGNMENT))
MAKE(mi_new_n, (size_t, size_t), (size / 8, 8))
REMAKE(mi_new_realloc, (void *, size_t), (NULL, size * 5), (block, size))
REMAKE(mi_new_reallocn, (void *, size_t, size_t), (NULL, size, 5), (block, size / 8, 8))
MAKE(mi_heap_alloc_new, (void *, size_t), (heap(), size))
MAKE(mi_heap_alloc_new_n, (void *, size_t, size_t), (heap(), size / 8, 8))
SITE void *site_mi_expand(size_t size)
{
	void *block = CALL(void *, mi_malloc, (size_t))(size + 7);

	STAY();
	if (CALL(void *, mi_expand, (void *, size_t))(block, 1 << 20)) // no
		abort();
	if (CALL(void *, mi_expand, (void *, size_t))(block, size) != block)
		abort();
	STAY();
	return block;
}
SITE void *site_mi_reallocarr(size_t size)
{
	void *block = NULL;

	if (CALL(int, mi_reallocarr, (void **, size_t, size_t))(&block, size, 5) ||
	    CALL(int, mi_reallocarr, (void **, size_t, size_t))(&block, size / 8, 8))
		abort();
	STAY();
	return block;
}
static char text[4096];
static const char *text_of(size_t size) { return text + sizeof(text) - size; }
MAKE(mi_strdup, (const char *), (text_of(size)))
MAKE(mi_strndup, (const char *, size_t), (text, size - 1))
MAKE(mi_heap_strdup, (void *, const char *), (heap(), text_of(size)))

SITE void *site_new(size_t size)
{
	void *block = ::operator new(size);
	STAY();
	return block;
}
SITE void *site_new_array(size_t size)
{
	void *block = ::operator new[](size);
	STAY();
	return block;
}
SITE void *site_new_nothrow(size_t size)
{
	void *block = ::operator new(size, std::nothrow);
	STAY();
	return block;
}
SITE void *site_new_array_nothrow(size_t size)
{
	void *block = ::operator new[](size, std::nothrow);
	STAY();
	return block;
}
SITE void *site_new_aligned(size_t size)
{
	void *block = ::operator new(size, std::align_val_t(ALIGNMENT));
	STAY();
	return block;
}
SITE void *site_new_array_aligned(size_t size)
{
	void *block = ::operator new[](size, std::align_val_t(ALIGNMENT));
	STAY();
	return block;
}
SITE void *site_new_aligned_nothrow(size_t size)
{
	void *block = ::operator new(size, std::align_val_t(ALIGNMENT), std::nothrow);

	STAY();
	return block;
}
SITE void *site_new_array_aligned_nothrow(size_t size)
{
	void *block = ::operator new[](size, std::align_val_t(ALIGNMENT), std::nothrow);

	STAY();
	return block;
}

#define ENTRY(name, groups)                                                                                            \
	{                                                                                                              \
#name, site_##name, groups, #name, 0, 0, 0, 0, { 0 }, { 0 }                                            \
	}
#define ALWAYS(name, groups)                                                                                           \
	{                                                                                                              \
#name, site_##name, groups, NULL, 0, 0, 0, 0, { 0 }, { 0 }                                             \
	}
static struct site sites[] = {
	ENTRY(malloc, PLAIN),
	ENTRY(calloc, PLAIN),
	ENTRY(realloc, PLAIN),
	ENTRY(aligned_alloc, ALIGNED),
	ENTRY(memalign, ALIGNED),
	ENTRY(valloc, ALIGNED),
	ENTRY(pvalloc, ALIGNED),
	ENTRY(reallocarray, PLAIN),
	ALWAYS(posix_memalign, ALIGNED),
	ENTRY(mallocx, PLAIN),
	ENTRY(rallocx, PLAIN),
	ENTRY(xallocx, ALIGNED),
	ENTRY(tc_malloc, PLAIN),
	ENTRY(tc_malloc_skip_new_handler, PLAIN),
	ENTRY(tc_calloc, PLAIN),
	ENTRY(tc_memalign, ALIGNED),
	ENTRY(tc_valloc, ALIGNED),
	ENTRY(tc_new, PLAIN),
	ENTRY(tc_newarray, PLAIN),
	ENTRY(tc_new_nothrow, PLAIN),
	ENTRY(tc_newarray_nothrow, PLAIN),
	ENTRY(tc_new_aligned, OPERATOR_ALIGNED),
	ENTRY(tc_newarray_aligned_nothrow, OPERATOR_ALIGNED),
	ENTRY(mi_malloc, PLAIN),
	ENTRY(mi_malloc_small, PLAIN),
	ENTRY(mi_zalloc, PLAIN),
	ENTRY(mi_zalloc_small, PLAIN),
	ENTRY(mi_calloc, PLAIN),
	ENTRY(mi_mallocn, PLAIN),
	ENTRY(mi_realloc, PLAIN),
	ENTRY(mi_reallocn, PLAIN),
	ENTRY(mi_reallocf, PLAIN),
	ENTRY(mi_rezalloc, PLAIN),
	ENTRY(mi_recalloc, PLAIN),
	ENTRY(mi_malloc_aligned, ALIGNED),
	ENTRY(mi_malloc_aligned_at, ALIGNED),
	ENTRY(mi_zalloc_aligned, ALIGNED),
	ENTRY(mi_zalloc_aligned_at, ALIGNED),
	ENTRY(mi_calloc_aligned, ALIGNED),
	ENTRY(mi_calloc_aligned_at, ALIGNED),
	ENTRY(mi_realloc_aligned, ALIGNED),
	ENTRY(mi_realloc_aligned_at, ALIGNED),
	ENTRY(mi_recalloc_aligned, ALIGNED),
	ENTRY(mi_aligned_alloc, ALIGNED),
	ENTRY(mi_memalign, ALIGNED),
	ENTRY(mi_heap_malloc, PLAIN),
	ENTRY(mi_heap_malloc_small, PLAIN),
	ENTRY(mi_heap_zalloc, PLAIN),
	ENTRY(mi_heap_calloc, PLAIN),
	ENTRY(mi_heap_mallocn, PLAIN),
	ENTRY(mi_heap_realloc, PLAIN),
	ENTRY(mi_heap_recalloc, PLAIN),
	ENTRY(mi_heap_malloc_aligned, ALIGNED),
	ENTRY(mi_heap_malloc_aligned_at, ALIGNED),
	ENTRY(mi_heap_calloc_aligned_at, ALIGNED),
	ENTRY(mi_heap_recalloc_aligned_at, ALIGNED),
	ENTRY(mi_new, PLAIN),
	ENTRY(mi_new_nothrow, PLAIN),
	ENTRY(mi_new_aligned, OPERATOR_ALIGNED),
	ENTRY(mi_new_aligned_nothrow, OPERATOR_ALIGNED),
	ENTRY(mi_new_n, PLAIN),
	ENTRY(mi_new_realloc, PLAIN),
	ENTRY(mi_new_reallocn, PLAIN),
	ENTRY(mi_heap_alloc_new, PLAIN),
	ENTRY(mi_heap_alloc_new_n, PLAIN),
	ENTRY(mi_expand, PLAIN),
	ENTRY(mi_reallocarr, PLAIN),
	ENTRY(mi_strdup, PLAIN),
	ENTRY(mi_strndup, PLAIN),
	ENTRY(mi_heap_strdup, PLAIN),
	ALWAYS(new, PLAIN),
	ALWAYS(new_array, PLAIN),
	ALWAYS(new_nothrow, PLAIN),
	ALWAYS(new_array_nothrow, PLAIN),
	ALWAYS(new_aligned, OPERATOR_ALIGNED),
	ALWAYS(new_array_aligned, OPERATOR_ALIGNED),
	ALWAYS(new_aligned_nothrow, OPERATOR_ALIGNED),
	ALWAYS(new_array_aligned_nothrow, OPERATOR_ALIGNED),
};
enum { SITES = sizeof(sites) / sizeof(sites[0]) };

#define DROP(name, types, arguments)                                                                                   \
	[](void *block, size_t size) {                                                                                 \
		(void)size;                                                                                            \
		CALL(void, name, types) arguments;                                                                     \
	}
static const struct drop drops[] = {
	{ [](void *block, size_t) { free(block); }, PLAIN | ALIGNED | OPERATOR_ALIGNED, NULL },
	{ DROP(cfree, (void *), (block)), PLAIN | ALIGNED, "cfree" },
	{ DROP(realloc, (void *, size_t), (CALL(void *, realloc, (void *, size_t))(block, 2000), 0)), 0, NULL },
	{ DROP(dallocx, (void *, int), (block, 0)), PLAIN | ALIGNED, "dallocx" },
	{ DROP(sdallocx, (void *, size_t, int), (block, size, 0)), PLAIN, "sdallocx" },
	{ DROP(tc_free, (void *), (block)), PLAIN, "tc_free" },
	{ DROP(tc_free_sized, (void *, size_t), (block, size)), PLAIN, "tc_free_sized" },
	{ DROP(tc_deletearray_nothrow, (void *, const std::nothrow_t &), (block, std::nothrow)), PLAIN,
	  "tc_deletearray_nothrow" },
	{ DROP(mi_free, (void *), (block)), PLAIN | ALIGNED, "mi_free" },
	{ DROP(mi_cfree, (void *), (block)), PLAIN | ALIGNED, "mi_cfree" },
	{ DROP(mi_free_size, (void *, size_t), (block, size)), PLAIN, "mi_free_size" },
	{ DROP(mi_free_aligned, (void *, size_t), (block, ALIGNMENT)), OPERATOR_ALIGNED, "mi_free_aligned" },
	{ [](void *block, size_t) { ::operator delete(block); }, PLAIN, NULL },
	{ [](void *block, size_t size) { ::operator delete(block, size); }, PLAIN, NULL },
	{ [](void *block, size_t) { ::operator delete(block, std::nothrow); }, PLAIN, NULL },
	{ [](void *block, size_t) { ::operator delete[](block); }, PLAIN, NULL },
	{ [](void *block, size_t size) { ::operator delete[](block, size); }, PLAIN, NULL },
	{ [](void *block, size_t) { ::operator delete(block, std::align_val_t(ALIGNMENT)); }, OPERATOR_ALIGNED, NULL },
	{ [](void *block, size_t size) { ::operator delete(block, size, std::align_val_t(ALIGNMENT)); },
	  OPERATOR_ALIGNED, NULL },
	{ [](void *block, size_t) { ::operator delete[](block, std::align_val_t(ALIGNMENT), std::nothrow); },
	  OPERATOR_ALIGNED, NULL },
	{ [](void *block, size_t size) { ::operator delete[](block, size, std::align_val_t(ALIGNMENT)); },
	  OPERATOR_ALIGNED, NULL },
};
enum { DROPS = sizeof(drops) / sizeof(drops[0]) };

static bool is_there(const char *function) { return !function || found(function); }

// How often the site calls functions that make blocks or change them, for one block that it leaves.
static unsigned calls_of(const struct site *site)
{
	const char *name = site->name;

	if (strcmp(name, "mi_expand") == 0) // one of its calls fails
		return 2;
	if (strcmp(name, "rallocx") == 0)
		return 3;
	return strcmp(name, "xallocx") == 0 || strstr(name, "realloc") || strstr(name, "rezalloc") ||
			       strstr(name, "recalloc")
		       ? 2
		       : 1;
}

static size_t size_left(const struct site *site, size_t size)
{
	if (strcmp(site->name, "xallocx") == 0)
		return size + 190000;
	return strcmp(site->name, "mi_aligned_alloc") == 0 ? size / ALIGNMENT * ALIGNMENT : size;
}

static size_t next_size()
{
	static unsigned number;

	return 64 + 8 * (number++ % 61); // up to 544: mi_malloc_small takes no more than 1024
}

static void *make(struct site *site, size_t size)
{
	void *block = site->make(size);

	if (!block || (site->groups & OPERATOR_ALIGNED && reinterpret_cast<uintptr_t>(block) % ALIGNMENT))
		abort();
	site->calls += calls_of(site);
	return block;
}

static void work_site(struct site *site)
{
	for (int i = 0; i < DROPS; i++) {
		if (!(drops[i].groups & site->groups) || !is_there(drops[i].function))
			continue;
		for (int j = 0; j < 3; j++) {
			size_t size = next_size();

			drops[i].call(make(site, size), size_left(site, size));
		}
	}
	for (int i = 0; i < 8; i++) {
		size_t size = next_size();

		site->block[i] = make(site, size);
		site->size[i] = size_left(site, size);
		if (!strstr(site->name, "dup"))
			memset(site->block[i], 'a' + i, site->size[i]);
		site->live_objects++;
		site->live_bytes += site->size[i];
		site->rounded_bytes += (site->size[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
	printf("{\"site\": \"site_%s\", \"objects\": %lu, \"bytes\": %lu, \"rounded\": %lu, \"calls\": %lu}\n",
	       site->name, site->live_objects, site->live_bytes, site->rounded_bytes, site->calls);
}

static void work()
{
	int count = 0;

	for (int i = 0; i < SITES; i++) {
		if (is_there(sites[i].function)) {
			work_site(&sites[i]);
			count++;
		}
	}
	printf("{\"end\": %d}\n", count);
}

static void finish()
{
	for (int i = 0; i < SITES; i++) {
		for (int j = 0; j < 8; j++) {
			unsigned char *block = static_cast<unsigned char *>(sites[i].block[j]);

			if (!block)
				continue;
			for (size_t k = 0; k < sites[i].size[j] && !strstr(sites[i].name, "dup"); k++)
				if (block[k] != 'a' + j)
					abort();
			free(block);
			sites[i].block[j] = NULL;
		}
		sites[i].calls = sites[i].live_objects = sites[i].live_bytes = sites[i].rounded_bytes = 0;
	}
	puts("ok");
}

enum { EARLY = 300 };
static void *early[EARLY];
static size_t early_size[EARLY];

static void make_early()
{
	size_t bytes = 0;

	for (int i = 0; i < EARLY; i++) {
		early_size[i] = 10 + (size_t)i * 7;
		early[i] = malloc(early_size[i]);
		bytes += early_size[i];
	}
	printf("{\"count\": %d, \"bytes\": %zu}\n", EARLY, bytes);
}

// A third by free, a third by delete, a third by sized delete, which says the size.
static void drop_early()
{
	size_t sized_bytes = 0, bytes = 0;
	int sized = 0;

	for (int i = 0; i < EARLY; i++) {
		bytes += early_size[i];
		if (i % 3 == 0)
			free(early[i]);
		if (i % 3 == 1)
			::operator delete(early[i]);
		if (i % 3 == 2) {
			::operator delete(early[i], early_size[i]);
			sized_bytes += early_size[i];
			sized++;
		}
	}
	printf("{\"count\": %d, \"bytes\": %zu, \"sized\": %d, \"sized_bytes\": %zu}\n", EARLY, bytes, sized,
	       sized_bytes);
}

static void grow_early()
{
	size_t bytes = 0;

	for (int i = 0; i < EARLY; i++) {
		bytes += early_size[i];
		free(realloc(early[i], 5000));
	}
	printf("{\"count\": %d, \"bytes\": %zu}\n", EARLY, bytes);
}

// Operators that fail.

static const size_t huge = (size_t)1 << 62;
static int handler_calls;

static void throw_bad_alloc()
{
	handler_calls++;
	throw std::bad_alloc();
}
static void throw_number()
{
	handler_calls++;
	throw 42;
}
static void throw_at_last()
{
	free(malloc(100)); // handlers may allocate
	if (++handler_calls == 3)
		throw std::bad_alloc();
}
static void change_handler()
{
	handler_calls++;
	std::set_new_handler(throw_number);
}

static void try_operator(void *(*make_huge)(), std::new_handler handler, const char *name)
{
	const char *end = "null";

	handler_calls = 0;
	std::set_new_handler(handler);
	try {
		if (make_huge())
			end = "a block";
	} catch (const std::bad_alloc &) {
		end = "bad_alloc";
	} catch (int number) {
		end = number == 42 ? "42" : "another number";
	}
	std::set_new_handler(NULL);
	printf("%s:%s:%d ", name, end, handler_calls);
}

// mimalloc in C has a get_new_handler of its own that knows of no handler, and then ends the program.
static void throw_all()
{
	static void *(*const throwing[])() = {
		[] { return ::operator new(huge); },
		[] { return ::operator new[](huge); },
		[] { return ::operator new(huge, std::align_val_t(ALIGNMENT)); },
		[] { return ::operator new[](huge, std::align_val_t(ALIGNMENT)); },
	};
	static void *(*const nothrow[])() = {
		[] { return ::operator new(huge, std::nothrow); },
		[] { return ::operator new[](huge, std::nothrow); },
		[] { return ::operator new(huge, std::align_val_t(ALIGNMENT), std::nothrow); },
	};
	bool is_mimalloc = found("mi_malloc") != NULL;

	for (auto make_huge : throwing) {
		if (is_mimalloc)
			break;
		try_operator(make_huge, NULL, "none");
		try_operator(make_huge, throw_bad_alloc, "bad");
		try_operator(make_huge, throw_number, "number");
		try_operator(make_huge, throw_at_last, "last");
		try_operator(make_huge, change_handler, "change");
	}
	for (auto make_huge : nothrow) {
		try_operator(make_huge, NULL, "nothrow");
		try_operator(make_huge, throw_bad_alloc, "nothrow bad");
	}
	puts("");
}

int main()
{
	static char output_buffer[1 << 16], input_buffer[256];
	char line[64];

	setvbuf(stdout, output_buffer, _IOFBF, sizeof(output_buffer));
	setvbuf(stdin, input_buffer, _IOFBF, sizeof(input_buffer));
	memset(text, 't', sizeof(text) - 1);
	for (int i = 0; i < SITES; i++)
		if (sites[i].function)
			found(sites[i].function);
	for (int i = 0; i < DROPS; i++)
		if (drops[i].function)
			found(drops[i].function);
	for (const char *name : { "xallocx", "mi_heap_get_default", "realloc", "mallocx", "mi_malloc" })
		found(name);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "early\n") == 0)
			make_early();
		if (strcmp(line, "work\n") == 0)
			work();
		if (strcmp(line, "finish\n") == 0)
			finish();
		if (strcmp(line, "drop\n") == 0)
			drop_early();
		if (strcmp(line, "grow\n") == 0)
			grow_early();
		if (strcmp(line, "throw\n") == 0)
			throw_all();
		fflush(stdout);
	}
	return 0;
}
