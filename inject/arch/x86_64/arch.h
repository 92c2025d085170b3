// SPDX-License-Identifier: Apache-2.0
// What the payload asks of the processor. Same names in every architecture's folder.
#ifndef HEAPSNAP_INJECT_ARCH_H
#define HEAPSNAP_INJECT_ARCH_H

#include "inject/freestanding.h"
#include "unwind/arch/signal_frame.h"

// The thread control block's first word is its own address (psABI x86-64, TLS variant II; glibc and musl alike). In the
// target it is RDFSBASE, which reads no memory, where the kernel allows that: each place is in the list that the header
// names, in the section .fs_reads.
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t value;
#ifdef HS_PAYLOAD
	__asm__("1: mov %%fs:0, %0\n\t.pushsection .fs_reads, \"a\"\n\t.long 1b - .\n\t.popsection" : "=r"(value));
#else
	__asm__("mov %%fs:0, %0" : "=r"(value));
#endif
	return value;
}

// Ticks of the constant-rate time-stamp counter. The tool refuses targets that have it disabled (PR_SET_TSC).
static inline uint64_t arch_ticks(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

// The same, after all that came before has been done: what waits for memory is waited for (Intel SDM volume 2, RDTSC;
// Linux makes LFENCE do so on AMD processors).
static inline uint64_t arch_ticks_in_order(void)
{
	__asm__ volatile("lfence" ::: "memory");
	return arch_ticks();
}

static inline void arch_pause(void) { __asm__ volatile("pause"); }

// What a hook's entry pushed, lowest address first. `return_address` is where the caller of the hooked function goes
// on; its own stack pointer there is the address just above.
struct entry_frame {
	uint64_t r15, r14, r13, r12, rbx, fp, return_address;
};

// What entry.S leaves on the stack while a hook runs whose return address lies at `place`: its own return address out
// of the hook's C code, at one of these distances below, by the kind of entry (free, fast paths, calling hooks, general
// hooks). Whatever it calls has its return address further down still, so nothing at `called` or below is looked at.
// pre: what lies between the two can be read.
static inline bool arch_hook_runs(uint64_t place, uint64_t called, uint64_t code, uint64_t code_size)
{
	static const uint8_t distances[] = { 32, 48, 96, 208 };

	for (unsigned i = 0; i < sizeof(distances); i++)
		if (place - called > distances[i] && *(const uint64_t *)(place - distances[i]) - code < code_size)
			return true;
	return false;
}

// Whether the bytes before `end` are a call: E8 rel32, or FF /2 with its operand (Intel SDM volume 2, CALL; a prefix
// would only be further in front). pre: ARCH_CALL_MAX bytes can be read there.
#define ARCH_CALL_MAX 7u
static inline bool arch_ends_in_call(const uint8_t *end)
{
	if (end[-5] == 0xe8)
		return true;
	for (int size = 2; size <= 7; size++)
		if (end[-size] == 0xff && (end[1 - size] & 0x38) == 0x10)
			return true;
	return false;
}

// Whether `code` is where signal handlers return to: mov $15,%rax (or %eax); syscall. pre: ARCH_SIGRETURN_SIZE bytes
// can be read.
#define ARCH_SIGRETURN_SIZE 9u
static inline bool arch_is_sigreturn(const uint8_t *code)
{
	bool is_wide = code[0] == 0x48 && code[1] == 0xc7 && code[2] == 0xc0;
	const uint8_t *rest = code + (is_wide ? 3 : 1);

	return (is_wide || code[0] == 0xb8) && rest[0] == 15 && !rest[1] && !rest[2] && !rest[3] && rest[4] == 0x0f &&
	       rest[5] == 0x05;
}

// Whether a signal frame of 64-bit code lies in [low, high), on the stack that it interrupts, by what the kernel writes
// into each (struct rt_sigframe, arch/x86/include/asm/sigframe.h; get_sigframe in arch/x86/kernel/signal.c): __USER_CS,
// and a floating-point state behind the frame, on 64 bytes, below the interrupted stack pointer. That state is at the
// highest such place below it, and the frame at the highest place below the state that is 8 below one that 16 divides:
// so it lies 56 bytes behind one that 64 divides, as it has since the state's alignment is 64. Only the pages of the
// two ends are looked at: what lies between them may be a program's guard page. pre: `low` and `high` - 8 can be read,
// and what is in their pages between them.
#define ARCH_SIGNAL_FRAME_MIN (HS_SIGFRAME_FIXED_SIZE + 512u)
// It reads frames that are not its own, whatever lies there.
__attribute__((no_sanitize("address"))) static inline bool arch_has_signal_frame(uint64_t low, uint64_t high)
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

struct hook_island;

// What the entry of a generic kind pushed, lowest address first.
struct call_frame {
	uint64_t result[2];  // rax and rdx after the original
	uint64_t changed[7]; // rcx, rsi, rdi, r8 to r11 after it: what its caller gets
	const struct hook_island *island;
	uint64_t rax;          // before, as all that follows
	uint64_t arguments[6]; // rdi, rsi, rdx, rcx, r8, r9
	uint64_t r10, r11;
	struct entry_frame entry;
};

// Calls a function with all the registers that the frame holds; its results go into the frame. In entry.S.
void arch_call(struct call_frame *frame, uint64_t function) __attribute__((visibility("hidden")));

#endif
