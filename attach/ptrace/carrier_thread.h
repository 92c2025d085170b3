// SPDX-License-Identifier: Apache-2.0
// What one thread is fit for as the one that makes the remote calls; carrier_choice.h chooses among them.
#ifndef HEAPSNAP_ATTACH_PTRACE_CARRIER_THREAD_H
#define HEAPSNAP_ATTACH_PTRACE_CARRIER_THREAD_H

#include "attach/process/memory.h"
#include "attach/ptrace/seccomp_filter.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>

// A restartable sequence in user memory: struct rseq_cs, include/uapi/linux/rseq.h.
struct rseq_section {
	uint32_t version, flags;
	uint64_t start, size, abort;
};

// Pure. Where the kernel would send a thread preempted at `pc`: the abort handler inside the section, else `pc` itself.
uint64_t rseq_resume_address(const struct rseq_section *section, uint64_t pc);

// Pure: whether the thread was stopped in a call that moves data and so may have moved a part of it: the kernel then
// ends the call with that part for any stop (docs/target-safety.md, Known gaps).
bool carrier_is_in_transfer(const arch_registers *registers);

// Whether the thread is on its way home through the frame of a tool that was killed (a stopped process stays so until
// it is continued).
bool carrier_is_on_its_way(const struct frozen_thread *thread, const struct target_memory *memory);

// Whether such a frame lies where a thread with that stack pointer would return into it, from a call or from what comes
// after.
bool carrier_frame_is_at(uint64_t stack, const struct target_memory *memory);

// What else keeps a stopped thread from making remote calls: NULL = nothing. A static text.
const char *carrier_obstacle(pid_t tid);

// The seccomp mode of one thread (0 none, 1 strict, 2 filter), and what its filters would do to it if the tool died.
// pre: the thread is in a stop.
struct hs_error *carrier_seccomp(const struct process *process, pid_t tid, unsigned *mode_ret,
				 enum seccomp_effect *effect_ret) HS_MUST_CHECK;

// *resume_ret: where the thread must resume; its own pc when it is in no restartable sequence.
struct hs_error *carrier_rseq(const struct frozen_thread *thread, const struct target_memory *memory,
			      uint64_t *resume_ret) HS_MUST_CHECK;

#endif
