// SPDX-License-Identifier: Apache-2.0
// The kernel's frame of a signal handler, looked for on a stack.
#ifndef HEAPSNAP_INJECT_ARCH_HANDLER_FRAME_H
#define HEAPSNAP_INJECT_ARCH_HANDLER_FRAME_H

#include "inject/abi/sanitizer_marks.h"
#include "unwind/arch/signal_frame.h"
#include "unwind/freestanding.h"

// Whether a signal frame of 64-bit code lies in [low, high), on the stack that it interrupts, by what the kernel writes
// into each (struct rt_sigframe, arch/x86/include/asm/sigframe.h; get_sigframe in arch/x86/kernel/signal.c): __USER_CS,
// and a floating-point state behind the frame, on 64 bytes, below the interrupted stack pointer. That state is at the
// highest such place below it, and the frame at the highest place below the state that is 8 below one that 16 divides:
// so it lies 56 bytes behind one that 64 divides, as it has since the state's alignment is 64. Only the pages of the
// two ends are looked at: what lies between them may be a program's guard page. pre: `low` and `high` - 8 can be read,
// and what is in their pages between them.
#define ARCH_SIGNAL_FRAME_MIN (HS_SIGFRAME_FIXED_SIZE + 512u)
// It reads frames that are not its own, whatever lies there.
HS_READS_OTHER_FRAMES static inline bool arch_has_signal_frame(uint64_t low, uint64_t high)
{
	// [SP, END) of a frame is read
	enum {
		SP = HS_SIGFRAME_SP_OFFSET,
		END = HS_SIGFRAME_FLOATING_POINT_OFFSET + 8,
		PAGE = 4096,
		STEP = 64,
		FIRST = 56
	};
	const uint64_t first_end = (low & ~(uint64_t)(PAGE - 1)) + PAGE, last = (high - 1) & ~(uint64_t)(PAGE - 1);

	for (uint64_t frame = ((low + STEP - 1 - FIRST) & ~(uint64_t)(STEP - 1)) + FIRST;
	     frame < high && high - frame >= ARCH_SIGNAL_FRAME_MIN; frame += STEP) {
		uint64_t sp, registers;

		// not all in the two pages: on to the first that is
		if (first_end < last && frame + END > first_end && frame + SP < last) {
			frame = ((last - SP + STEP - 1 - FIRST) & ~(uint64_t)(STEP - 1)) + FIRST - STEP;
			continue;
		}
		if (*(const uint16_t *)(frame + HS_SIGFRAME_CS_OFFSET) != HS_USER_CS) // mostly
			continue;
		sp = *(const uint64_t *)(frame + SP);
		registers = *(const uint64_t *)(frame + HS_SIGFRAME_FLOATING_POINT_OFFSET);
		if (registers % 64 == 0 && registers >= frame + HS_SIGFRAME_FIXED_SIZE && registers < sp && sp < high)
			return true;
	}
	return false;
}

#endif
