// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/task_compare.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/guard/side_process.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000) // ns

enum { OUTSIDE_MS = 5000, LOOK_MS = 20 };

// Shared with the process that asks, which has the same memory. A question is there from the store of `asked` to that
// of the same number to `answered`; meanwhile the other fields are that process's.
static struct {
	_Atomic uint32_t asked, answered; // futexes
	pid_t tids[2];
	enum kcmp_type type;
	long result; // negative = an errno
} shared;

static int ask(void *unused);
static struct side_process asker = { .what = "asking", .run = ask };
static struct {
	bool is_on;
	uint64_t left; // ns
} standstill;
static pid_t unanswered;

HS_NOT_INSTRUMENTED static int ask(void *unused)
{
	uint32_t done = atomic_load(&shared.answered);

	(void)unused;
	if (!side_process_enter(&asker, "heapsnap-ask", false))
		return 0;
	for (;;) {
		uint32_t asked = atomic_load(&shared.asked);

		if (asked == done) {
			arch_own_syscall(SYS_futex, (long)&shared.asked, FUTEX_WAIT_PRIVATE, (long)asked, 0, 0);
			continue;
		}
		shared.result = arch_own_syscall(SYS_kcmp, shared.tids[0], shared.tids[1], (long)shared.type, 0, 0);
		done = asked;
		atomic_store(&shared.answered, done);
		bare_call3(SYS_futex, (long)&shared.answered, FUTEX_WAKE_PRIVATE, 1);
	}
}

static bool is_answered(void) { return atomic_load(&shared.answered) == atomic_load(&shared.asked); }

// A kernel since 5.9, which refuses a range that ends before its beginning. A filter that forbids the call has another
// error.
static bool holds_past_return(void)
{
	static int is_new = -1;

	if (is_new < 0)
		is_new = syscall(SYS_close_range, UINT_MAX, 0U, 0U) < 0 && errno == EINVAL;
	return is_new;
}

// The process that asks sleeps inside of that call: the kernel names the innermost function that is none of the
// scheduler's and its locks' (get_wchan in kernel/sched/core.c), kcmp_lock or kcmp itself. It says 0 of one that has
// the processor or waits for it, and does not wait until it sleeps, as it would for /proc/PID/syscall.
static bool waits_in_kernel(void)
{
	char path[40], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)asker.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strstr(text, "kcmp");
}

// For at most so long, ns, until it is seen that one of the two executes a program, and outside of a standstill until
// somebody interrupts the tool. Returns how long it took.
static uint64_t wait_for_answer(uint64_t most, bool *leaves_ret)
{
	const uint64_t began = hs_monotonic_ns(), slice = LOOK_MS * MS;
	uint64_t passed = 0;

	*leaves_ret = false;
	while (!is_answered() && !*leaves_ret && passed < most && (standstill.is_on || !interrupt_signal_came())) {
		const uint64_t left = most - passed < slice ? most - passed : slice;
		const struct timespec timeout = { 0, (long)left };
		const uint32_t answered = atomic_load(&shared.answered);

		if (answered != atomic_load(&shared.asked))
			syscall(SYS_futex, &shared.answered, FUTEX_WAIT_PRIVATE, answered, &timeout, NULL, 0);
		passed = hs_monotonic_ns() - began;
		*leaves_ret = passed >= slice && holds_past_return() && waits_in_kernel();
	}
	return passed;
}

// One that waits for that lock can be ended by SIGKILL only. pre: no thread is stopped
static void end_unanswered(void)
{
	if (is_answered())
		return;
	side_process_stop(&asker);
	atomic_store(&shared.answered, atomic_load(&shared.asked));
}

// False: no process can be started at all. One that an interrupt keeps from starting answers nothing.
static bool start_outside(void)
{
	struct hs_error *error;
	bool cannot;

	end_unanswered();
	error = side_process_start(&asker);
	cannot = error && error->code == HS_ERROR_SYSTEM;
	hs_error_destroy(error);
	return !cannot;
}

static void put_question(pid_t tid, pid_t other_tid, enum kcmp_type type)
{
	shared.tids[0] = tid;
	shared.tids[1] = other_tid;
	shared.type = type;
	atomic_fetch_add(&shared.asked, 1);
	syscall(SYS_futex, &shared.asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

long task_compare(pid_t tid, pid_t other_tid, enum kcmp_type type)
{
	const uint64_t most = standstill.is_on ? standstill.left : OUTSIDE_MS * MS;
	bool is_put, leaves = false;

	if (!standstill.is_on && !start_outside())
		return syscall(SYS_kcmp, tid, other_tid, type, 0, 0);
	is_put = side_process_is_there(&asker) && is_answered() && most > 0;
	if (is_put) {
		uint64_t passed;

		put_question(tid, other_tid, type);
		passed = wait_for_answer(most, &leaves);
		if (standstill.is_on)
			standstill.left -= passed < standstill.left ? passed : standstill.left;
	}
	if (is_put && is_answered()) {
		errno = shared.result < 0 ? (int)-shared.result : 0;
		return shared.result < 0 ? -1 : shared.result;
	}
	if (leaves)
		return TASK_COMPARE_LEAVES;
	unanswered = other_tid;
	errno = ETIMEDOUT;
	return -1;
}

pid_t task_compare_unanswered(void) { return unanswered; }
void task_compare_forget(void) { unanswered = 0; }

struct hs_error *task_compare_begin(void)
{
	struct hs_error *error;

	end_unanswered();
	error = side_process_start(&asker);
	if (error)
		return error;
	holds_past_return(); // not to be asked in it
	standstill.is_on = true;
	standstill.left = TASK_COMPARE_MS * MS;
	return NULL;
}

void task_compare_end(void) { standstill.is_on = false; }

void task_compare_done(void) { side_process_stop(&asker); }
