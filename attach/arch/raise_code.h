// SPDX-License-Identifier: Apache-2.0
// Code that takes the place of an empty function and of the room behind it: it sends its process a signal, and returns.
//
//   | getpid             |
//   | kill(pid, signal)  |
//   | return             | <- raised: where a thread stands when the signal comes
//
// It changes registers that a call may change, and nothing else. A signal that is ignored by default harms nobody who
// comes by when no tracer is there any more.
//
// Porting: how compilers write an empty function and fill what is behind, and the system calls.
#ifndef HEAPSNAP_ATTACH_ARCH_RAISE_CODE_H
#define HEAPSNAP_ATTACH_ARCH_RAISE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes: whole words. The first word of an empty function returns, whatever the others hold.
enum { RAISE_CODE_SIZE = 16 };

// Pure. `function`: its first bytes. False: it is no empty function, or has no room
// behind it; or the signal is no number from 1 to 127.
bool arch_raise_code(const uint8_t function[RAISE_CODE_SIZE], int signal, uint8_t ret[RAISE_CODE_SIZE]);

// Pure. Of a thread that stands `offset` bytes behind the beginning, from 0 on: whether it has made the calls, and how
// many bytes it has pushed, which are to be dropped before it goes on elsewhere.
bool arch_raise_code_has_raised(uint64_t offset);
uint64_t arch_raise_code_pushed(uint64_t offset);

#endif
