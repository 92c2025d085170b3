// SPDX-License-Identifier: Apache-2.0
// The transactions: attach and detach, each wholly done or rolled back, and the change of settings between them.
//
// Errors of all of them: HS_ERROR_REFUSED (not now; the message says why and what to do), HS_ERROR_REFUSED_FOR_GOOD,
// HS_ERROR_GONE (the target died), HS_ERROR_TIMEOUT (a thread did not stop: end the tool soon), HS_ERROR_INTERRUPTED,
// HS_ERROR_BAD_DATA (what is read of the target says nonsense), HS_ERROR_SYSTEM and HS_ERROR_REMOTE (a call failed
// here, or in the target), HS_ERROR_NO_MEMORY. The caller owns the error. Reports own nothing: their texts are static.
// Times are ns of CLOCK_MONOTONIC, sizes bytes, waits ms. What is passed in is only read, and needed until the return.
#ifndef HEAPSNAP_ATTACH_SESSION_SESSION_H
#define HEAPSNAP_ATTACH_SESSION_SESSION_H

#include "attach/hook/hook_addition.h"
#include "attach/region/sampling_settings.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_options {
	uint32_t depth;      // frames kept of a stack; 0 = default
	uint64_t max_memory; // bytes that the region may use; 0 = default, see attach/region/region_size.h
	struct hook_additions additions;
	struct sampling_settings sampling;
};

struct attach_report {
	size_t hooks, hooks_refused, modules, threads;
	uint64_t stopped_all_ns; // for how long threads were stopped, over all tries, and to clear away what an earlier
				 // run had left
	uint64_t region_bytes;   // that may be used
	size_t unseen_makers;    // of `hooks_refused`: functions that make blocks
	size_t unseen_threads;   // that have no thread pointer: nothing that they allocate is recorded
	bool loader_followed; // false: libraries loaded later will not be seen (no dynamic loader, or its event cannot
			      // be hooked)
	bool is_static; // no dynamic loader: no library is loaded later
};

// On failure the target is as it was (HS_ERROR_GONE: it died). *ret is for a success.
struct hs_error *session_attach(const struct process *process, const struct attach_options *options,
				struct attach_report *ret) HS_MUST_CHECK;

struct set_options {
	struct sampling_change change;
	uint32_t depth; // frames kept of a stack from now on; 0 = as before
};

// What is in force.
struct region_settings {
	struct sampling_settings sampling;
	uint32_t depth;
};

struct set_report {
	struct region_settings before, after;
	size_t threads;
	uint64_t stopped_longest_ns; // longest single stop
	bool bloom_in_use;           // false: the filter of tracked addresses lets everything through
};

// Changes the settings of an attached process. HS_ERROR_NOT_FOUND: it is not attached. On failure nothing is changed,
// or, where it failed half-way, what is in force is a mixture of the old settings and the new ones that is right for
// every record; another change puts it in order.
struct hs_error *session_set(const struct process *process, const struct set_options *options,
			     struct set_report *ret) HS_MUST_CHECK;

#define DETACH_CHECKS_MAX 8

// What a look at the target after the detach has found of one promise.
enum detach_answer {
	DETACH_DOES_NOT_HOLD, // or it could not be looked at
	DETACH_HOLDS,
	DETACH_NOT_COMPARABLE, // it has changed meanwhile, and the program may have done that itself
};

struct detach_report {
	size_t threads;
	uint64_t stopped_longest_ns; // longest single stop
	uint64_t stopped_all_ns;     // all stops together
	uint64_t took_ns;            // from the first freeze until all is done, waits included
	// False: the hooks are out, but the code stays mapped, because of threads_inside, threads_unseen, calls_left,
	// calls_lost or foreign_hooks (detach_reason_of). Detach again later.
	bool finished;
	size_t threads_inside;
	size_t threads_unseen;  // further ones: with so much stack in use that nobody has looked at all of it yet
	bool inside_is_stopped; // these cannot leave, because the process is stopped by a signal (SIGSTOP)
	size_t calls_left;      // of allocation functions that coroutines, it seems, have left, and that lead into the
				// payload, or may; no living thread's
	size_t calls_unseen;    // of them: not looked at yet, there are so many
	bool calls_lost;        // there were so many that not all are known: the code stays for ever
	size_t foreign_hooks;   // patched places that another program has patched since: left alone, for they may lead
				// into our code
	bool only_leftovers;    // there was no region, only what a killed attach had left or a parent that was attached
				// has handed down
	struct {
		const char *text; // what is promised
		enum detach_answer answer;
	} checks[DETACH_CHECKS_MAX];
	size_t check_count;
};

// Why the code stays mapped: of the reasons that hold, the first in this order.
enum detach_reason {
	DETACH_FINISHED, // it does not
	DETACH_FOREIGN_HOOKS,
	DETACH_THREADS_UNSEEN,
	DETACH_CALLS_LOST,
	DETACH_CALLS_LEFT,
	DETACH_THREADS_INSIDE,
};

// Pure.
enum detach_reason detach_reason_of(const struct detach_report *report);

// Finishes or undoes what a killed run has left (an unfinished attach or detach, or less than a region:
// attach/session/leftovers.h), and takes out what a forked child has of its parent's (attach/session/inherited.h).
// *stopped_all_ns_ret: for how long threads were stopped, in all. HS_ERROR_REFUSED when it cannot be cleared away now.
struct hs_error *session_clear_unfinished(const struct process *process, unsigned wait_ms,
					  uint64_t *stopped_all_ns_ret) HS_MUST_CHECK;

// wait_ms bounds the wait for threads inside the payload; that it was too short is no error (ret->finished). While
// stacks or calls are still to be looked at, it is at least 60 s. Descriptors in tables of other threads or processes
// get wait_ms once more. Without a region, leftovers are cleared: that is a detach too. HS_ERROR_NOT_FOUND: there is
// nothing of heapsnap in the process.
struct hs_error *session_detach(const struct process *process, unsigned wait_ms,
				struct detach_report *ret) HS_MUST_CHECK;

#endif
