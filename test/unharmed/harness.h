// SPDX-License-Identifier: Apache-2.0
// Starting the programs of test/targets/ and looking at them from outside.
#ifndef HEAPSNAP_TEST_UNHARMED_HARNESS_H
#define HEAPSNAP_TEST_UNHARMED_HARNESS_H

#include "attach/elf/file_pages.h"
#include "attach/ptrace/threads.h"
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
// Closes its input, and returns its exit status (128 + signal when it was killed, 1000 when it has neither ended nor
// run for 20 s, and then it is killed). `text`, which may be NULL, gets what it printed.
int program_finish(struct program *program, char *text, size_t size);

// The number after `key` in /proc/PID/task/TID/status; `base` as for strtoull.
unsigned long long status_of(pid_t pid, pid_t tid, const char *key, int base);
// Whether some thread is stopped (T) or traced (t), or has a tracer.
bool anything_stopped_or_traced(pid_t pid);
// Whether every thread of the process passes.
bool all_threads(pid_t pid, bool (*passes)(pid_t pid, pid_t tid));
// Every thread stopped by a signal.
bool wholly_stopped(pid_t pid);
// Until `condition` holds for the process, at most 10 s; its last value.
bool wait_until(bool (*condition)(pid_t), pid_t pid);
// All threads sleep.
bool wholly_asleep(pid_t pid);

// Runs `tool` in a process of its own, as in life: whoever traces is not the parent, which would be told of deaths by
// the same calls. Returns what it returns, or -1. Ends this process with STARVED where the tool ends so.
int run_as_tool(int (*tool)(void));

// The number of the system call that the thread sleeps in, by what the kernel shows of it; -1 = in none, or it runs.
long call_of(pid_t pid, pid_t tid);
// Whether that is execve(2).
bool is_in_execve(pid_t pid, pid_t tid);

// A copy of /bin/sleep, the opening of which for an exec waits for an answer of the one who has `listener`
// (fanotify(7)); closing that lets it go on.
struct watched_sleep {
	char folder[32], program[64];
	int listener;
};
// False, with the reason printed: there is no fanotify here.
bool watched_sleep_make(struct watched_sleep *ret);
void watched_sleep_remove(struct watched_sleep *sleep);

void nap(long milliseconds);

// What pagemap says of a page (Documentation/admin-guide/mm/pagemap.rst): bit 61, it is its file's own.
uint64_t page_entry(pid_t pid, uint64_t address);

// What the tool reads of the target's files before it stops it. The caller gives it to the frozen process.
void prepare_files(const struct target_memory *memory, struct file_pages *pages);
// Stops the target for remote calls: the pages in which their gadgets are looked for are asked for before, as under the
// freeze no page of a file is. A child of fork(2) has none of them mapped before it has run there.
struct hs_error *freeze_prepared(const struct target_memory *memory, unsigned timeout_ms, struct frozen_process *ret);

// The main thread among the frozen ones: not always the first, as the numbers of threads begin anew after the highest.
// Ends the test when there is none.
struct frozen_thread *frozen_main_thread(const struct frozen_process *frozen);

// The exit status of a process whose freeze or calls ended for want of a processor (HS_ERROR_TIMEOUT): that proves
// nothing, and it is tried again.
enum { STARVED = 75 };
// Whether a process has ended so; prints it.
bool was_starved(int wait_status);
// Runs `test` in a process of its own, which returns its exit status; again, a few times, where that is STARVED.
int run_unless_starved(int (*test)(void));

// Prints the error and ends the process: with STARVED where it is for that, and no check has failed. NULL passes.
#define must(error) harness_must(error, check_failures)
void harness_must(struct hs_error *error, int failures);

#endif
