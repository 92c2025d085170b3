// SPDX-License-Identifier: Apache-2.0
// Which thread makes the remote calls, and where its frame lies.
#ifndef HEAPSNAP_ATTACH_VICTIM_H
#define HEAPSNAP_ATTACH_VICTIM_H

#include "attach/memory.h"
#include "attach/seccomp_filter.h"
#include "attach/threads.h"
#include "base/error.h"
#include "base/proc_maps.h"

#include <stdbool.h>
#include <stdint.h>

// Memory that no code uses, below `top`, down to `low`. top = 0: none.
struct frame_room {
	uint64_t low, top;
};

// Pure. In this order: the thread's own stack, when its lower end is sure (the [stack] mapping of the main thread, a mapping
// with the thread control block above the stack pointer and a guard below); the unused part of the main thread's stack, well
// below its stack pointer; a mapping with the thread control block, without a guard. A stack that is none of these (a
// coroutine's, a small alternate signal stack) may have another object's bytes right below.
struct frame_room frame_room_find(const struct frozen_process *process, const struct frozen_thread *thread,
				  const struct proc_maps *maps);

// A restartable sequence in user memory: struct rseq_cs, include/uapi/linux/rseq.h.
struct rseq_section {
	uint32_t version, flags;
	uint64_t start, size, abort;
};

// Pure. Where the kernel would send a thread preempted at `pc`: the abort handler inside the section, else `pc` itself.
uint64_t rseq_resume_address(const struct rseq_section *section, uint64_t pc);

// What else keeps a stopped thread from making remote calls: NULL = nothing. A static text.
const char *victim_obstacle(pid_t tid);

// The seccomp mode of one thread (0 none, 1 strict, 2 filter), and what its filters would do to it if the tool died.
// pre: the thread is in a stop.
struct hs_error *victim_seccomp(pid_t pid, pid_t tid, unsigned *mode_ret, enum seccomp_effect *effect_ret) HS_MUST_CHECK;

// *resume_ret: where the thread must resume; its own pc when it is in no restartable sequence.
struct hs_error *victim_rseq(const struct frozen_thread *thread, const struct target_memory *memory, uint64_t *resume_ret)
	HS_MUST_CHECK;

#endif
