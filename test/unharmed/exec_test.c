// SPDX-License-Identifier: Apache-2.0
// Freezing a process that becomes another program meanwhile, or fails to.
#include "attach/process/thread_facts.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

// Freezes until the process has ended. Returns how often that failed otherwise than it may.
static int freeze_until_end(pid_t pid)
{
	unsigned frozen = 0, gone = 0;

	for (;;) {
		struct frozen_process process;
		struct hs_error *error = threads_freeze(held_process(pid), 2000, &process);

		if (!error) {
			frozen++;
			must(threads_thaw(&process));
			continue;
		}
		if (error->code != HS_ERROR_GONE) {
			fprintf(stderr, "%s\n", error->message);
			return 1;
		}
		hs_error_destroy(error);
		gone++;
		if (thread_state(held_process(pid), pid) == 'Z' || thread_state(held_process(pid), pid) == 'X')
			break;
	}
	printf("exec: %u times frozen, %u times gone\n", frozen, gone);
	fflush(stdout);
	return 0;
}

// The target's own death, and its exec, in the middle of a freeze. The tool is another process than the parent, as in
// life: to a parent, a child that it does not trace any more looks like one that runs.
static void test_exec(void)
{
	for (int round = 0; round < 5; round++) {
		struct program program = program_start("ptrace_exec", ARGUMENTS("60", "ready"));
		pid_t tool;
		int status;

		fflush(stdout);
		tool = fork();
		if (tool == 0)
			_exit(freeze_until_end(program.pid));
		waitpid(tool, &status, 0);
		CHECK_EQUAL(status, 0);
		if (status != 0)
			kill(program.pid, SIGKILL);
		CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
	}
}

// Answers each request to execute a file that has a mark, with `answer`: late, and not before `condition`, which may be
// NULL, holds for the process. Never returns.
static _Noreturn void answer_slowly(int listener, bool (*condition)(pid_t), unsigned milliseconds, uint32_t answer)
{
	struct fanotify_event_metadata event;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(listener, &event, sizeof(event)) == (ssize_t)sizeof(event)) {
		struct fanotify_response response = { .fd = event.fd, .response = answer };

		if (condition && !wait_until(condition, event.pid))
			fprintf(stderr, "an exec of %d goes on too soon\n", (int)event.pid);
		nap(milliseconds);
		if (write(listener, &response, sizeof(response)) != (ssize_t)sizeof(response))
			_exit(1);
		close(event.fd);
	}
	_exit(0);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) || chmod(path, 0755))
		exit(2);
}

// A script whose interpreter a listener must allow to be opened.
struct slow_script {
	char folder[32], script[64], interpreter[64];
	int listener;
};

// `program`: the interpreter, a file beside the targets; NULL: one that cannot be executed. False: there is no fanotify
// here, which it says.
static bool slow_script_make(const char *program, struct slow_script *ret)
{
	const char *targets = getenv("HEAPSNAP_TARGETS");
	char text[4096];

	*ret = (struct slow_script){ .folder = "/tmp/heapsnap-test-XXXXXX" };
	ret->listener = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	if (ret->listener < 0) {
		CHECK_LEFT_OUT("no fanotify here");
		return false;
	}
	if (!mkdtemp(ret->folder))
		exit(2);
	snprintf(ret->script, sizeof(ret->script), "%s/script", ret->folder);
	snprintf(ret->interpreter, sizeof(ret->interpreter), "%s/interpreter", ret->folder);
	snprintf(text, sizeof(text), "#!%s\n", ret->interpreter);
	write_file(ret->script, text);
	write_file(ret->interpreter, "");
	snprintf(text, sizeof(text), "cp %s/%s %s", targets ? targets : ".", program ? program : "", ret->interpreter);
	if (program && system(text) != 0)
		exit(2);
	CHECK_EQUAL(fanotify_mark(ret->listener, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, ret->interpreter), 0);
	fflush(stdout);
	return true;
}

static void slow_script_remove(const struct slow_script *script)
{
	unlink(script->script);
	unlink(script->interpreter);
	rmdir(script->folder);
}

// 12 freezes, some with little time. How many had every thread; -1: one that said so had not, or failed otherwise than
// it may.
static int freeze_beside_exec(pid_t pid, size_t threads)
{
	int frozen = 0;

	for (int i = 0; i < 12; i++) {
		struct frozen_process process;
		struct hs_error *error = threads_freeze(held_process(pid), i % 3 ? 3000 : 100, &process);

		if (error) {
			fprintf(stderr, "%s\n", error->message);
			if (error->code != HS_ERROR_TIMEOUT)
				return -1;
			hs_error_destroy(error);
			continue;
		}
		frozen++;
		if (process.count != threads)
			return -1;
		must(threads_thaw(&process));
		nap(7 * i);
	}
	return frozen;
}

