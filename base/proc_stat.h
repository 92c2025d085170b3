// SPDX-License-Identifier: Apache-2.0
// The text of /proc/PID/stat and of /proc/PID/task/TID/stat (proc_pid_stat(5)).
#ifndef HEAPSNAP_BASE_PROC_STAT_H
#define HEAPSNAP_BASE_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_stat {
	const char *name; // of the thread, in the text, without a 0 byte behind it; it may hold anything
	size_t name_size;
	char state;            // a letter of proc_pid_stat(5)
	unsigned flags;        // PF_... (include/linux/sched.h)
	uint32_t thread_count; // of the process
	uint64_t stack_start;  // 0 = the reader may not know it
};

// Pure. False: the text does not have all of this.
bool proc_stat_parse(const char *text, struct proc_stat *ret);

// Pure: whether the thread whose file says `text` will run an instruction of the program yet: it is not dead, and the
// kernel is not about to take it down.
bool proc_stat_lives(const char *text);

#endif
