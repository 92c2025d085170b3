// SPDX-License-Identifier: Apache-2.0
// The stack of a stopped thread as libunwind-ptrace walks it.
#ifndef HEAPSNAP_TEST_REFERENCE_H
#define HEAPSNAP_TEST_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Twice the payload's depth limit, so that a walk that does not end is seen.
#define REFERENCE_FRAMES_MAX 512

struct reference_frame {
	uint64_t pc, sp;
	uint64_t rbx, rbp, r12, r13, r14, r15;
	bool pc_is_exact; // interrupted by a signal handler, or the innermost frame
};

struct reference_stack {
	struct reference_frame frames[REFERENCE_FRAMES_MAX]; // innermost first
	size_t count;
	int end; // the last result of unw_step: 0 = outermost frame, negative = UNW_E*, 1 = there are more frames
};

// Once, before all walks; again whenever modules of the target have come or gone. false = no memory.
bool reference_reset(void);
// pre: this process traces the thread, and it is stopped.
void reference_walk(pid_t tid, struct reference_stack *ret);
const char *reference_error(int end);

#endif
