// SPDX-License-Identifier: Apache-2.0
// Functions of C libraries that end in no other way than by their return: they throw nothing, call nothing of the
// program's, and are no cancellation points. A list of what allocators call, not of all.
#ifndef HEAPSNAP_ATTACH_HOOK_QUIET_NAMES_H
#define HEAPSNAP_ATTACH_HOOK_QUIET_NAMES_H

#include "attach/hook/exit_points.h"

// Pure. OUTCOME_unknown: the name is not on the list.
enum call_outcome quiet_name(const char *name);

// Functions that are known to leave, or to let be left, the frames above them in another way.
enum unwinding {
	UNWINDS_not_known,
	UNWINDS_always,    // an exception begins there, or the thread's end
	UNWINDS_cancelled, // a cancellation point: where threads are cancelled
};

// Pure.
enum unwinding unwinding_name(const char *name);

// Pure. Of the C library: whether it calls functions of the program's.
bool name_calls_back(const char *name);

// Pure. Whether it is known to look at the frames above it.
bool name_asks_for_callers(const char *name);

#endif
