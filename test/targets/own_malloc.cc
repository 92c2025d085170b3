// SPDX-License-Identifier: Apache-2.0
// A program whose malloc does what the C library's never does: where it is told to, it throws, or writes to a pipe (a
// cancellation point); and it keeps the address that it was called from. It stands on the C library's; ALONE: on memory
// of its own. Commands on standard input:
//   work     makes blocks and gives all but some back; prints {"objects", "bytes", "calls"}
//   finish   gives the rest back; prints "ok"
//   cancel   a thread that is in malloc, below a destructor and a lock, is cancelled; prints what of these ran
//   throw    malloc throws below the same; prints what of these ran, and what was caught
//   caller   prints whether malloc was called from where it is called from
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#include "commands.h"

#define STAY() __asm__ volatile("" ::: "memory") // no tail call

enum { KEPT = 16, WORK = 200, SIZE = 24 };

struct own_exception {
};

static int pipe_ends[2];
static volatile int is_inside, touched; // `touched`: before anything is called, so that there is room for a hook
static thread_local volatile int what;  // 0 = a block, 1 = write first, 2 = throw
static thread_local void *volatile caller;

#ifdef ALONE
// Blocks of one size have a list of those that are free; all others are never used again.
static char memory[1 << 24] __attribute__((aligned(64)));
static size_t used;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

struct head {
	size_t size, unused;
};
static head *freed; // of SIZE

static inline __attribute__((always_inline)) void *take(size_t size, size_t alignment = 16)
{
	char *block = nullptr;

	pthread_mutex_lock(&memory_lock);
	if (size == SIZE && freed) {
		block = reinterpret_cast<char *>(freed + 1);
		memcpy(&freed, block, sizeof(freed));
	} else if (size < sizeof(memory) / 2) {
		size_t start = (used + sizeof(head) + alignment - 1) & ~(alignment - 1);

		if (start + size <= sizeof(memory)) {
			block = memory + start;
			reinterpret_cast<head *>(block)[-1].size = size;
			used = start + size;
		}
	}
	pthread_mutex_unlock(&memory_lock);
	return block;
}

static inline __attribute__((always_inline)) void give(void *block)
{
	head *mine = static_cast<head *>(block) - 1;

	if (!block || mine->size != SIZE)
		return;
	pthread_mutex_lock(&memory_lock);
	memcpy(block, &freed, sizeof(freed));
	freed = mine;
	pthread_mutex_unlock(&memory_lock);
}

static inline __attribute__((always_inline)) void *take_again(void *block, size_t size)
{
	void *other = take(size);
	size_t old = block ? static_cast<head *>(block)[-1].size : 0;

	if (other && block) {
		memcpy(other, block, old < size ? old : size);
		give(block);
	}
	return other;
}
#else
extern "C" void *__libc_malloc(size_t size);
extern "C" void *__libc_realloc(void *block, size_t size);
extern "C" void __libc_free(void *block);
static inline void *take(size_t size) { return __libc_malloc(size); }
static inline void give(void *block) { __libc_free(block); }
static inline void *take_again(void *block, size_t size) { return __libc_realloc(block, size); }
#endif

static __attribute__((noinline)) void be_told()
{
	char page[4096] = "";

	is_inside = 1;
	if (what == 2) {
		what = 0; // the exception is allocated
		throw own_exception();
	}
	while (what == 1 && write(pipe_ends[1], page, sizeof(page)) > 0)
		;
}

// Not by their names: the headers say that these do not throw.
extern "C" __attribute__((noipa)) void *own_malloc(size_t size) __asm__("malloc");
extern "C" __attribute__((noipa)) void *own_malloc(size_t size)
{
	caller = __builtin_return_address(0);
	if (what)
		be_told();
	return take(size);
}

extern "C" __attribute__((noipa)) void own_free(void *block) __asm__("free");
extern "C" __attribute__((noipa)) void own_free(void *block)
{
	touched = 0;
	give(block);
}

extern "C" __attribute__((noipa)) void *own_calloc(size_t count, size_t size) __asm__("calloc");
extern "C" __attribute__((noipa)) void *own_calloc(size_t count, size_t size)
{
	void *block;

	touched = 0;
	block = take(count * size);
	return block ? memset(block, 0, count * size) : block;
}

extern "C" __attribute__((noipa)) void *own_realloc(void *block, size_t size) __asm__("realloc");
extern "C" __attribute__((noipa)) void *own_realloc(void *block, size_t size)
{
	touched = 0;
	return take_again(block, size);
}

#ifdef ALONE
extern "C" __attribute__((noipa)) void *own_memalign(size_t alignment, size_t size) __asm__("memalign");
extern "C" __attribute__((noipa)) void *own_memalign(size_t alignment, size_t size)
{
	touched = 0;
	return take(size + 1, alignment);
}
#endif

static void *kept[KEPT];

extern "C" __attribute__((noipa)) void *site_work(size_t size)
{
	void *block = own_malloc(size);
	STAY();
	return block;
}

static void work()
{
	for (int i = 0; i < WORK; i++) {
		void *block = site_work(SIZE);

		if (i < KEPT)
			kept[i] = block;
		else
			own_free(block);
	}
	printf("{\"objects\": %d, \"bytes\": %d, \"calls\": %d}\n{\"end\": 1}\n", (int)KEPT, (int)KEPT * SIZE,
	       (int)WORK);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int destructors;

struct guard {
	guard() { pthread_mutex_lock(&lock); }
	~guard()
	{
		destructors++;
		pthread_mutex_unlock(&lock);
	}
};

static __attribute__((noipa)) void leave()
{
	guard held;

	own_free(site_work(SIZE));
}

static void *cancelled(void *)
{
	what = 1;
	leave();
	return nullptr;
}

static void say(const char *how)
{
	bool is_free = pthread_mutex_trylock(&lock) == 0;

	if (!is_free)
		pthread_mutex_init(&lock, nullptr);
	else
		pthread_mutex_unlock(&lock);
	printf("%s, destructors %d, lock %s\n", how, destructors, is_free ? "free" : "held");
	destructors = 0;
}

static void cancel()
{
	pthread_t thread;
	void *result;

	is_inside = 0;
	pthread_create(&thread, nullptr, cancelled, nullptr);
	while (!is_inside)
		usleep(1000);
	usleep(20000); // so that the pipe is full, and it sleeps
	pthread_cancel(thread);
	pthread_join(thread, &result);
	say(result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

static void throw_through()
{
	const char *how = "returned";

	what = 2;
	try {
		leave();
	} catch (const own_exception &) {
		how = "caught";
	}
	say(how);
}

static void ask_caller()
{
	uintptr_t start = reinterpret_cast<uintptr_t>(site_work), seen;
	void *block = site_work(SIZE);

	seen = reinterpret_cast<uintptr_t>(caller);
	own_free(block);
	puts(seen > start && seen < start + 64 ? "its caller" : "another");
}

int main()
{
	static const struct {
		const char *name;
		void (*run)();
	} commands[] = { { "work", work }, { "cancel", cancel }, { "throw", throw_through }, { "caller", ask_caller } };
	const char *command;

	if (pipe(pipe_ends) != 0)
		return 1;
	say_ready();
	while ((command = next_command())) {
		for (const auto &known : commands)
			if (strcmp(command, known.name) == 0)
				known.run();
		if (strcmp(command, "finish") == 0) {
			for (void *block : kept)
				own_free(block);
			puts("ok");
		}
	}
	return 0;
}
