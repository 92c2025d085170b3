// SPDX-License-Identifier: Apache-2.0
// C++ operators of a program's own that never call malloc: blocks are cut from mapped memory, from lists, without a
// call in the usual case. Variants:
//   (none)      operator new calls the new-handler and throws
//   NO_THROW    it ends the program instead, and nothing in the program throws (-fno-exceptions)
//   JUMPS       operators end with a jump through a table of functions, as Chromium's nothrow forms do
//   MIXED       large blocks come from malloc, small ones do not
// Commands on standard input:
//   work        each site makes blocks and gives most of them back; prints {"site", "objects", "bytes", "calls"} for
//               each, then {"end": sites}
//   finish      gives the rest back; prints "ok"
//   fail        operators that fail: handlers that make room, throw, jump away, allocate; prints what came of it and of
//               blocks made in between
//   coroutine   the same at site_coroutine, on a stack of the program's own
//   threads     four threads make and give back blocks; prints "ok" when their contents were right
//   hold        makes 40,000 blocks; prints {"blocks", "bytes"}
//   free        gives them back; prints "freed"
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "commands.h"

#define SITE     extern "C" __attribute__((noipa))
#define OPERATOR __attribute__((noipa))
#define STAY()   __asm__ volatile("" ::: "memory") // no tail call

enum { CLASSES = 8, LEAST = 64, LARGE = LEAST << (CLASSES - 1), HEADER = 16, KEPT = 16, WORK = 200, BLOCKS = 40000 };

static thread_local char *lists[CLASSES + 1];
static const size_t most = 1 << 26; // larger ones fail
static size_t allowance;            // ... but for so many bytes, which a handler has made free
static unsigned long failures;

