// SPDX-License-Identifier: Apache-2.0
// A thread that runs only while another one waits for it, and stops after any instruction that it is told to: by the
// processor's single steps (the trap flag), of which each raises SIGTRAP. Only instructions of this program count, not
// those of libraries. Or after a change of memory that is watched.
#ifndef HEAPSNAP_TEST_UNIT_STEPPED_THREAD_H
#define HEAPSNAP_TEST_UNIT_STEPPED_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct stepped_thread {
	pthread_t thread;
	sem_t go, stopped;
	void (*work)(struct stepped_thread *);
	unsigned number;
	unsigned changes,
		instructions; // how far it goes on: so many changes of what is watched, then so many instructions
	bool runs_freely;     // to its next stepped_pause, or its end
};

enum { STEPPED_PAGE = 4096, STEPPED_WATCHED_MAX = 64 };

// The pages that are watched, and what they were.
static const uint8_t *stepped_watched[STEPPED_WATCHED_MAX];
static uint8_t stepped_seen[STEPPED_WATCHED_MAX][STEPPED_PAGE];
static unsigned stepped_watched_count;

static inline void stepped_watch_nothing(void) { stepped_watched_count = 0; }

static inline void stepped_watch(const uint8_t *page)
{
	if (stepped_watched_count == STEPPED_WATCHED_MAX)
		return; // then changes there are none
	memcpy(stepped_seen[stepped_watched_count], page, STEPPED_PAGE);
	stepped_watched[stepped_watched_count++] = page;
}

// Since it was asked last.
static inline bool stepped_sees_change(void)
{
	bool changed = false;

	for (unsigned i = 0; i < stepped_watched_count; i++) {
		if (memcmp(stepped_watched[i], stepped_seen[i], STEPPED_PAGE) == 0)
			continue;
		memcpy(stepped_seen[i], stepped_watched[i], STEPPED_PAGE);
		changed = true;
	}
	return changed;
}

static _Thread_local struct stepped_thread *stepped_self;

static inline void stepped_pause(struct stepped_thread *self)
{
	sem_post(&self->stopped);
	while (sem_wait(&self->go) != 0)
		continue;
}

static inline void stepped_trap(int signal, siginfo_t *info, void *context)
{
	extern const char __executable_start, etext;
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct stepped_thread *self = stepped_self;
	const char *place = (const char *)registers[REG_RIP];

	(void)signal;
	(void)info;
	if (!self->runs_freely && place >= &__executable_start && place < &etext) {
		if (self->changes && stepped_sees_change())
			self->changes--;
		else if (!self->changes && self->instructions)
			self->instructions--;
		if (!self->changes && !self->instructions)
			stepped_pause(self);
	}
	if (self->runs_freely)
		registers[REG_EFL] &= ~(greg_t)0x100;
}

// The stack below may be in use without having been taken (the red zone).
__attribute__((noinline)) static void stepped_begin(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
				 : "cc", "memory");
}

__attribute__((noinline)) static void stepped_end(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
				 : "cc", "memory");
}

static inline void *stepped_main(void *context)
{
	struct stepped_thread *self = context;

	stepped_self = self;
	while (sem_wait(&self->go) != 0)
		continue;
	self->work(self);
	return NULL;
}

// Runs the thread until it has gone so far, or pauses by itself. pre: it stands
static inline void stepped_go_on(struct stepped_thread *thread, unsigned changes, unsigned instructions)
{
	thread->changes = changes;
	thread->instructions = instructions;
	sem_post(&thread->go);
	while (sem_wait(&thread->stopped) != 0)
		continue;
}

// It stands until it is told to go on.
static inline void stepped_create(struct stepped_thread *thread, void (*work)(struct stepped_thread *), unsigned number)
{
	struct sigaction action = { .sa_sigaction = stepped_trap, .sa_flags = SA_SIGINFO };

	*thread = (struct stepped_thread){ .work = work, .number = number };
	sigemptyset(&action.sa_mask);
	if (sem_init(&thread->go, 0, 0) != 0 || sem_init(&thread->stopped, 0, 0) != 0 ||
	    sigaction(SIGTRAP, &action, NULL) != 0 || pthread_create(&thread->thread, NULL, stepped_main, thread) != 0)
		exit(1);
}

#endif
