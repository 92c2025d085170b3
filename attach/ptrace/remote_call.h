// SPDX-License-Identifier: Apache-2.0
// System calls made by a stopped thread of the target, on the tool's behalf.
//
// If the tool is killed at any instant, the thread returns by itself to what it was doing: before a thread is sent
// anywhere, an rt_sigframe with its complete state (registers with an interrupted system call rewound, extended state,
// signal mask) lies in memory that is proven to be nobody's (frame_room.h), as if the thread were inside a signal
// handler on a stack of its own, whose code is the syscall gadget and whose return address is the restorer, the
// sigreturn gadget.
//
//   higher addresses
//   | extended state              |
//   | siginfo                     |
//   | ucontext                    |
//   | restorer address            | <- stack pointer while the call runs
//
// Between calls the thread is parked, with its own stack pointer, at the leave gadget: that takes it to the frame and
// to the restorer. The tool lets it go to the entry stop of rt_sigreturn and only there makes it another call. So a
// tool that dies before that leaves a thread that comes home without having made any call, and one that dies later, a
// thread that makes the call and then comes home. And a signal with a handler that comes before the mask is set, while
// the tool dies, has its handler run where the kernel would have run it without the tool; that handler may be one on
// the alternate stack, which the thread may be using already: with another stack pointer the kernel would begin it
// anew.
//
// The code pieces are found in the target's own executable mappings (vdso, libc; a payload's image has them too);
// where there are none, they are written at the program's entry point (AT_ENTRY: never executed again) and taken away
// by remote_call_close.
#ifndef HEAPSNAP_ATTACH_PTRACE_REMOTE_CALL_H
#define HEAPSNAP_ATTACH_PTRACE_REMOTE_CALL_H

#include "attach/arch/sigframe.h"
#include "attach/process/memory.h"
#include "attach/ptrace/gadgets.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"

struct remote_caller {
	struct frozen_process *frozen;
	const struct target_memory *memory;
	struct frozen_thread *carrier;
	uint64_t syscall_gadget;   // address of code that makes a system call, then returns
	uint64_t sigreturn_gadget; // of code that makes rt_sigreturn; with a pop gadget, of any call
	uint64_t pop_gadget;       // of code that takes the number of the call from the stack, run before it; 0 = none
	uint64_t leave_gadget;     // of code that takes the stack pointer from the frame pointer; 0 = none
	struct entry_patch entry;  // where the gadgets had to be written
	struct extended_layout layout;
	uint8_t *extended; // the carrier's own; owned
	size_t extended_size;
	uint64_t frame;    // address of the frame, whose first word is the sigreturn gadget
	size_t frame_size; // bytes
	bool in_call;      // the carrier's registers are not its own
	bool at_entry;     // stopped at the entry of a call, not yet made
	bool running;      // it was let go and has not come back
	bool has_signal;   // stopped with a signal that a call of ours has raised, and that nobody else gets
	bool comes_home;   // it could not be given its state back, and gets it from the frame when it is released
	bool suspended_seccomp;
};

// Chooses a carrier, finds room for its frame, on its own stack or else on the main thread's, and the gadgets. Changes
// nothing in the target but these, where they must be written. HS_ERROR_REFUSED when no thread can be used,
// or the code that would be used may lie in a page that is not in memory (refused_reads_any);
// HS_ERROR_REFUSED_FOR_GOOD when no other moment would suit better; HS_ERROR_TIMEOUT, HS_ERROR_INTERRUPTED: see
// interrupt_check. Which thread is taken, best first:
// - its seccomp filters have nothing against our calls, and it is in no restartable sequence;
// - they have not, and it is in such a sequence: its pc is moved to the abort handler;
// - they have, without harm to the return from the frame; again in no sequence, then in one.
// Within each of these, first of those that are not to be avoided (avoid_as_carrier), then of those that are:
// - it is in user mode;
// - it is in a system call;
// - it is in a call that moves data, and may lose a part of that;
// - it is in a restart block: its call may end early;
// - its flags raise signals.
struct hs_error *remote_call_open(struct frozen_process *frozen, const struct target_memory *memory,
				  struct remote_caller *ret) HS_MUST_CHECK;

// Makes system call `number`. *result_ret is what the kernel returned: -4095..-1 are errors of the target (no
// hs_error). Signals that arrive meanwhile stay pending (SIGSTOP takes effect after the release). Bounded wait.
// HS_ERROR_GONE when the target dies.
struct hs_error *remote_call(struct remote_caller *caller, long number, const uint64_t arguments[6],
			     int64_t *result_ret) HS_MUST_CHECK;

// As remote_call; an error result becomes HS_ERROR_REMOTE with the target's errno and `what` in the message.
struct hs_error *remote_call_checked(struct remote_caller *caller, const char *what, long number,
				     const uint64_t arguments[6], uint64_t *result_ret) HS_MUST_CHECK;

// Address of 128 bytes of the target's memory that arguments of the calls may point to: the frame's siginfo, which
// nobody reads. pre: remote_call_open succeeded. The caller writes there with target_memory_write before a call.
uint64_t remote_call_scratch(const struct remote_caller *caller);

// Gives the carrier its own state back: carrier->registers exactly, not rewound. An interrupted call is then restarted,
// or ended by a signal that came meanwhile, by the kernel itself: a release sets TIF_SIGPENDING (__ptrace_unlink in
// kernel/ptrace.c; thread_release_keep interrupts it), and so the kernel looks at the result of the call once more.
// Takes written gadgets away, and the frame's bytes: its memory is zero again. Goes on after a failure. The carrier's
// `registers` may not be changed between open and close.
struct hs_error *remote_call_close(struct remote_caller *caller) HS_MUST_CHECK;

#endif
