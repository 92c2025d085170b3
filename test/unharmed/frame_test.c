// SPDX-License-Identifier: Apache-2.0
// Signal frames lie where nothing is: programs whose stacks begin where no mapping does, or whose stack pointers point
// into data, keep every byte, also when the tool is killed at any request. Each thread in turn is preferred.
#include "attach/guard/interrupt_signal.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/thread_facts.h"
#include "attach/ptrace/remote_call.h"
#include "attach/region/thread_layout.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })
enum { ALL = -1, REFUSED = 4, NO_SUCH_THREAD = 5 };

static unsigned kills;
static int signal_to_send; // to the main thread, while it stands still; 0 = none

// What the tool does, with the thread of that index before all others, or with any. Its exit status: 0, REFUSED or
// STARVED.
static void be_the_tool(pid_t pid, int index)
{
	static const uint64_t none[6];
	struct frozen_process frozen;
	struct remote_caller caller;
	struct target_memory memory;
	struct hs_error *error;
	int64_t result;

	must(target_memory_open(held_process(pid), &memory));
	must(freeze_prepared(&memory, 5000, &frozen));
	if (signal_to_send)
		CHECK_EQUAL(syscall(SYS_tgkill, pid, pid, signal_to_send), 0);
	if (index != ALL) {
		if ((size_t)index >= frozen.count)
			_exit(NO_SUCH_THREAD);
		// The others stay known, for one of them may still be on its way home.
		for (size_t i = 0; i < frozen.count; i++)
			frozen.threads[i].avoid_as_carrier = i != (size_t)index;
	}
	error = remote_call_open(&frozen, &memory, &caller);
	if (error) {
		// The reason names the thread, and the stack that was looked at.
		if ((error->code != HS_ERROR_REFUSED && error->code != HS_ERROR_REFUSED_FOR_GOOD) ||
		    !strstr(error->message, "no memory is proven free") || !strstr(error->message, "stack"))
			must(error);
		hs_error_destroy(error);
	} else {
		for (int i = 0; i < 2; i++) {
			must(remote_call(&caller, SYS_getpid, none, &result));
			if (result != pid)
				_exit(3);
		}
		must(remote_call_close(&caller));
	}
	must(threads_thaw(&frozen));
	_exit(error ? REFUSED : 0);
}