// An exec that takes long, and fails: for that time no thread can be seized (seize_guard.h). They are alive all the
// same: a freeze has every thread, or says that it could not.
static void test_failing_exec(void)
{
	struct slow_script slow;
	int status;
	struct program program;
	pid_t denier, tool;

	if (!slow_script_make(NULL, &slow))
		return;
	denier = fork();
	if (denier == 0)
		answer_slowly(slow.listener, NULL, 120, FAN_DENY);
	close(slow.listener);
	program = program_start("ptrace_failing_exec", ARGUMENTS(slow.script));
	tool = fork();
	if (tool == 0)
		_exit((int)freeze_beside_exec(program.pid, 4));
	CHECK_EQUAL(waitpid(tool, &status, 0), tool);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) > 0 && WEXITSTATUS(status) <= 12);
	printf("failing exec: %d of 12 times frozen\n", WEXITSTATUS(status));
	CHECK(!anything_stopped_or_traced(program.pid));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
	kill(denier, SIGKILL);
	CHECK_EQUAL(waitpid(denier, &status, 0), denier);
	slow_script_remove(&slow);
}

static struct {
	pid_t pid;
	unsigned times; // that the tool comes to seize the main thread no sooner than an exec is under way
} late;

int __real_ptrace_seize(pid_t tid, unsigned long options);
int __wrap_ptrace_seize(pid_t tid, unsigned long options);

static bool is_elsewhere(pid_t pid, pid_t tid) { return !is_in_execve(pid, tid); }

static bool any_is_in_exec(pid_t pid) { return !all_threads(pid, is_elsewhere); }

int __wrap_ptrace_seize(pid_t tid, unsigned long options)
{
	if (tid == late.pid && late.times > 0) {
		late.times--;
		CHECK(wait_until(any_is_in_exec, tid));
	}
	return __real_ptrace_seize(tid, options);
}

static int freeze_late(pid_t pid)
{
	struct frozen_process process;
	struct hs_error *error;

	late.pid = pid;
	late.times = 20;
	do {
		error = threads_freeze(held_process(pid), 5000, &process);
		if (!error)
			must(threads_thaw(&process));
		else if (error->code != HS_ERROR_GONE)
			must(error);
		hs_error_destroy(error);
	} while (late.times > 0 || error);
	fflush(stdout);
	return CHECK_RESULT();
}

// One slow exec after the other. A main thread's seizing waits for an exec, and finds then that the thread which it
// named has ended by it: time and again, where the tool gets no processor in between.
static void test_exec_after_exec(void)
{
	struct slow_script slow;
	int status;
	pid_t answerer, pid, tool;

	if (!slow_script_make("ptrace_exec", &slow))
		return;
	answerer = fork();
	if (answerer == 0)
		answer_slowly(slow.listener, NULL, 10, FAN_ALLOW);
	close(slow.listener);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(slow.script, slow.script, "60", NULL);
		_exit(1);
	}
	tool = fork();
	if (tool == 0)
		_exit(freeze_late(pid));
	CHECK_EQUAL(waitpid(tool, &status, 0), tool);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
	kill(answerer, SIGKILL);
	CHECK_EQUAL(waitpid(answerer, NULL, 0), answerer);
	slow_script_remove(&slow);
}

static void *sleep_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

// Says that a file is being executed, and lets that go on when nobody has the other end of `wait` open any more.
static _Noreturn void deny_at_end(int listener, int says, int wait)
{
	struct fanotify_event_metadata event;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(listener, &event, sizeof(event)) == (ssize_t)sizeof(event) && write(says, "x", 1) == 1) {
		const struct fanotify_response response = { .fd = event.fd, .response = FAN_DENY };

		while (read(wait, &byte, 1) > 0)
			;
		(void)!write(listener, &response, sizeof(response));
	}
	_exit(0);
}

static void *execute(void *path)
{
	execl(path, path, NULL);
	return sleep_for_ever(NULL);
}

// 0: the freeze gave up.
static int freeze_that_fails(pid_t pid)
{
	struct frozen_process process;
	struct hs_error *error = threads_freeze(held_process(pid), 500, &process);

	if (error && error->code != HS_ERROR_TIMEOUT)
		fprintf(stderr, "%s\n", error->message);
	return !error || error->code != HS_ERROR_TIMEOUT;
}

