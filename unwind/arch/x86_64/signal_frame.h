// SPDX-License-Identifier: Apache-2.0
// Where things lie in the frame that the kernel lays for a signal handler of 64-bit code, in bytes from its first word,
// the restorer's address (struct rt_sigframe, arch/x86/include/asm/sigframe.h;
// include/uapi/asm/{ucontext,sigcontext}.h). attach/arch/x86_64/sigframe.c compares them with the structs.
#ifndef HEAPSNAP_UNWIND_ARCH_SIGNAL_FRAME_H
#define HEAPSNAP_UNWIND_ARCH_SIGNAL_FRAME_H

#define HS_SIGFRAME_FP_OFFSET             128 // the frame pointer of what was interrupted
#define HS_SIGFRAME_SP_OFFSET             168 // its stack pointer
#define HS_SIGFRAME_PC_OFFSET             176 // where it goes on
#define HS_SIGFRAME_CS_OFFSET             192 // 16 bits
#define HS_SIGFRAME_FLOATING_POINT_OFFSET 232 // address of the floating-point state, which lies behind the frame
#define HS_SIGFRAME_FIXED_SIZE            440 // without that state

// More than any frame takes: AMX tiles fill 8 KiB of it.
#define HS_SIGFRAME_MAX 16384

// Where its siginfo lies, 128 bytes that sigreturn does not read.
#define HS_SIGFRAME_INFO_OFFSET 312

// How many bytes tell that it is a frame.
#define HS_SIGFRAME_HEAD_SIZE (HS_SIGFRAME_PC_OFFSET + 32)

// The handler's `ret` has popped the restorer's address: until sigreturn the frame begins so many bytes below the stack
// pointer.
#define HS_SIGFRAME_TAKEN 8

#define HS_USER_CS 0x33 // __USER_CS, arch/x86/include/asm/segment.h

// The same from the ucontext on, which call frame information counts from; and how far above the stack pointer that is
// in the code that handlers return to, which has taken the first word.
enum {
	UCONTEXT_FROM_SP = 0,
	UCONTEXT_FP = HS_SIGFRAME_FP_OFFSET - 8,
	UCONTEXT_SP = HS_SIGFRAME_SP_OFFSET - 8,
	UCONTEXT_PC = HS_SIGFRAME_PC_OFFSET - 8,
	UCONTEXT_USED = UCONTEXT_PC + 8,
};

#endif