// ns on a processor (proc_pid_schedstat in the kernel's fs/proc/base.c).
static unsigned long long ran_for(pid_t pid, pid_t tid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

static struct {
	pid_t tids[64];
	unsigned long long ran[64]; // when the tool had ended
	size_t count;
} threads;

static bool note_thread(pid_t pid, pid_t tid)
{
	CHECK(threads.count < 64);
	threads.tids[threads.count] = tid;
	threads.ran[threads.count++] = ran_for(pid, tid);
	return true;
}

// A thread that a killed tool has left needs some microseconds of a processor to come home.
static bool is_home(pid_t pid, pid_t tid)
{
	char state = thread_state(held_process(pid), tid);
	size_t i = 0;

	while (i < threads.count && threads.tids[i] != tid)
		i++;
	return state == 'S' || state == 'Z' || state == 'X' || i == threads.count ||
	       ran_for(pid, tid) >= threads.ran[i] + 200000;
}

static bool all_home(pid_t pid) { return all_threads(pid, is_home); }

// Until nobody is in a killed tool's frame any more, however long a thread waits for a processor: the next tool's frame
// would lie below that, in pages that were not used before.
static void wait_until_home(pid_t pid)
{
	threads.count = 0;
	all_threads(pid, note_thread);
	CHECK(wait_until(all_home, pid));
}

static int try_tool(pid_t pid, int index, unsigned request)
{
	char text[16];
	pid_t tool;
	int status;

	fflush(stdout);
	tool = fork();
	if (tool == 0) {
		snprintf(text, sizeof(text), "%u", request);
		if (request > 0)
			setenv("HEAPSNAP_KILL_AT_REQUEST", text, 1);
		be_the_tool(pid, index);
	}
	waitpid(tool, &status, 0);
	wait_until_home(pid);
	return status;
}

// One that nobody has killed but the watchdog was starved as well.
static bool is_to_try_again(int status, unsigned request)
{
	if (request > 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return was_starved(status);
	fprintf(stderr, "the watchdog has killed the tool\n");
	return true;
}

// The exit status, -1 when it was killed. `request`: where it is; 0 = nowhere. Again, a few times, where it was
// starved: what it was about to do it has taken back, and the target goes on.
static int run_tool(pid_t pid, int index, unsigned request)
{
	int status = try_tool(pid, index, request);

	for (int i = 0; i < 5 && is_to_try_again(status, request); i++) {
		CHECK(!anything_stopped_or_traced(pid));
		status = try_tool(pid, index, request);
	}
	kills += WIFSIGNALED(status);
	return WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
}

// Exact, other than the numbers in the status file.
static unsigned long used_kilobytes(pid_t pid)
{
	unsigned long kilobytes = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Anonymous: %lu", &kilobytes);
	if (file)
		fclose(file);
	return kilobytes;
}

// `expected`: the status.
static void run(const char *name, const char *const *arguments, int expected)
{
	struct program program = program_start(name, arguments);
	unsigned requests = 0;
	unsigned long before, after;
	int status = 0;

	CHECK_EQUAL(run_tool(program.pid, ALL, 0), expected);
	before = used_kilobytes(program.pid);
	// of a main thread that has ended the file is empty
	CHECK(before > 0 || strcmp(arguments[0], "main_ends") == 0);
	for (int i = 0; i < 16; i++)
		CHECK_EQUAL(run_tool(program.pid, ALL, 0), expected);
	// The same pages every time, of whichever thread's stack. One page each time would be 64 KiB.
	CHECK(used_kilobytes(program.pid) <= before + 32);
	for (int index = ALL; status != NO_SUCH_THREAD; index++) {
		unsigned request = 0;

		do {
			status = run_tool(program.pid, index, ++request);
			CHECK(!anything_stopped_or_traced(program.pid));
		} while (status == -1 && request < 1000);
		CHECK(status == expected || status == NO_SUCH_THREAD);
		requests += request;
	}
	// And what killed tools have left is gone with the next.
	after = used_kilobytes(program.pid);
	CHECK(after <= before + 32);
	if (after > before + 32)
		printf("%lu KiB, before the kills %lu\n", after, before);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
	printf("%s %s %s: %u requests\n", name, arguments[0], arguments[1] ? arguments[1] : "", requests);
}

// Of data that is all zero nobody sees that a frame was in it, once the next tool has taken that away: so the program
// compares after each kill, and each has one of its own.
static void run_zeros(const char *name, const char *kind)
{
	unsigned runs = 0;
	int status = 0;

	for (int index = 0; status != NO_SUCH_THREAD; index++) {
		unsigned request = 0;

		do {
			struct program program = program_start(name, ARGUMENTS(kind));

			status = run_tool(program.pid, index, ++request);
			CHECK(!anything_stopped_or_traced(program.pid));
			CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
			runs++;
		} while (status == -1 && request < 1000);
		CHECK(status == 0 || status == NO_SUCH_THREAD);
	}
	printf("%s %s: %u programs\n", name, kind, runs);
}

// Linux 6.13 and later.
static bool has_guards(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool has = madvise(page, 4096, 102) == 0; // MADV_GUARD_INSTALL

	munmap(page, 4096);
	return has;
}

static void run_all(const char *name, bool has_coroutines)
{
	run(name, ARGUMENTS("neighbour"), 0);
	if (has_guards())
		run(name, ARGUMENTS("guards"), 0);
	else
		puts("this kernel has no MADV_GUARD_INSTALL: not tried");
	if (has_coroutines)
		run(name, ARGUMENTS("coroutine"), 0);
	run(name, ARGUMENTS("table"), 0);
	run(name, ARGUMENTS("stack_table"), 0);
	run(name, ARGUMENTS("stack_zeros"), 0);
	run(name, ARGUMENTS("handler"), 0);
	// Another signal with a handler on that stack, which comes while the tool dies: it must find the thread on that
	// stack.
	signal_to_send = SIGUSR2;
	run(name, ARGUMENTS("signals"), 0);
	signal_to_send = 0;
	run_zeros(name, "zeros_of_main");
	run_zeros(name, "zeros_of_thread");
	run(name, ARGUMENTS("main_ends"), 0);
	run(name, ARGUMENTS("raw"), 0);
	run(name, ARGUMENTS("deep", "0"), 0);
	run(name, ARGUMENTS("deep", "29"), 0);
	run(name, ARGUMENTS("deep", "201"), 0);
	run(name, ARGUMENTS("deep", "1500"), 0);
	run(name, ARGUMENTS("full", "100"), REFUSED);
}

// Every search through the threads ends when the tool is asked to end, or its time is over, whatever it would have
// found.
static int interrupt_tool(pid_t pid)
{
	pid_t tool;
	int status;

	fflush(stdout);
	tool = fork();
	if (tool == 0) {
		static const struct strangers none;
		struct frozen_process frozen;
		struct remote_caller caller;
		struct target_memory memory;
		int asked = 0;

		interrupt_install();
		must(target_memory_open(held_process(pid), &memory));
		must(freeze_prepared(&memory, 5000, &frozen));
		raise(SIGINT);
		for (int search = 0; search < 3; search++) {
			struct hs_error *error =
				search == 0   ? remote_call_open(&frozen, &memory, &caller)
				: search == 1 ? thread_layout_check(&memory, &frozen)
					      : memory_sharers_check(frozen.process, frozen.threads[0].tid, &none);

			asked += error && error->code == HS_ERROR_INTERRUPTED;
			hs_error_destroy(error);
		}
		must(threads_thaw(&frozen));
		_exit(asked);
	}
	waitpid(tool, &status, 0);
	return status;
}

static void test_interrupted(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("20"));
	int status = interrupt_tool(program.pid);

	for (int i = 0; i < 5 && was_starved(status); i++) {
		CHECK(!anything_stopped_or_traced(program.pid));
		status = interrupt_tool(program.pid);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	CHECK(!anything_stopped_or_traced(program.pid));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

int main(void)
{
	test_interrupted();
	char path[4096];

	run_all("ptrace_stacks", true);
	snprintf(path, sizeof(path), "%s/ptrace_stacks_musl",
		 getenv("HEAPSNAP_TARGETS") ? getenv("HEAPSNAP_TARGETS") : ".");
	if (access(path, X_OK) == 0)
		run_all("ptrace_stacks_musl", false);
	else
		CHECK_LEFT_OUT("ptrace_stacks_musl was not built");
	printf("%u kills\n", kills);
	CHECK(kills >= 500);
	return CHECK_RESULT();
}