// A new piece of memory, cut into blocks; what it returns is one of them.
static __attribute__((noinline)) char *refill(size_t class_number, size_t size)
{
	size_t all = size > 1 << 18 ? (size + 4095) & ~(size_t)4095 : 1 << 18;
	char *memory;

	if (size > most && size > allowance) {
		failures++;
		return nullptr;
	}
	memory = static_cast<char *>(mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (size_t at = size; class_number < CLASSES && at + size <= all; at += size) {
		*reinterpret_cast<char **>(memory + at) = lists[class_number];
		lists[class_number] = memory + at;
	}
	return memory;
}

static inline size_t class_of(size_t size)
{
	size_t number = 0;

	while (number < CLASSES && (size_t)LEAST << number < size)
		number++;
	return number;
}

// The block's class stands before it.
static inline __attribute__((always_inline)) void *take(size_t asked)
{
	size_t size = asked + HEADER, number = class_of(size);
	char *start;

#ifdef MIXED
	if (number == CLASSES) {
		start = static_cast<char *>(malloc(size));
		*reinterpret_cast<size_t *>(start) = ~(size_t)0;
		return start + HEADER;
	}
#endif
	start = lists[number];
	if (__builtin_expect(start != nullptr, 1))
		lists[number] = *reinterpret_cast<char **>(start);
	else
		start = refill(number, number < CLASSES ? (size_t)LEAST << number : size);
	if (!start)
		return nullptr;
	*reinterpret_cast<size_t *>(start) = number < CLASSES ? number : CLASSES + size;
	return start + HEADER;
}

static inline __attribute__((always_inline)) void give(void *block)
{
	char *start = static_cast<char *>(block) - HEADER;
	size_t number;

	if (!block)
		return;
	number = *reinterpret_cast<size_t *>(start);
	if (number == ~(size_t)0) {
		free(start);
	} else if (number >= CLASSES) {
		munmap(start, (number - CLASSES) > 1 << 18 ? number - CLASSES : 1 << 18);
	} else {
		*reinterpret_cast<char **>(start) = lists[number];
		lists[number] = start;
	}
}

#ifdef JUMPS
static void *table_take(size_t size) { return take(size); }
static void table_give(void *block) { give(block); }
static struct {
	void *(*volatile take)(size_t);
	void (*volatile give)(void *);
} table = { table_take, table_give };

OPERATOR void *operator new(size_t size) { return table.take(size); }
OPERATOR void *operator new[](size_t size) { return table.take(size); }
OPERATOR void *operator new(size_t size, const std::nothrow_t &) noexcept { return table.take(size); }
OPERATOR void operator delete(void *block) noexcept { table.give(block); }
#else
OPERATOR void *operator new(size_t size)
{
	for (;;) {
		void *block = take(size);

		if (__builtin_expect(block != nullptr, 1))
			return block;
#ifdef NO_THROW
		abort();
#else
		std::new_handler handler = std::get_new_handler();

		if (!handler)
			throw std::bad_alloc();
		handler();
#endif
	}
}
// Not by a call of the one above.
OPERATOR void *operator new[](size_t size)
{
	void *block = take(size);

	if (!block)
#ifdef NO_THROW
		abort();
#else
		throw std::bad_alloc();
#endif
	return block;
}
OPERATOR void *operator new(size_t size, const std::nothrow_t &) noexcept
{
	void *block = take(size);

	STAY();
	return block;
}
OPERATOR void operator delete(void *block) noexcept { give(block); }
#endif
OPERATOR void operator delete(void *block, size_t) noexcept { give(block); }
OPERATOR void operator delete[](void *block) noexcept { give(block); }
OPERATOR void operator delete[](void *block, size_t) noexcept { give(block); }

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
SITE void *site_new_large(size_t size)
{
	void *block = ::operator new(size + LARGE);
	STAY();
	return block;
}
SITE void *site_malloc(size_t size)
{
	void *block = malloc(size);
	STAY();
	return block;
}
SITE void *site_coroutine(size_t size)
{
	void *block = ::operator new(size);
	STAY();
	return block;
}

static void give_plain(void *block, size_t) { ::operator delete(block); }
static void give_sized(void *block, size_t size) { ::operator delete(block, size); }
static void give_array(void *block, size_t) { ::operator delete[](block); }
static void give_malloc(void *block, size_t) { free(block); }

static struct site {
	const char *name;
	void *(*make)(size_t size);
	void (*give)(void *block, size_t size);
	size_t more;
	unsigned long calls, objects, bytes;
	void *kept[2 * KEPT];
} sites[] = {
	{ "site_new", site_new, give_plain, 0, 0, 0, 0, {} },
	{ "site_new_array", site_new_array, give_array, 0, 0, 0, 0, {} },
	{ "site_new_nothrow", site_new_nothrow, give_sized, 0, 0, 0, 0, {} },
	{ "site_new_large", site_new_large, give_sized, LARGE, 0, 0, 0, {} },
	{ "site_malloc", site_malloc, give_malloc, 0, 0, 0, 0, {} },
	{ "site_coroutine", site_coroutine, give_plain, 0, 0, 0, 0, {} },
};
enum { SITES = sizeof(sites) / sizeof(sites[0]) };

static size_t size_of(size_t number) { return 8 * (3 + 7 * number); }

static void work(struct site *site)
{
	for (size_t i = 0; i < WORK; i++) {
		size_t size = size_of(i % KEPT);
		void *block = site->make(size);

		memset(block, (int)i, size);
		site->calls++;
		if (i >= KEPT || site->kept[i]) {
			site->give(block, size + site->more);
			continue;
		}
		site->kept[i] = block;
		site->objects++;
		site->bytes += size + site->more;
	}
	printf("{\"site\": \"%s\", \"objects\": %lu, \"bytes\": %lu, \"calls\": %lu}\n", site->name, site->objects,
	       site->bytes, site->calls);
	site->calls = 0;
}

static void finish()
{
	for (size_t s = 0; s < SITES; s++) {
		for (size_t i = 0; i < KEPT; i++) {
			if (sites[s].kept[i])
				sites[s].give(sites[s].kept[i], size_of(i) + sites[s].more);
			sites[s].kept[i] = nullptr;
		}
		sites[s].objects = sites[s].bytes = 0;
	}
	puts("ok");
}

static ucontext_t main_context, other_context;

static void on_other_stack() { work(&sites[5]); }

static void coroutine()
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, on_other_stack, 0);
	swapcontext(&main_context, &other_context);
}

