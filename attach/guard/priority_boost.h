// SPDX-License-Identifier: Apache-2.0
// The tool's priority while the target stands still. On an overloaded machine a tool that waits for a processor like
// everybody else keeps the target waiting with it.
#ifndef HEAPSNAP_ATTACH_GUARD_PRIORITY_BOOST_H
#define HEAPSNAP_ATTACH_GUARD_PRIORITY_BOOST_H

#include <stdint.h>
#include <sys/resource.h>

#define HS_HIGHEST_PRIORITY (-20) // setpriority(2)

// While threads have to reach their stops: a little above its own, where the tool may have that (CAP_SYS_NICE, or
// RLIMIT_NICE). No more: who is waited for needs a processor, too. Where the tool and the target are in one session or
// cgroup, which has its share of each processor by the weight of what is to be run there, a tool of the highest
// priority draws the share to its own processor, and threads on another one wait for seconds (docs/performance.md).
void priority_boost_begin(void);
// Gives all of it back, with the limit and the action for its signal that priority_boost_raise has changed.
void priority_boost_end(void);

// While every thread stands there is no thread to wait for: the highest ordinary priority, and a real-time one, where
// the tool may have them (CAP_SYS_NICE, RLIMIT_RTPRIO). An ordinary priority counts only within a session or cgroup
// (sched(7), autogroup), and threads that are released would take the tool's processor from it, each in turn, while the
// last of them still stand. A tool at fault lets others run all the same: after 200 ms without a wait it falls back by
// itself (RLIMIT_RTTIME), until the next standstill. A tool that was started under another policy keeps that.
void priority_boost_raise(void);
void priority_boost_lower(void);

// Pure: how many microseconds at a real-time priority without a wait the tool may use under its limit RLIMIT_RTTIME
// before it falls back. 0 = none: at the hard limit the kernel kills, and what the tool is in the middle of may take
// longer than there is between the two.
uint64_t priority_boost_longest(const struct rlimit *limit);

#endif
