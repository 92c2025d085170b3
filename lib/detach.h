// SPDX-License-Identifier: Apache-2.0
// To take everything out of a process again.
#ifndef HEAPSNAP_LIB_DETACH_H
#define HEAPSNAP_LIB_DETACH_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_DETACH_CHECKS_MAX = 8 };

// What became of it. But for the first two the hooks are out, and the code stays mapped and does nothing: for the first
// of the reasons below that holds. Detach again later, unless it says otherwise.
enum hs_detach_outcome {
	HS_DETACH_DONE,
	// It was not attached; what a parent that was attached, or an unfinished attach, had left is cleared away.
	HS_DETACH_CLEARED,
	HS_DETACH_FOREIGN_HOOKS,  // another program has patched places of hooks, and may lead into the code
	HS_DETACH_THREADS_UNSEEN, // not all of the stack of some threads was looked at yet
	HS_DETACH_CALLS_LOST,     // coroutines have left so many calls that not all are known: it stays for ever
	HS_DETACH_CALLS_LEFT,     // coroutines have left calls that may go back into the code
	HS_DETACH_THREADS_INSIDE, // threads are still in it
};

enum hs_detach_answer {
	HS_DETACH_DOES_NOT_HOLD, // or it could not be looked at
	HS_DETACH_HOLDS,
	HS_DETACH_NOT_COMPARABLE, // it has changed since the detach began, and the program may have done that itself
};

// One promise, and what a look at the process after the detach has found.
struct hs_detach_check {
	const char *text; // static
	enum hs_detach_answer answer;
};

struct hs_detach_result {
	enum hs_detach_outcome outcome;
	bool is_finished; // the first two outcomes
	bool is_verified; // finished, and no check fails: each holds, or cannot be compared
	size_t threads;
	uint64_t stopped_longest_ns; // longest single stop
	uint64_t took_ns;            // from the first freeze until all is done, waits included
	size_t threads_inside, threads_unseen;
	bool inside_is_stopped; // threads inside cannot leave: the process is stopped by a signal
	size_t calls_left;      // that lead into the payload, or may
	size_t calls_unseen;    // of them: not looked at yet
	bool calls_lost;
	size_t foreign_hooks;
	struct hs_detach_check checks[HS_DETACH_CHECKS_MAX];
	size_t check_count;
};

// Waits at most `wait_ms` for threads to leave the payload, but up to 60 s while stacks or calls are still to be looked
// at, and once more for descriptors in tables of other threads or processes. On failure *ret is not filled.
// HS_ERROR_NOT_FOUND: nothing of heapsnap is in the process.
struct hs_error *hs_detach(const struct process *process, unsigned wait_ms, struct hs_detach_result *ret) HS_MUST_CHECK;

#endif