static void *thread(void *)
{
	for (int round = 0; round < 200; round++) {
		void *blocks[64];

		for (int i = 0; i < 64; i++) {
			blocks[i] = site_new(size_of(i % KEPT));
			memset(blocks[i], i, size_of(i % KEPT));
		}
		for (int i = 0; i < 64; i++) {
			if (static_cast<char *>(blocks[i])[size_of(i % KEPT) - 1] != i)
				abort();
			::operator delete(blocks[i]);
		}
	}
	return nullptr;
}

static void threads()
{
	pthread_t ids[4];

	for (auto &id : ids)
		pthread_create(&id, nullptr, thread, nullptr);
	for (auto &id : ids)
		pthread_join(id, nullptr);
	puts("ok");
}

#if !defined NO_THROW && !defined JUMPS && !defined MIXED
static jmp_buf away;
static void *by_handler;

struct own_exception {
};

static void handler_throws() { throw own_exception(); }
static void handler_jumps() { longjmp(away, 1); }
static void handler_makes_room()
{
	allowance = most * 2;
	by_handler = ::operator new(40);
}

// A block between two failures is the program's own.
SITE void *site_between(size_t size)
{
	void *block = ::operator new(size);
	STAY();
	return block;
}

template <typename action> static char outcome(action act)
{
	try {
		act();
		return 'r';
	} catch (const own_exception &) {
		return 'o';
	} catch (const std::bad_alloc &) {
		return 'b';
	}
}

static void fail()
{
	char text[16] = "";
	size_t length = 0;
	const size_t too_large = most + 100;
	void *between[4];

	std::set_new_handler(nullptr);
	text[length++] = outcome([&] { site_new(too_large); });
	between[0] = site_between(24);
	std::set_new_handler(handler_throws);
	text[length++] = outcome([&] { site_new(too_large); });
	between[1] = site_between(24);
	std::set_new_handler(handler_jumps);
	if (setjmp(away) == 0)
		site_new(too_large);
	else
		text[length++] = 'j';
	between[2] = site_between(24);
	std::set_new_handler(handler_makes_room);
	text[length++] = outcome([&] { ::operator delete(site_new(too_large)); });
	::operator delete(by_handler);
	allowance = 0;
	between[3] = site_between(24);
	std::set_new_handler(nullptr);
	text[length++] = outcome([&] { site_new_array(too_large); });
	text[length++] = site_new_nothrow(too_large) ? 'r' : '0';
	for (auto &block : between)
		::operator delete(block);
	printf("%s %lu\n", text, failures);
	failures = 0;
}
#else
static void fail() { puts("none"); }
#endif

static void *blocks[BLOCKS];

SITE void hold()
{
	size_t bytes = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		size_t size = 100 + i % 1000;

		blocks[i] = i % 2 ? ::operator new(size) : ::operator new[](size);
		memset(blocks[i], 1, size);
		bytes += size;
	}
	printf("{\"blocks\": %d, \"bytes\": %zu}\n", (int)BLOCKS, bytes);
}

int main()
{
	const char *command;

	say_ready();
	while ((command = next_command())) {
		if (strcmp(command, "work") == 0) {
			for (size_t i = 0; i < SITES - 1; i++)
				work(&sites[i]);
			printf("{\"end\": %d}\n", SITES - 1);
		} else if (strcmp(command, "finish") == 0) {
			finish();
		} else if (strcmp(command, "fail") == 0) {
			fail();
		} else if (strcmp(command, "coroutine") == 0) {
			coroutine();
			puts("{\"end\": 1}");
		} else if (strcmp(command, "threads") == 0) {
			threads();
		} else if (strcmp(command, "hold") == 0) {
			hold();
		} else if (strcmp(command, "free") == 0) {
			for (size_t i = 0; i < BLOCKS; i++)
				i % 2 ? ::operator delete(blocks[i]) : ::operator delete[](blocks[i]);
			puts("freed");
		}
	}
	return 0;
}
