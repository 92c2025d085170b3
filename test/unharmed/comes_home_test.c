// SPDX-License-Identifier: Apache-2.0
// The tool cannot give a thread its registers back: the thread comes home by itself, through the frame, for which that
// and the code that it runs on stay. The build lets the setting of registers go through this program (--wrap).
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/remote_call.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static unsigned settings, failing_setting; // 0 = none

struct hs_error *__real_ptrace_set_registers(pid_t tid, const struct user_regs_struct *registers);
struct hs_error *__wrap_ptrace_set_registers(pid_t tid, const struct user_regs_struct *registers);

struct hs_error *__wrap_ptrace_set_registers(pid_t tid, const struct user_regs_struct *registers)
{
	if (failing_setting && ++settings == failing_setting)
		return hs_error_system(EIO, "made to fail");
	return __real_ptrace_set_registers(tid, registers);
}

// One of the settings of a close fails. False = it has no such one.
static bool come_home(unsigned number)
{
	struct program program = program_start("ptrace_compute", ARGUMENTS("2"));
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	struct file_pages files;
	struct hs_error *error;
	int64_t result = 0;

	must(target_memory_open(held_process(program.pid), &memory));
	prepare_files(&memory, &files);
	must(threads_freeze(held_process(program.pid), 2000, &process));
	process.files = &files;
	must(remote_call_open(&process, &memory, &caller));
	must(remote_call(&caller, SYS_getpid, (const uint64_t[6]){ 0 }, &result));
	CHECK_EQUAL(result, program.pid);
	settings = 0;
	failing_setting = number;
	error = remote_call_close(&caller);
	failing_setting = 0;
	hs_error_destroy(error);
	must(threads_thaw(&process));
	CHECK(!anything_stopped_or_traced(program.pid));
	nap(50); // it computes, with a state that must be the old one
	file_pages_deinit(&files);
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
	return error != NULL;
}

static int run_all(void)
{
	for (int no_gadgets = 0; no_gadgets < 2; no_gadgets++) {
		unsigned number = 0;

		if (no_gadgets) // their code is written at the entry point
			setenv("HEAPSNAP_TEST_NO_GADGETS", "1", 1);
		while (come_home(++number))
			;
		CHECK(number > 2);
	}
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
