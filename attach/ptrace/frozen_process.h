// SPDX-License-Identifier: Apache-2.0
// A process all of whose threads are stopped, and what is known of each (threads.h).
#ifndef HEAPSNAP_ATTACH_PTRACE_FROZEN_PROCESS_H
#define HEAPSNAP_ATTACH_PTRACE_FROZEN_PROCESS_H

#include "attach/arch/registers.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct frozen_thread {
	pid_t tid;
	arch_registers registers; // as they were when it stopped; also what it will resume with
	uint64_t signal_mask;     // of one that repeats a call; of others once threads_read_signal_mask was called
	bool stands;              // collected: in the stop in which `registers` were read
	bool registers_changed;   // write `registers` back before it resumes
	bool repeats_call; // `registers` are set back to before a call that the stop has interrupted (repeat_call.h)
	bool avoid_as_carrier; // a remote call takes another thread, if it can
};

struct file_pages; // attach/elf/file_pages.h

struct frozen_process {
	const struct process *process; // borrowed
	struct frozen_thread *threads;
	size_t count;
	uint64_t frozen_at;     // CLOCK_MONOTONIC, ns: when the first thread was interrupted
	uint64_t stopped_ns;    // after thaw: for how long threads were stopped
	struct proc_maps *maps; // frozen_maps.h; NULL = not read
	// what was read of the target's files before it stood still; set by whoever freezes; borrowed; NULL = nothing
	const struct file_pages *files;
	bool has_executed; // another program since its memory was opened; known after threads_freeze_memory
};

#endif
