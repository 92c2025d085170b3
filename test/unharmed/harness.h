// SPDX-License-Identifier: Apache-2.0
// Starting the programs of test/targets/ and looking at them from outside.
#ifndef HEAPSNAP_TEST_UNHARMED_HARNESS_H
#define HEAPSNAP_TEST_UNHARMED_HARNESS_H

#include "attach/file_pages.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct program {
	pid_t pid;
	int input, output; // the ends of its pipes
};

// Starts `name` of the folder in HEAPSNAP_TARGETS, and returns when it says "ready". Ends the test when it does not.
// `arguments`: as for execv, without the name, NULL at the end.
struct program program_start(const char *name, const char *const *arguments);
// Closes its input, and returns its exit status (128 + signal when it was killed, 1000 when it does not end within 20 s, and
// then it is killed). `text`, which may be NULL, gets what it printed.
int program_finish(struct program *program, char *text, size_t size);

// The number after `key` in /proc/PID/task/TID/status; `base` as for strtoull.
unsigned long long status_of(pid_t pid, pid_t tid, const char *key, int base);
// Whether some thread is stopped (T) or traced (t), or has a tracer.
bool anything_stopped_or_traced(pid_t pid);
// Every thread stopped by a signal.
bool wholly_stopped(pid_t pid);
// Until `condition` holds for the process, at most 10 s; its last value.
bool wait_until(bool (*condition)(pid_t), pid_t pid);
// All threads sleep.
bool wholly_asleep(pid_t pid);

void nap(long milliseconds);

// What pagemap says of a page (Documentation/admin-guide/mm/pagemap.rst): bit 61, it is its file's own.
uint64_t page_entry(pid_t pid, uint64_t address);

// What the tool reads of the target's files before it stops it. `pages` stays in use.
void prepare_files(struct target_memory *memory, struct file_pages *pages);

// Prints the error and ends the test. NULL passes.
void must(struct hs_error *error);

#endif
