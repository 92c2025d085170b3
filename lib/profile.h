// SPDX-License-Identifier: Apache-2.0
// To record a process for a while, write its heap and leave it: attach, wait, dump, detach.
#ifndef HEAPSNAP_LIB_PROFILE_H
#define HEAPSNAP_LIB_PROFILE_H

#include "base/error.h"
#include "base/process.h"
#include "lib/attach.h"
#include "lib/detach.h"
#include "lib/dump.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_profile_options {
	struct hs_attach_options attach;
	struct hs_dump_options dump;
	uint64_t time_ns;        // between attach and dump
	const char *peak_output; // path of another profile, as dump.output: of the peak (lib/peak.h); NULL = none
	unsigned detach_wait_ms; // as of hs_detach
};

struct hs_profile_result {
	struct hs_attach_result attach;
	struct hs_dump_result dump;
	struct hs_detach_result detach;
	uint64_t waited_ns;
	bool is_interrupted; // the wait ended early, by a signal
	// Where a peak was wanted: it is written, also where the rest has failed; or why not, owned.
	bool has_peak;
	struct hs_error *peak_error;
	bool peak_is_end; // the heap at the end is the highest that was seen; then `peak` is empty
	struct hs_dump_result peak;
	uint64_t peak_bytes;    // written
	uint64_t looks, missed; // looks, with that at the end; and those that have failed
};

// The first signal ends the wait; the heap is written, and the process left, as if the time were over. What comes after
// that ends the dump, and then the detach, as it does alone. Once attached, it detaches whatever has failed. The
// outputs are tried before the process is touched. The peak is written when the process is left, also that of one that
// has ended before its time: *ret may have it after a failure, and nothing else; it is to be deinitialized in any case.
// HS_ERROR_REFUSED: it is attached already, say; or its peak is wanted, and it cannot be copied while it runs.
// HS_ERROR_GONE: the process has ended, or executed another program, before its heap was written; others as of
// hs_attach, hs_dump and hs_detach: where more than one fails, the error has the first one's code, and says all.
struct hs_error *hs_profile(const struct process *process, const struct hs_profile_options *options,
			    struct hs_profile_result *ret) HS_MUST_CHECK;
void hs_profile_result_deinit(struct hs_profile_result *result);

#endif
