// SPDX-License-Identifier: Apache-2.0
// A child process that has given up all it can do but compute, read what it is handed, and answer: for work on bytes
// that somebody else made. When such work goes wrong, it goes wrong there.
//
// The child: another user and group where the tool is root, no capabilities, no way to new privileges, not to be traced
// by others; no descriptor but its socket; no system call that opens, connects, starts or traces anything (seccomp);
// bounds on memory, processor time and files; the first to go when memory is short. It dies with the tool.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SANDBOX_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SANDBOX_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox_limits {
	uint64_t memory;         // bytes of address space, besides what the tool has
	uint32_t processor_time; // s
};

struct sandbox {
	pid_t pid;
	int socket;       // SOCK_SEQPACKET: messages keep their borders
	bool has_hung_up; // no message will come any more
};

enum { SANDBOX_ENDING_SIZE = 96 };

// Runs `work` in a child, which sees the tool's memory as it is now and ends when `work` returns. HS_ERROR_REFUSED when
// the child cannot give up its rights: then `work` has not been called.
struct hs_error *sandbox_start(void (*work)(int socket, void *context), void *context,
			       const struct sandbox_limits *limits, struct sandbox *ret) HS_MUST_CHECK;

// Ends the child if it has not ended, and waits for it. `ending` says how it ended by itself ("was killed by signal
// 11"), and is empty when it did not, or ended well.
void sandbox_end(struct sandbox *sandbox, char ending[SANDBOX_ENDING_SIZE]);

// The next message of the child: *size_ret bytes. HS_ERROR_TIMEOUT when none comes until `deadline_ns`
// (CLOCK_MONOTONIC), HS_ERROR_GONE when the child has ended, HS_ERROR_BAD_DATA for a message longer than `room`,
// HS_ERROR_INTERRUPTED. Descriptors that the child sends are closed.
struct hs_error *sandbox_receive(struct sandbox *sandbox, uint64_t deadline_ns, void *buffer, size_t room,
				 size_t *size_ret) HS_MUST_CHECK;
// Sends a message, with a descriptor unless `fd` is -1. Never waits: a child that does not take its messages is
// HS_ERROR_GONE.
struct hs_error *sandbox_send(const struct sandbox *sandbox, const void *data, size_t size, int fd) HS_MUST_CHECK;

#endif
