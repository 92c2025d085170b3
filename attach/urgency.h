// SPDX-License-Identifier: Apache-2.0
// The tool's priority while the target stands still. On a machine with more to do than it can, a tool that waits for a processor like
// everybody else keeps the target waiting with it.
#ifndef HEAPSNAP_ATTACH_URGENCY_H
#define HEAPSNAP_ATTACH_URGENCY_H

// The highest priority of the ordinary scheduling class, where the tool may take it (CAP_SYS_NICE, or RLIMIT_NICE); the same priority
// otherwise. Never a real-time class: a tool at fault would not let others run. Returns the nice value to give back.
int urgency_begin(void);
void urgency_end(int nice_value);

#endif
