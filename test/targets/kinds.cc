// SPDX-License-Identifier: Apache-2.0
// Blocks of which it knows by which function each was made last. Commands:
//   keep    makes blocks by each function, each of a size of its own, and keeps them; prints {"kind", "objects",
//           "bytes"} for each, then {"end": kinds}
//   drop    gives them all back; prints "dropped"
#include <cstdio>
#include <cstdlib>
#include <new>

#include "commands.h"

#ifdef OWN_OPERATORS // each with a frame of its own
__attribute__((always_inline)) static inline void *get(size_t size)
{
	void *volatile block = malloc(size);

	if (!block)
		throw std::bad_alloc();
	return block;
}

__attribute__((noipa)) void *operator new(size_t size) { return get(size); }
__attribute__((noipa)) void *operator new[](size_t size) { return get(size); }
void operator delete(void *block) noexcept { free(block); }
void operator delete(void *block, size_t) noexcept { free(block); }
void operator delete[](void *block) noexcept { free(block); }
void operator delete[](void *block, size_t) noexcept { free(block); }
#endif

typedef void *(*maker)(size_t size);

static void *by_malloc(size_t size) { return malloc(size); }
static void *by_calloc(size_t size) { return calloc(1, size); }
static void *by_realloc(size_t size) { return realloc(malloc(size / 2), size); }
static void *by_reallocarray(size_t size) { return reallocarray(calloc(1, 8), 1, size); }
static void *by_first_realloc(size_t size) { return realloc(nullptr, size); }
static void *by_aligned_alloc(size_t size) { return aligned_alloc(64, size); }
static void *by_new(size_t size) { return ::operator new(size); }
static void *by_new_array(size_t size) { return ::operator new[](size); }
static void *by_new_nothrow(size_t size) { return ::operator new(size, std::nothrow); }

static void *by_posix_memalign(size_t size)
{
	void *block = nullptr;

	return posix_memalign(&block, 64, size) == 0 ? block : nullptr;
}

static void by_free(void *block) { free(block); }
static void by_delete(void *block) { ::operator delete(block); }
static void by_delete_array(void *block) { ::operator delete[](block); }

static const struct {
	const char *kind;
	maker make;
	void (*drop)(void *block);
	size_t count, size;
} kinds[] = {
	{ "malloc", by_malloc, by_free, 11, 32 },
	{ "calloc", by_calloc, by_free, 13, 80 },
	{ "realloc", by_realloc, by_free, 17, 160 },
	{ "realloc", by_first_realloc, by_free, 5, 192 },
	{ "reallocarray", by_reallocarray, by_free, 19, 320 },
	{ "aligned_alloc", by_aligned_alloc, by_free, 23, 640 },
	{ "posix_memalign", by_posix_memalign, by_free, 29, 1280 },
	{ "operator new", by_new, by_delete, 31, 2560 },
	{ "operator new", by_new_nothrow, by_delete, 7, 2600 },
	{ "operator new[]", by_new_array, by_delete_array, 37, 5120 },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), MOST = 64 };

static void *volatile kept[KINDS][MOST];

int main()
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		const bool keep = strcmp(command, "keep") == 0;

		for (size_t kind = 0; kind < KINDS; kind++) {
			for (size_t i = 0; i < kinds[kind].count; i++)
				if (keep && !(kept[kind][i] = kinds[kind].make(kinds[kind].size)))
					return 2;
				else if (!keep)
					kinds[kind].drop(kept[kind][i]);
			if (keep)
				printf("{\"kind\": \"%s\", \"objects\": %zu, \"bytes\": %zu}\n", kinds[kind].kind,
				       kinds[kind].count, kinds[kind].count * kinds[kind].size);
		}
		if (keep)
			printf("{\"end\": %zu}\n", static_cast<size_t>(KINDS));
		else
			puts("dropped");
	}
	return 0;
}
