// SPDX-License-Identifier: Apache-2.0
// A program that has begun without coming to its stop (launch_moment.h): what its loader runs itself, resolvers of
// indirect functions and auditors, has blocked the signal that the place raises, or the program has taken it away
// since.
//
// What proves that it has begun: the loader has listed libraries, besides what the kernel has mapped, and says that it
// is done (RT_CONSISTENT); and the main thread, which alone runs until then, is in other code than the loader's.
// Between the loader's word and its call of the place there are only instructions of its own.
#ifndef HEAPSNAP_ATTACH_PTRACE_LAUNCH_PASSED_H
#define HEAPSNAP_ATTACH_PTRACE_LAUNCH_PASSED_H

#include "attach/ptrace/launch_moment.h"
#include "attach/ptrace/stop_wait.h"
#include "base/error.h"

#include <stdbool.h>

// Ten times a second at most; else, and where the place is a breakpoint, nothing is done. *ret: it has begun; what was
// written is taken out and the signal, if it is pending, taken back, and the main thread stands, without a signal to be
// delivered. Else it is as it was. All threads stand for that, once it seems to have begun, which is tried ever more
// seldom. HS_ERROR_GONE, HS_ERROR_INTERRUPTED. pre: the main thread is traced, and runs
struct hs_error *holding_take_passed(struct holding *holding, bool *ret) HS_MUST_CHECK;

// Whether the stop is the delivery of a signal of the place that was blocked when it was raised: nobody is to get it.
// pre: it is not met in the place
struct hs_error *holding_is_late_signal(const struct holding *holding, const struct stop *stop,
					bool *ret) HS_MUST_CHECK;

#endif
