// SPDX-License-Identifier: Apache-2.0
// Threads that get the control block of one that has ended, and whose first call gives a block back: a signal handler
// that allocates interrupts it, one instruction later in each round. "work" prints in how many rounds it did; only
// instructions that belong to no loaded object count.
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "commands.h"

enum { ROUNDS = 120, PREDECESSORS_BLOCKS = 20, OBJECTS_MAX = 64, TRAP_FLAG = 0x100 };

static struct {
	uint64_t start, end;
} objects[OBJECTS_MAX];
static int object_count;
static unsigned round_number, steps, interrupted;
static void *volatile kept[2 * ROUNDS];

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size, (void)context;
	for (int i = 0; i < info->dlpi_phnum && object_count < OBJECTS_MAX; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		objects[object_count].start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		objects[object_count].end = objects[object_count].start + info->dlpi_phdr[i].p_memsz;
		object_count++;
	}
	return 0;
}

static bool is_in_object(uint64_t pc)
{
	for (int i = 0; i < object_count; i++)
		if (pc >= objects[i].start && pc < objects[i].end)
			return true;
	return false;
}

// Not by a jump: then they would not be in the stack.
__attribute__((noipa)) static void in_handler(void) { kept[2 * round_number] = malloc(1000); }
__attribute__((noipa)) static void after_release(void) { kept[2 * round_number + 1] = malloc(3000); }

static void step(int signal, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal, (void)information;
	if (is_in_object((uint64_t)registers[REG_RIP]) || steps++ != round_number)
		return;
	in_handler();
	interrupted++;
	registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

// Leaves free records in the slot.
static void *predecessor(void *context)
{
	void *volatile blocks[PREDECESSORS_BLOCKS];

	for (int i = 0; i < PREDECESSORS_BLOCKS; i++)
		blocks[i] = malloc(40);
	for (int i = 0; i < PREDECESSORS_BLOCKS; i++)
		free(blocks[i]);
	return context;
}

static void *successor(void *block)
{
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	free(block);
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
	after_release();
	return NULL;
}

static void run(void *(*work)(void *), void *context)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, context) != 0)
		exit(1);
	pthread_join(thread, NULL);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

	dl_iterate_phdr(note_object, NULL);
	sigaction(SIGTRAP, &action, NULL);
	say_ready();
	while (next_command()) {
		for (round_number = 0; round_number < ROUNDS; round_number++) {
			steps = 0;
			run(predecessor, NULL);
			run(successor, malloc(200));
		}
		printf("%u\n", interrupted);
	}
	return 0;
}
