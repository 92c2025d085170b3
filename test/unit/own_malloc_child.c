// SPDX-License-Identifier: Apache-2.0
// What own_malloc_test plans hooks for: a program with an allocator of its own, which in each variant does something
// else besides. Says "r", then waits until its input ends.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION __attribute__((noipa))
#define STAY()   __asm__ volatile("" ::: "memory") // no tail call

static char memory[1 << 20];
static size_t used;
static volatile int log_file = -1;
static void *volatile last_caller;
static volatile size_t calls; // counted first: there is room for a hook before anything is called

static FUNCTION void *take(size_t size)
{
	size_t start = used;

	size = (size + 31) & ~(size_t)15;
	if (size > sizeof(memory) - used)
		return NULL;
	used += size;
	memcpy(memory + start, &size, sizeof(size));
	return memory + start + 16;
}

#if defined(LOGS) || defined(FREE_LOGS) || defined(CALLOC_LOGS)
static FUNCTION void note(void)
{
	if (log_file >= 0 && write(log_file, "m", 1) != 1)
		log_file = -1;
}
#else
#define note() STAY()
#endif

#ifdef LOGS_ALSO_AT_END
static FUNCTION void note_too(void)
{
	if (log_file >= 0 && write(log_file, "m", 1) != 1)
		log_file = -1;
}

static FUNCTION __attribute__((noreturn)) void note_the_end(void)
{
	note_too();
	abort();
}
#endif

#ifdef FATAL
static FUNCTION void note_end(void)
{
	if (log_file >= 0 && write(log_file, "m", 1) != 1)
		log_file = -1;
	abort();
}
#endif

#ifdef THROWS_DEEP
#define THROWS
#endif

#ifdef THROWS
void __cxa_throw(void *exception, void *type, void (*destructor)(void *)) __attribute__((noreturn));

static FUNCTION __attribute__((noreturn)) void report(void) { __cxa_throw(memory, memory, NULL); }
#endif

#ifdef THROWS_BY_LIBRARY
void report(void) __asm__("_ZSt17__throw_bad_allocv");
#endif

#ifdef THROWS_DEEP
#define DEEPER(name, next)                                                                                             \
	static FUNCTION void name(int way)                                                                             \
	{                                                                                                              \
		if (way)                                                                                               \
			next(way - 1);                                                                                 \
		STAY();                                                                                                \
	}
static FUNCTION void deep_end(int way)
{
	if (way < 0)
		report();
}
DEEPER(deep_11, deep_end)
DEEPER(deep_10, deep_11)
DEEPER(deep_9, deep_10)
DEEPER(deep_8, deep_9)
DEEPER(deep_7, deep_8)
DEEPER(deep_6, deep_7)
DEEPER(deep_5, deep_6)
DEEPER(deep_4, deep_5)
DEEPER(deep_3, deep_4)
DEEPER(deep_2, deep_3)
DEEPER(deep_1, deep_2)
#endif

#ifdef ASKS_BY_LIBRARY
int backtrace(void **buffer, int size);
#endif

#ifdef POINTER
static void nothing(void) { STAY(); }
static void (*volatile hook)(void) = nothing;
#endif

#ifdef LARGE
#define STEP(n) calls += (size_t)log_file * n;
#define STEPS(n)                                                                                                       \
	STEP(n)                                                                                                        \
	STEP(n + 1)                                                                                                    \
	STEP(n + 2)                                                                                                    \
	STEP(n + 3)                                                                                                    \
	STEP(n + 4)                                                                                                    \
	STEP(n + 5)                                                                                                    \
	STEP(n + 6)                                                                                                    \
	STEP(n + 7)                                                                                                    \
	STEP(n + 8)                                                                                                    \
	STEP(n + 9)
#endif

#ifdef ASKS_BEHIND
static FUNCTION void *ask(size_t size)
{
	last_caller = __builtin_return_address(0);
	return take(size);
}
#endif

#ifdef ASKS_IN_CALL
static FUNCTION void ask(void) { last_caller = __builtin_return_address(0); }
#endif

FUNCTION void *malloc(size_t size)
{
	calls++;
#ifdef LOGS
	note();
#endif
#ifdef LOGS_ALSO_AT_END
	if (__builtin_expect(size > sizeof(memory), 1)) // so that this one comes first in the code
		note_the_end();
	note_too();
#endif
#ifdef LARGE
	STEPS(300)
	STEPS(310)
	STEPS(320)
	STEPS(330)
	STEPS(340)
	STEPS(350)
	STEPS(360)
	STEPS(370)
	STEPS(380)
	STEPS(390)
	STEPS(400)
	STEPS(410)
	STEPS(420)
	STEPS(430)
	STEPS(440)
	STEPS(450)
	STEPS(460)
	STEPS(470)
	STEPS(480)
	STEPS(490)
#endif
#ifdef POINTER
	hook();
#endif
#ifdef THROWS_DEEP
	deep_1((int)size);
#endif
#ifdef ASKS_BY_LIBRARY
	backtrace((void **)&last_caller, 1);
#endif
#ifdef FATAL
	if (size > sizeof(memory))
		note_end();
#endif
#if (defined(THROWS) && !defined(THROWS_DEEP)) || defined(THROWS_BY_LIBRARY)
	if (size > sizeof(memory))
		report();
#endif
#ifdef ASKS
	last_caller = __builtin_return_address(0);
#endif
#ifdef ASKS_IN_CALL
	ask();
#endif
#ifdef ASKS_BEHIND
	return size > sizeof(memory) ? NULL : ask(size);
#else
	return take(size);
#endif
}

FUNCTION void free(void *block)
{
	calls++;
	(void)block;
#ifdef FREE_LOGS
	note();
#endif
	STAY();
}

FUNCTION void *calloc(size_t count, size_t size)
{
	calls++;
#ifdef CALLOC_LOGS
	note();
#endif
	return take(count * size);
}

FUNCTION void *realloc(void *block, size_t size)
{
	size_t old;
	char *next;

	calls++;
	next = take(size);
	if (!next || !block)
		return next;
	memcpy(&old, (char *)block - 16, sizeof(old));
	return memcpy(next, block, old - 16 < size ? old - 16 : size);
}

FUNCTION void *memalign(size_t alignment, size_t size)
{
	uintptr_t start;

	calls++;
	start = (uintptr_t)take(size + alignment);
	return (void *)((start + alignment - 1) & ~(uintptr_t)(alignment - 1));
}

FUNCTION void *aligned_alloc(size_t alignment, size_t size)
{
	calls++;
	STAY();
	return take(size + alignment);
}

FUNCTION int posix_memalign(void **ret, size_t alignment, size_t size)
{
	calls++;
	*ret = take(size + alignment);
	return 0;
}

#ifdef CANCELS
static void *volatile reference = (void *)&pthread_cancel; // to it, so that it is called
#endif

#ifdef NAMES_UNWINDER
int _Unwind_RaiseException(void *exception);
static int (*volatile unwinder)(void *) = _Unwind_RaiseException;
#endif

int main(int argc, char **argv)
{
	char byte;

	(void)argv;
#ifdef CANCELS
	if (argc > 100)
		pthread_cancel(pthread_self());
	(void)reference;
#endif
	(void)argc;
	if (write(1, "r", 1) != 1)
		return 1;
	return read(0, &byte, 1) > 0;
}
