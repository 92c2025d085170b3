// SPDX-License-Identifier: Apache-2.0
// What detach promises, looked up afresh in /proc when it is done.
#ifndef HEAPSNAP_ATTACH_SESSION_DETACH_VERIFY_H
#define HEAPSNAP_ATTACH_SESSION_DETACH_VERIFY_H

#include "attach/process/code_names.h"
#include "attach/process/thread_ids.h"
#include "attach/session/session.h"
#include "base/process.h"
#include "inject/abi/records.h"

// What is to be as before.
struct detach_before {
	const struct process *process;
	struct threads_seen threads;
};

// Owns nothing. To be called before the first freeze of the detach.
struct detach_before detach_look_before(const struct process *process);

// Adds one check to the report for each promise: code bytes, mappings, descriptors, tracer, threads and masks.
// `names`: as they were read while the region was there.
void detach_verify(const struct detach_before *before, const struct code_names *names, const struct hook_record *hooks,
		   size_t count, struct detach_report *report);

#endif
