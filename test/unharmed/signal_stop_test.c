// SPDX-License-Identifier: Apache-2.0
// A signal that is on its way to a thread when the tool stops it: the thread is in the stop of the signal, not in that
// of the tool. It stops all the same, in time, and its handler runs, once. The build lets the tool's interruptions go
// through this program (--wrap), which sends each thread a signal first.
#include "attach/process/thread_facts.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 20, THREADS = 3 };

static pid_t target, sent_to[THREADS];
static size_t sent_count; // in this freeze

struct hs_error *__real_ptrace_interrupt(pid_t tid);
struct hs_error *__wrap_ptrace_interrupt(pid_t tid);

static pid_t waited_for;

static bool is_in_stop(pid_t pid) { return thread_state(held_process(pid), waited_for) == 't'; }

struct hs_error *__wrap_ptrace_interrupt(pid_t tid)
{
	bool is_new = sent_count < THREADS;

	for (size_t i = 0; i < sent_count; i++)
		is_new = is_new && sent_to[i] != tid;
	if (is_new) { // it was seized a moment ago
		sent_to[sent_count++] = tid;
		waited_for = tid;
		CHECK_EQUAL(syscall(SYS_tgkill, target, tid, SIGRTMIN), 0);
		CHECK(wait_until(is_in_stop, target));
	}
	return __real_ptrace_interrupt(tid);
}

static int run_all(void)
{
	struct program program = program_start("ptrace_signals", (const char *const[]){ NULL });
	char text[64];

	target = program.pid;
	for (int i = 0; i < ROUNDS; i++) {
		struct frozen_process process;

		sent_count = 0;
		must(threads_freeze(held_process(target), 2000, &process));
		CHECK_EQUAL(process.count, THREADS);
		CHECK_EQUAL(sent_count, THREADS);
		for (size_t j = 0; j < process.count; j++)
			CHECK_EQUAL(thread_state(held_process(target), process.threads[j].tid), 't');
		must(threads_thaw(&process));
	}
	CHECK(!anything_stopped_or_traced(target));
	CHECK_EQUAL(program_finish(&program, text, sizeof(text)), 0);
	CHECK_EQUAL(strtoul(text, NULL, 10), ROUNDS * THREADS);
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
