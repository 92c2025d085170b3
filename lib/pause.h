// SPDX-License-Identifier: Apache-2.0
// To let a process run for a while.
#ifndef HEAPSNAP_LIB_PAUSE_H
#define HEAPSNAP_LIB_PAUSE_H

#include "base/process.h"

#include <stdint.h>

enum hs_pause_end {
	HS_PAUSE_OVER,
	HS_PAUSE_INTERRUPTED, // a signal (lib/tool.h) came before: it has ended the pause and nothing else
	HS_PAUSE_GONE         // the process has ended
};

// Waits until `deadline_ns` (CLOCK_MONOTONIC), a signal, or the process's end. The signal is taken for dealt with: what
// comes next is done, until another one. `what` names the seconds in the progress that is told, of `began_ns` to
// `ends_ns`.
enum hs_pause_end hs_pause(const struct process *process, uint64_t deadline_ns, const char *what, uint64_t began_ns,
			   uint64_t ends_ns);

#endif