// An exec that lasts as long as the freeze: every thread's seizing waits for it, time and again, and the freeze gives
// up all the same.
static void test_endless_exec(void)
{
	struct slow_script slow;
	int said[2], wait[2], status = -1;
	char byte;
	pid_t answerer, pid, tool;

	if (!slow_script_make(NULL, &slow))
		return;
	if (pipe2(said, O_CLOEXEC) || pipe2(wait, O_CLOEXEC))
		exit(2);
	answerer = fork();
	if (answerer == 0) {
		close(wait[1]);
		deny_at_end(slow.listener, said[1], wait[0]);
	}
	close(slow.listener);
	pid = fork();
	if (pid == 0) {
		pthread_t threads[3];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(wait[1]);
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, i == 2 ? execute : sleep_for_ever, slow.script);
		sleep_for_ever(NULL);
	}
	CHECK_EQUAL(read(said[0], &byte, 1), 1);
	tool = fork();
	if (tool == 0) {
		close(wait[1]);
		_exit(freeze_that_fails(pid));
	}
	for (int i = 0; i < 2000 && waitpid(tool, &status, WNOHANG) == 0; i++)
		nap(10); // a bound for a tool that hangs
	CHECK_EQUAL(status, 0);
	if (status == -1)
		kill(tool, SIGKILL);
	close(wait[1]);
	kill(pid, SIGKILL);
	CHECK_EQUAL(waitpid(pid, NULL, 0), pid);
	CHECK_EQUAL(waitpid(answerer, NULL, 0), answerer);
	for (int i = 0; i < 2; i++)
		close(said[i]);
	close(wait[0]);
	slow_script_remove(&slow);
}

static bool is_in_exec(pid_t pid) { return is_in_execve(pid, pid); }

// The main thread, which executes, cannot stand.
static bool is_seized_or_stands(pid_t pid, pid_t tid)
{
	return tid == pid ? status_of(pid, tid, "TracerPid:", 10) != 0 : thread_state(held_process(pid), tid) == 't';
}

static bool others_stand(pid_t pid) { return all_threads(pid, is_seized_or_stands); }

// 0: the freeze said that the process became another program.
static int freeze_during_exec(pid_t pid)
{
	struct frozen_process process;
	struct hs_error *error = threads_freeze(held_process(pid), 5000, &process);

	if (!error) {
		fprintf(stderr, "frozen, with %zu threads\n", process.count);
		must(threads_thaw(&process));
		return 1;
	}
	if (error->code != HS_ERROR_GONE)
		fprintf(stderr, "%s\n", error->message);
	return error->code != HS_ERROR_GONE;
}

// An exec that has begun and is kept waiting until the other threads stand and the tool has had time to note it, and
// then kills them: it waits for them to be reaped, which only the tool can do.
static void test_exec_beside_standing(void)
{
	struct watched_sleep sleep;
	pid_t answerer, pid, tool;
	int status;

	if (!watched_sleep_make(&sleep)) {
		CHECK_LEFT_OUT("no fanotify here");
		return;
	}
	fflush(stdout);
	answerer = fork();
	if (answerer == 0)
		answer_slowly(sleep.listener, others_stand, 500, FAN_ALLOW);
	close(sleep.listener);
	sleep.listener = -1;
	for (int round = 0; round < 3; round++) {
		pid = fork();
		if (pid == 0) {
			pthread_t threads[3];

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (int i = 0; i < 3; i++)
				pthread_create(&threads[i], NULL, sleep_for_ever, NULL);
			execl(sleep.program, "sleep", "1000", NULL);
			_exit(1);
		}
		CHECK(wait_until(is_in_exec, pid));
		tool = fork(); // as in test_exec
		if (tool == 0)
			_exit(freeze_during_exec(pid));
		CHECK_EQUAL(waitpid(tool, &status, 0), tool);
		CHECK_EQUAL(status, 0);
		CHECK(!anything_stopped_or_traced(pid));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		CHECK(WIFSIGNALED(status));
	}
	kill(answerer, SIGKILL);
	waitpid(answerer, NULL, 0);
	watched_sleep_remove(&sleep);
}

// Argument: the one test to run.
int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "exec_beside_standing", test_exec_beside_standing },
		{ "endless_exec", test_endless_exec },
		{ "failing_exec", test_failing_exec },
		{ "exec_after_exec", test_exec_after_exec },
		{ "exec", test_exec },
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (argc < 2 || strcmp(argv[1], tests[i].name) == 0)
			tests[i].run();
	}
	return CHECK_RESULT();
}
