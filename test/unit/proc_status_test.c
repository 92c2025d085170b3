// SPDX-License-Identifier: Apache-2.0
#include "base/proc_status.h"

#include "base/process.h"
#include "check.h"
#include "held_process.h"

#include <stdlib.h>
#include <unistd.h>

// A name may hold what looks like a key; a line break in it is written as "\n" (task_state in fs/proc/array.c).
static const char text[] = "Name:\tTgid: 3\n"
			   "State:\tS (sleeping)\n"
			   "Tgid:\t12\n"
			   "TracerPid:\t0\n"
			   "Uid:\t1000\t1001\t1002\t1003\n"
			   "Gid:\t5\t6\t7\t8\n"
			   "NSpid:\t12\t345\t6\n"
			   "VmSize:\t    2048 kB\n"
			   "CapEff:\t00000000000000ff\n"
			   "Seccomp:\t2";

static void test_numbers(void)
{
	CHECK_EQUAL(proc_status_number(text, "Tgid:", 10, 0), 12);
	CHECK_EQUAL(proc_status_number(text, "TracerPid:", 10, 1), 0);
	CHECK_EQUAL(proc_status_number(text, "VmSize:", 10, 0), 2048);
	CHECK_EQUAL(proc_status_number(text, "CapEff:", 16, 0), 255);
	CHECK_EQUAL(proc_status_number(text, "Seccomp:", 10, 0), 2);
	CHECK_EQUAL(proc_status_number(text, "VmLck:", 10, 77), 77);
	CHECK(!proc_status_field(text, "VmLck:"));
	CHECK_EQUAL(proc_status_state(text), 'S');
	CHECK_EQUAL(proc_status_state("Name:\ta\n"), '?');
	CHECK_EQUAL(proc_status_state("State:\t\nTgid:\t1\n"), '?');
}

static void test_ids(void)
{
	unsigned ids[3] = { 0 };

	CHECK(proc_status_ids(text, "Uid:", ids));
	CHECK(ids[0] == 1000 && ids[1] == 1001 && ids[2] == 1002);
	CHECK(proc_status_ids(text, "Gid:", ids));
	CHECK(ids[0] == 5 && ids[1] == 6 && ids[2] == 7);
	CHECK(!proc_status_ids("Name:\ta\n", "Uid:", ids));
	CHECK(!proc_status_ids("Uid:\t1\n", "Uid:", ids));
	CHECK_EQUAL(proc_status_innermost_id(text), 6);
	CHECK_EQUAL(proc_status_innermost_id("NSpid:\t12"), 12);
	CHECK_EQUAL(proc_status_innermost_process("NStgid:\t9\t1\nNSpid:\t12\t4\n"), 1);
	CHECK(proc_status_has_signal("SigCgt:\t0000000000004001\n", "SigCgt:", 1));
	CHECK(proc_status_has_signal("SigCgt:\t8000000000004001\n", "SigCgt:", 64));
	CHECK(!proc_status_has_signal("SigCgt:\t0000000000004001\n", "SigCgt:", 2));
	CHECK(!proc_status_has_signal("SigBlk:\t0000000000004001\n", "SigCgt:", 1));
	CHECK_EQUAL(proc_status_innermost_id("NSpid:\t\nUid:\t7\n"), 0);
	CHECK_EQUAL(proc_status_innermost_id("Tgid:\t12\n"), 0);
}

static void test_limits(void)
{
	static const char limits[] = "Limit                     Soft Limit           Hard Limit           Units     \n"
				     "Max stack size            8388608              unlimited            bytes     \n"
				     "Max address space         unlimited            unlimited            bytes     \n";

	CHECK_EQUAL(proc_limits_soft(limits, "Max stack size"), 8388608);
	CHECK(proc_limits_soft(limits, "Max address space") == UINT64_MAX);
	CHECK(proc_limits_soft(limits, "Max locked memory") == UINT64_MAX);
}

// What the kernel writes of the test itself.
static void test_own(void)
{
	char *status;
	unsigned ids[3];
	struct hs_error *error = process_read_file(held_process(getpid()), "status", &status, NULL);

	CHECK(!error);
	if (error) {
		hs_error_destroy(error);
		return;
	}
	CHECK_EQUAL(proc_status_number(status, "Tgid:", 10, 0), getpid());
	CHECK_EQUAL(proc_status_number(status, "PPid:", 10, 0), getppid());
	CHECK_EQUAL(proc_status_innermost_id(status), getpid());
	CHECK(proc_status_ids(status, "Uid:", ids));
	CHECK(ids[0] == getuid() && ids[1] == geteuid());
	CHECK(proc_status_ids(status, "Gid:", ids));
	CHECK(ids[0] == getgid() && ids[1] == getegid());
	free(status);
}

int main(void)
{
	test_numbers();
	test_ids();
	test_limits();
	test_own();
	return CHECK_RESULT();
}
