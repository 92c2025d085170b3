// SPDX-License-Identifier: Apache-2.0
// As of aarch64: siginfo, then the ucontext (arch/arm64/kernel/signal.c, include/uapi/asm/{ucontext,sigcontext}.h).
#ifndef HEAPSNAP_UNWIND_ARCH_SIGNAL_FRAME_H
#define HEAPSNAP_UNWIND_ARCH_SIGNAL_FRAME_H

#define HS_SIGFRAME_INFO_OFFSET 0
#define HS_SIGFRAME_FP_OFFSET   (128 + 416)
#define HS_SIGFRAME_SP_OFFSET   (128 + 432)
#define HS_SIGFRAME_PC_OFFSET   (128 + 440)
#define HS_SIGFRAME_FIXED_SIZE  (128 + 464)
#define HS_SIGFRAME_MAX         16384
#define HS_SIGFRAME_HEAD_SIZE   (HS_SIGFRAME_PC_OFFSET + 16)
#define HS_SIGFRAME_TAKEN       0

enum {
	UCONTEXT_FROM_SP = 128,
	UCONTEXT_FP = 416,
	UCONTEXT_SP = 432,
	UCONTEXT_PC = 440,
	UCONTEXT_USED = UCONTEXT_PC + 8,
};

#endif
