// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/task_compare.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/guard/side_process.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000) // ns

// ASKERS: one that sleeps in the kernel is lost for the rest of a standstill.
// AGAIN_MS: outside, when something had no answer already.
enum { OUTSIDE_MS = 5000, AGAIN_MS = 100, LOOK_MS = 20, ASKERS = 3, AT_ONCE = 256, LEAVERS_MAX = 64 };

// The rest is shared with the process that asks, which has the same memory. Questions are there from the store of
// `asked` to that of the same number to `answered`; meanwhile they are that process's, and `done` of them have a
// result.
static struct asker {
	struct side_process process;      // first
	_Atomic uint32_t asked, answered; // futexes
	_Atomic uint32_t done;
	uint32_t count;
	enum kcmp_type type;
	pid_t tid, other_tids[AT_ONCE];
	long results[AT_ONCE];
} askers[ASKERS];

static struct {
	bool is_on;
	uint64_t left; // ns
	pid_t leavers[LEAVERS_MAX];
	size_t leaver_count;
} standstill;
static pid_t unanswered;

HS_NOT_INSTRUMENTED static int ask(void *of_asker)
{
	struct asker *asker = of_asker;
	uint32_t answered = atomic_load(&asker->answered);

	if (!side_process_enter(&asker->process, "heapsnap-ask", false))
		return 0;
	for (;;) {
		uint32_t asked = atomic_load(&asker->asked);

		if (asked == answered) {
			arch_own_syscall(SYS_futex, (long)&asker->asked, FUTEX_WAIT_PRIVATE, (long)asked, 0, 0);
			continue;
		}
		for (uint32_t i = 0; i < asker->count; i++) {
			asker->results[i] =
				arch_own_syscall(SYS_kcmp, asker->tid, asker->other_tids[i], (long)asker->type, 0, 0);
			atomic_store(&asker->done, i + 1);
		}
		answered = asked;
		atomic_store(&asker->answered, answered);
		bare_call3(SYS_futex, (long)&asker->answered, FUTEX_WAKE_PRIVATE, 1);
	}
}

static bool is_answered(const struct asker *asker)
{
	return atomic_load(&asker->answered) == atomic_load(&asker->asked);
}

// Since Linux 5.11, which knows this flag of the call for a range in which nothing is open. A filter that forbids the
// call makes it an older one.
static bool holds_past_return(void)
{
	static int is_new = -1;

	if (is_new < 0)
		is_new = syscall(SYS_close_range, UINT_MAX, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0;
	return is_new;
}

// The kernel names the innermost function of a task that sleeps which is none of the scheduler's and its locks'
// (get_wchan in kernel/sched/core.c): kcmp_lock or kcmp itself. It says 0 of one that has the processor or waits for
// it, and does not wait until it sleeps, as it would for /proc/PID/syscall.
static bool sleeps_in_kcmp(const struct asker *asker)
{
	char path[40], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)asker->process.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strstr(text, "kcmp");
}

// `status` takes none of these locks.
static bool has_one_thread(pid_t tid)
{
	char path[40], text[4096];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	return proc_status_number(text, "Threads:", 10, 0) == 1;
}

// *number_ret: of the question that it waits for. The answer may come right after.
static bool is_leaving(const struct asker *asker, uint32_t *number_ret)
{
	const uint32_t done = atomic_load(&asker->done);

	*number_ret = done;
	return holds_past_return() && done < asker->count && has_one_thread(asker->other_tids[done]) &&
	       sleeps_in_kcmp(asker) && atomic_load(&asker->done) == done;
}

// For at most so long, ns, until it is seen that one of the others executes a program, and outside of a standstill
// until somebody interrupts the tool. Returns how long it took.
static uint64_t wait_for_answers(const struct asker *asker, uint64_t most, bool *leaves_ret, uint32_t *number_ret)
{
	const uint64_t began = hs_monotonic_ns(), slice = LOOK_MS * MS;
	uint64_t passed = 0;

	*leaves_ret = false;
	while (!is_answered(asker) && !*leaves_ret && passed < most && (standstill.is_on || !interrupt_signal_came())) {
		const uint64_t left = most - passed < slice ? most - passed : slice;
		const struct timespec timeout = { 0, (long)left };
		const uint32_t answered = atomic_load(&asker->answered);

		if (answered != atomic_load(&asker->asked))
			syscall(SYS_futex, &asker->answered, FUTEX_WAIT_PRIVATE, answered, &timeout, NULL, 0);
		passed = hs_monotonic_ns() - began;
		*leaves_ret = passed >= slice && is_leaving(asker, number_ret);
	}
	return passed;
}

// One that waits for that lock can be ended by SIGKILL only. pre: no thread is stopped
static void end_unanswered(struct asker *asker)
{
	if (is_answered(asker))
		return;
	side_process_stop(&asker->process);
	atomic_store(&asker->answered, atomic_load(&asker->asked));
}

