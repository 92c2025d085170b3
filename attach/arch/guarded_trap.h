// SPDX-License-Identifier: Apache-2.0
// A function that does nothing, with a trap in it that harms nobody: room behind the function has the code of a handler
// for the trap's signal. A thread that nobody traces any more passes through it.
//
//   | landing pad, if there was one      |
//   | ret; or, when it is set, the trap  | <- trap
//   | ret                                | <- past: where a thread goes on; the handler
//   | a system call                      | <- call: what follows comes home from it
//   | rt_sigreturn                       | <- restorer
//
// Porting: how compilers write an empty function and fill what is behind, the breakpoint, and rt_sigreturn(2). Where
// the kernel gives handlers a restorer of its own, it still has to be here, for calls.
#ifndef HEAPSNAP_ATTACH_ARCH_GUARDED_TRAP_H
#define HEAPSNAP_ATTACH_ARCH_GUARDED_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of code: whole words. Whether the trap is set is in the first one alone.
enum { GUARDED_TRAP_SIZE = 16 };

struct guarded_trap {
	uint8_t idle[GUARDED_TRAP_SIZE], set[GUARDED_TRAP_SIZE];
	size_t past, call, restorer; // offsets
};

// Pure. `code`: the function's first bytes. False: it is no such function, or has no room behind it. A thread at the
// function's beginning may go on from there in whatever of `code`, `idle` and `set` stands there, and in what is there
// between two writes of whole words from `code` to `idle`, the last one first.
bool arch_guarded_trap(const uint8_t code[GUARDED_TRAP_SIZE], struct guarded_trap *ret);

// The handler of the trap's signal, as rt_sigaction(2) reads it from memory; handler and restorer are addresses.
enum { HS_KERNEL_SIGACTION_SIZE = 32 };
void arch_kernel_sigaction(uint64_t handler, uint64_t restorer, uint8_t ret[HS_KERNEL_SIGACTION_SIZE]);

#endif
