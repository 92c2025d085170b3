// SPDX-License-Identifier: Apache-2.0
// A call of this program's code that is interrupted behind any one of its instructions, by the processor's single steps
// (the trap flag). Instructions of libraries do not count.
#ifndef HEAPSNAP_TEST_UNIT_INTERRUPTED_CALL_H
#define HEAPSNAP_TEST_UNIT_INTERRUPTED_CALL_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>

static struct {
	unsigned left; // instructions before it is interrupted
	bool has_come;
	void (*meanwhile)(void); // NULL = the call is abandoned there, as a signal handler does with longjmp
	sigjmp_buf exit_point;
} interrupted_call;

static inline void interrupted_call_trap(int signal, siginfo_t *info, void *context)
{
	extern const char __executable_start, etext;
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const char *place = (const char *)registers[REG_RIP];

	(void)signal;
	(void)info;
	if (place < &__executable_start || place >= &etext || interrupted_call.left-- > 0)
		return;
	interrupted_call.has_come = true;
	registers[REG_EFL] &= ~(greg_t)0x100;
	if (!interrupted_call.meanwhile)
		siglongjmp(interrupted_call.exit_point, 1);
	interrupted_call.meanwhile();
}

// The red zone below the stack pointer may be in use.
__attribute__((noinline)) static void interrupted_call_steps(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
				 : "cc", "memory");
}

__attribute__((noinline)) static void interrupted_call_ends(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
				 : "cc", "memory");
}

// Runs `work`; behind its instruction number `instruction`, from 0, `meanwhile` runs, or the call is abandoned. False:
// it had ended before.
static inline bool interrupted_call_run(void (*work)(void), unsigned instruction, void (*meanwhile)(void))
{
	struct sigaction action = { .sa_sigaction = interrupted_call_trap, .sa_flags = SA_SIGINFO };

	interrupted_call.left = instruction;
	interrupted_call.has_come = false;
	interrupted_call.meanwhile = meanwhile;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGTRAP, &action, NULL) != 0)
		exit(1);
	if (sigsetjmp(interrupted_call.exit_point, 1) == 0) {
		interrupted_call_steps();
		work();
		interrupted_call_ends();
	}
	return interrupted_call.has_come;
}

#endif