static struct hs_error *start(struct asker *asker)
{
	end_unanswered(asker);
	asker->process.what = "asking";
	asker->process.run = ask;
	return side_process_start(&asker->process);
}

// Outside of a standstill. *cannot_ret: no process can be started at all. One that an interrupt keeps from starting
// answers nothing.
static struct asker *start_outside(bool *cannot_ret)
{
	struct hs_error *error = start(&askers[0]);

	*cannot_ret = error && error->code == HS_ERROR_SYSTEM;
	hs_error_destroy(error);
	return error ? NULL : &askers[0];
}

static struct asker *free_asker(void)
{
	for (size_t i = 0; i < ASKERS; i++)
		if (side_process_is_there(&askers[i].process) && is_answered(&askers[i]))
			return &askers[i];
	return NULL;
}

static void put_questions(struct asker *asker, pid_t tid, const pid_t *other_tids, size_t count, enum kcmp_type type)
{
	asker->tid = tid;
	asker->type = type;
	asker->count = (uint32_t)count;
	memcpy(asker->other_tids, other_tids, count * sizeof(*other_tids));
	atomic_store(&asker->done, 0);
	atomic_fetch_add(&asker->asked, 1);
	syscall(SYS_futex, &asker->asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool is_leaver(pid_t tid)
{
	for (size_t i = 0; i < standstill.leaver_count; i++)
		if (standstill.leavers[i] == tid)
			return true;
	return false;
}

static void note_leaver(pid_t tid)
{
	if (standstill.is_on && standstill.leaver_count < LEAVERS_MAX)
		standstill.leavers[standstill.leaver_count++] = tid;
}

// Asks about the first of them, at most AT_ONCE. Returns how many have a result now, at least one.
static size_t ask_some(pid_t tid, const pid_t *other_tids, size_t count, enum kcmp_type type, long *results_ret)
{
	const uint64_t most = standstill.is_on ? standstill.left : (unanswered ? AGAIN_MS : OUTSIDE_MS) * MS;
	bool cannot = false, leaves = false;
	struct asker *asker = standstill.is_on ? free_asker() : start_outside(&cannot);
	size_t done = 0;

	if (cannot) {
		results_ret[0] = syscall(SYS_kcmp, tid, other_tids[0], type, 0, 0);
		if (results_ret[0] < 0)
			results_ret[0] = -errno;
		return 1;
	}
	if (asker && most > 0) {
		uint32_t number = 0;
		uint64_t passed;

		put_questions(asker, tid, other_tids, count < AT_ONCE ? count : AT_ONCE, type);
		passed = wait_for_answers(asker, most, &leaves, &number);
		if (standstill.is_on)
			standstill.left -= passed < standstill.left ? passed : standstill.left;
		// Not of the next one, should the answer have come meanwhile.
		done = leaves ? number : atomic_load(&asker->done);
		memcpy(results_ret, asker->results, done * sizeof(*results_ret));
		if (done == asker->count)
			return done;
	}
	results_ret[done] = leaves ? TASK_COMPARE_LEAVES : -ETIMEDOUT;
	if (leaves)
		note_leaver(other_tids[done]);
	else
		unanswered = other_tids[done];
	return done + 1;
}

void task_compare_all(pid_t tid, const pid_t *other_tids, size_t count, enum kcmp_type type, long *results_ret)
{
	for (size_t i = 0; i < count;) {
		size_t end = i;

		for (; end < count && !is_leaver(other_tids[end]); end++)
			;
		while (i < end)
			i += ask_some(tid, &other_tids[i], end - i, type, &results_ret[i]);
		if (i < count)
			results_ret[i++] = TASK_COMPARE_LEAVES;
	}
}

long task_compare(pid_t tid, pid_t other_tid, enum kcmp_type type)
{
	long result;

	task_compare_all(tid, &other_tid, 1, type, &result);
	errno = result < 0 ? (int)-result : 0;
	return result < 0 ? -1 : result;
}

void task_compare_forget(void) { unanswered = 0; }

struct hs_error *task_compare_check(pid_t target)
{
	return unanswered ? hs_error_create(HS_ERROR_REFUSED,
					    "the kernel did not say in time whether process %d shares memory or "
					    "descriptors with process %d; try again",
					    (int)unanswered, (int)target)
			  : NULL;
}

struct hs_error *task_compare_begin(void)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < ASKERS && !error; i++)
		error = start(&askers[i]);
	if (error)
		return error;
	holds_past_return(); // not to be asked in it
	standstill.is_on = true;
	standstill.left = TASK_COMPARE_MS * MS;
	standstill.leaver_count = 0;
	return NULL;
}

void task_compare_end(void)
{
	standstill.is_on = false;
	standstill.leaver_count = 0;
}

void task_compare_done(void)
{
	for (size_t i = 0; i < ASKERS; i++)
		side_process_stop(&askers[i].process);
}
