// SPDX-License-Identifier: Apache-2.0
// A call that has moved a part of its data ends with that part when its thread is stopped: the kernel's own doing,
// whoever stops it. The tool adds nothing to it, also where the thread makes the tool's calls; and that is another
// thread, if there is one. Prints the table that is in docs/target-safety.md.
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/remote_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/clock.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WHOLE = 4 << 20 };

static void do_nothing(pid_t pid) { (void)pid; }

static void stop_and_continue(pid_t pid)
{
	kill(pid, SIGSTOP);
	CHECK(wait_until(wholly_stopped, pid));
	kill(pid, SIGCONT);
}

// No more than any debugger does.
static void interrupt_only(pid_t pid)
{
	CHECK_EQUAL(ptrace_seize(pid, 0), 0);
	must(ptrace_interrupt(pid));
	CHECK_EQUAL(stop_wait(pid, hs_monotonic_ns() + UINT64_C(10000000000), false).kind, STOP_EVENT);
	must(ptrace_detach(pid, 0));
}

static void use(struct frozen_process *frozen, const struct target_memory *memory, bool alone)
{
	static const uint64_t none[6];
	struct remote_caller caller;
	int64_t result;

	must(remote_call_open(frozen, memory, &caller));
	// Of the two threads the main one is in the call.
	CHECK_EQUAL(caller.carrier->tid == frozen->process->pid, alone);
	for (int i = 0; i < 3; i++)
		must(remote_call(&caller, SYS_sched_yield, none, &result));
	must(remote_call_close(&caller));
}

static void use_tool(pid_t pid, bool alone)
{
	struct frozen_process frozen, chosen;
	struct target_memory memory;

	must(target_memory_open(held_process(pid), &memory));
	must(freeze_prepared(&memory, 5000, &frozen));
	CHECK_EQUAL(frozen.count, 2);
	chosen = frozen;
	if (alone) {
		chosen.threads = frozen_main_thread(&frozen);
		chosen.count = 1;
	}
	use(&chosen, &memory, alone);
	must(threads_thaw(&frozen));
	target_memory_close(&memory);
}

static void use_its_thread(pid_t pid) { use_tool(pid, true); }

static void use_all(pid_t pid) { use_tool(pid, false); }

static long result_after(const char *call, void (*disturb)(pid_t))
{
	struct program program = program_start("ptrace_transfers", (const char *const[]){ call, NULL });
	char text[64];

	CHECK(wait_until(wholly_asleep, program.pid));
	disturb(program.pid);
	CHECK_EQUAL(program_finish(&program, text, sizeof(text)), 0);
	return strtol(text, NULL, 10);
}

static int run_all(void)
{
	static const struct {
		const char *call;
		bool is_cut; // else the call has done nothing, and begins again
	} calls[] = {
		{ "write-pipe", true },      { "writev-pipe", true },     { "write-socket", true },
		{ "writev-socket", true },   { "send-socket", true },     { "sendmsg-socket", true },
		{ "sendfile-socket", true }, { "recv-all-socket", true }, { "recvmsg-all-socket", true },
		{ "read-pipe", false },      { "read-socket", false },
	};

	printf("%-20s %10s %10s %10s %10s %10s\n", "", "no stop", "SIGSTOP", "ptrace", "carrier", "tool");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const char *call = calls[i].call;
		long whole = result_after(call, do_nothing), stopped = result_after(call, stop_and_continue);
		long traced = result_after(call, interrupt_only), carrier = result_after(call, use_its_thread);
		long all = result_after(call, use_all);

		printf("%-20s %10ld %10ld %10ld %10ld %10ld\n", call, whole, stopped, traced, carrier, all);
		CHECK_EQUAL(traced, stopped);
		CHECK_EQUAL(carrier, stopped);
		CHECK_EQUAL(all, stopped);
		CHECK_EQUAL(stopped < whole, calls[i].is_cut);
		CHECK(stopped > 0);
		CHECK(!calls[i].is_cut || whole == WHOLE);
	}
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
