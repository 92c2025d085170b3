// SPDX-License-Identifier: Apache-2.0
// What is remembered of a process's threads from one freeze to the next, while no hook leads into the payload any more:
// no thread can get inside then, so what was found to be outside stays so. It is remembered by thread id. A thread that
// has got the id of another since has begun when no hook was there, and is outside as well.
#ifndef HEAPSNAP_ATTACH_REGION_LOOKED_AT_H
#define HEAPSNAP_ATTACH_REGION_LOOKED_AT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct looked_at {
	pid_t tid;
	uint32_t turn;       // the freeze in which it was looked at last, from 1 on
	uint64_t stack_high; // the end of the stack that it stood in; of another one nothing is known
	uint64_t clean_to;   // nothing of that stack below leads into the payload; UINT64_MAX = nothing of it does
};

struct looked_at_list {
	struct looked_at *items; // by tid
	size_t count, room;
	uint32_t turn; // this freeze's
};

// NULL = it was not looked at. Valid until the next is made.
struct looked_at *looked_at_find(const struct looked_at_list *list, pid_t tid);
// Makes it if need be, with nothing known of it.
struct hs_error *looked_at_make(struct looked_at_list *list, pid_t tid, struct looked_at **ret) HS_MUST_CHECK;
void looked_at_deinit(struct looked_at_list *list);

#endif
