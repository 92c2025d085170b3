// SPDX-License-Identifier: Apache-2.0
// Why memory of the target that is mapped could not be read or written.
//
// A page of a range that is registered with userfaultfd and not there yet is filled in by whoever has that descriptor,
// once somebody asks for it. The kernel does not wait for that on behalf of another process: it fails (handle_userfault
// in fs/userfaultfd.c, VM_FAULT_SIGBUS without FAULT_FLAG_ALLOW_RETRY). Nothing but the flags in /proc/PID/smaps tells.
#ifndef HEAPSNAP_ATTACH_PROCESS_FAULT_REASON_H
#define HEAPSNAP_ATTACH_PROCESS_FAULT_REASON_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>

// The mapping that is looked for in the text of smaps, which comes line by line.
struct smaps_search {
	uint64_t address;
	bool is_inside; // the lines now are those of its mapping
};

// Pure: whether this line is that mapping's VmFlags; then *registered_ret says whether it is registered with
// userfaultfd (um: missing pages, uw: write-protected ones, ui: minor faults; proc(5)).
bool smaps_search_line(struct smaps_search *search, const char *line, bool *registered_ret);

// Adds the reason to an error of the code HS_ERROR_FAULT that says where; leaves others alone. It reads the whole of
// smaps up to there, which takes long in a large process. pre: no thread of the target is stopped for it.
struct hs_error *fault_explain(struct hs_error *error, const struct process *process) HS_MUST_CHECK;

#endif
