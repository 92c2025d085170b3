// SPDX-License-Identifier: Apache-2.0
#include "attach/process/thread_facts.h"

#include "check.h"
#include "held_process.h"

#include <stdio.h>
#include <unistd.h>

#define STATUS(state, seccomp, features)                                                                               \
	"Name:\tState:\tD shstk\nState:\t" state "\nTgid:\t7\nSeccomp:\t" seccomp                                      \
	"\nSeccomp_filters:\t2\nx86_Thread_features:\t" features "\nx86_Thread_features_locked:\tshstk wrss \n"

static void test_add(void)
{
	struct thread_facts facts = { 0 };

	thread_facts_add(&facts, 7, STATUS("S (sleeping)", "0", ""));
	CHECK_EQUAL(facts.count, 1);
	CHECK_EQUAL(facts.stopped + facts.uninterruptible + facts.shadow_stacks + facts.filtered + facts.seccomp_mode,
		    0);
	thread_facts_add(&facts, 8, STATUS("T (stopped)", "2", "shstk "));
	thread_facts_add(&facts, 9, STATUS("D (disk sleep)", "0", "wrss shstk "));
	thread_facts_add(&facts, 10, STATUS("D (disk sleep)", "1", "wrss"));
	CHECK_EQUAL(facts.count, 4);
	CHECK_EQUAL(facts.stopped, 1);
	CHECK_EQUAL(facts.uninterruptible, 2);
	CHECK_EQUAL(facts.waiting, 9);
	CHECK_EQUAL(facts.shadow_stacks, 2);
	CHECK_EQUAL(facts.filtered, 2);
	CHECK_EQUAL(facts.seccomp_mode, 2);
	// A thread that is traced and stopped by its tracer is not stopped by a signal; a dead one is none.
	thread_facts_add(&facts, 11, STATUS("t (tracing stop)", "0", ""));
	thread_facts_add(&facts, 12, STATUS("Z (zombie)", "2", "shstk "));
	thread_facts_add(&facts, 13, STATUS("X (dead)", "2", "shstk "));
	CHECK_EQUAL(facts.count, 5);
	CHECK_EQUAL(facts.stopped, 1);
	CHECK_EQUAL(facts.filtered, 2);
	// A kernel that does not know the lines, and no text at all.
	facts = (struct thread_facts){ 0 };
	thread_facts_add(&facts, 7, "Name:\tx\nState:\tR (running)\n");
	thread_facts_add(&facts, 8, "");
	CHECK_EQUAL(facts.count, 2);
	CHECK_EQUAL(facts.shadow_stacks + facts.filtered, 0);
}

static void test_read(void)
{
	struct thread_facts facts;
	struct hs_error *error = thread_facts_read(held_process(getpid()), &facts);

	CHECK(!error);
	CHECK_EQUAL(facts.count, 1);
	error = thread_facts_read(held_process(2147483647), &facts);
	CHECK(error != NULL);
	hs_error_destroy(error);
}

int main(void)
{
	test_add();
	test_read();
	return CHECK_RESULT();
}
