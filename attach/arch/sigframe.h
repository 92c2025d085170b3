// SPDX-License-Identifier: Apache-2.0
// The bytes that rt_sigreturn(2) reads: the complete state of a thread on its stack, as the kernel writes it when it
// runs a signal handler. Pure.
#ifndef HEAPSNAP_ATTACH_ARCH_SIGFRAME_H
#define HEAPSNAP_ATTACH_ARCH_SIGFRAME_H

#include "attach/arch/extended_state.h"
#include "attach/arch/registers.h"
#include "base/error.h"
#include "unwind/arch/signal_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sigframe_request {
	const arch_registers *registers; // what the thread goes on with; an interrupted call already rewound
	uint64_t signal_mask;
	const uint8_t *extended; // ARCH_EXTENDED_STATE
	size_t extended_size;
	const struct extended_layout *layout;
	uint64_t restorer; // address of code that makes rt_sigreturn
	uint64_t top;      // the frame ends at or below this address
};

struct sigframe {
	uint8_t bytes[HS_SIGFRAME_MAX];
	uint64_t address; // of bytes[0] in the target; its first word is the restorer
	size_t size;      // bytes
};

// Pure: whether the bytes may be the head of a frame that the kernel has laid for a handler in 64-bit code; the caller
// looks whether the restorer is code. *restorer_ret: the handler's return address.
bool sigframe_may_be(const uint8_t head[HS_SIGFRAME_HEAD_SIZE], uint64_t *restorer_ret);

// Pure: whether both the frame that begins with `head` and `sp` lie on the alternate stack that the frame records. A
// frame left by a handler that has returned looks the same, until the next one overwrites it.
bool sigframe_runs_on_alternate(const uint8_t head[HS_SIGFRAME_HEAD_SIZE], uint64_t frame, uint64_t sp);

// Pure: whether a signal frame somewhere in `bytes`, of which the first is at an address that 8 divides, may bring back
// a stack pointer in [low, high). Its first word, the restorer, may lie before them: a handler that returns has taken
// that from the stack. Numbers that look like such a frame count as one.
bool sigframe_returns_to(const uint8_t *bytes, size_t size, uint64_t low, uint64_t high);

// Bytes below a frame that a remote call writes (remote_call.c): words for its gadgets.
#define HS_SIGFRAME_WORDS_BELOW 24

// Pure: where in `bytes`, of which the first is at `address`, a frame of sigframe_build lies: *begin_ret and *end_ret,
// with the words below it. It is told from the kernel's own by its flags of the alternate stack, which the kernel never
// writes. false = none, or not all of it.
bool sigframe_find(const uint8_t *bytes, size_t size, uint64_t address, size_t *begin_ret, size_t *end_ret);

// Pure: whether `head`, of HS_SIGFRAME_HEAD_SIZE bytes, is that of such a frame.
bool sigframe_is_ours(const uint8_t head[HS_SIGFRAME_HEAD_SIZE]);

// Pure: whether the thread may use the memory of stacks (protection keys).
bool sigframe_is_allowed(const uint8_t *extended, size_t size, const struct extended_layout *layout);

// HS_ERROR_BAD_DATA when the extended state is not what the kernel documents.
struct hs_error *sigframe_build(const struct sigframe_request *request, struct sigframe *ret) HS_MUST_CHECK;

#endif
