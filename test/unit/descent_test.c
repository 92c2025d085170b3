// SPDX-License-Identifier: Apache-2.0
// Which processes that are made after the listing are asked about under a freeze: those that may come from the target,
// and no others (attach/process/descent.h).
#include "attach/guard/task_compare.h"
#include "attach/process/descriptor_sharers.h"
#include "attach/process/sharing.h"
#include "attach/process/thread_facts.h"
#include "check.h"
#include "held_process.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// What a process does, letter by letter. At the end it waits.
//   f    makes one that shares nothing; what stands in parentheses behind it is what that one does
//   d    makes one that shares its descriptors; D: as a child of its own parent (CLONE_PARENT)
//   n    as f, and that is the first one of a PID namespace
//   x    gives up descriptors that are shared; q: ends; s: becomes a subreaper
//   |    waits until the listing has been made; once in a family
struct family_case {
	bool is_targets; // the first one of the family is the target
	const char *script;
	bool is_asked; // about the last one
	bool shares;   // that one has the target's descriptors
};

static const struct family_case cases[] = {
	{ false, "|f", false, false },
	{ false, "|d", false, false },
	{ false, "|f(f)", false, false },
	{ false, "f(|f)", false, false },
	{ false, "s|d(dq)", false, false },
	{ false, "|d(dq)", true, false }, // comes to be a child of this test's, as the target is
	{ false, "n(|f)", true, false },  // orphans of others may come to be its children
	{ true, "|f", true, false },
	{ true, "|d", true, true },
	{ true, "|d(d)", true, true },
	{ true, "d(|D)", true, true },
	{ true, "d(|d)", true, true },
	{ true, "d(d(|D))", true, true },
	{ true, "d(x|f)", false, false },
	{ true, "f(|f)", false, false },
	// Its parent shares nothing any more, and has a child that does.
	{ true, "d(d(|D)x)", true, true },
	{ true, "d(sd(|dq)x)", true, true },
	{ true, "d(sd(|d(dq)q)x)", true, true },
};

enum { MADE_MAX = 8 };

static struct {
	int go[2], began[2]; // pipes: one byte each
	int made[2];         // the pids of all that were made, read by the test
	pid_t pids[MADE_MAX];
	size_t count;
} family;

static void put(int pipe, const void *bytes, size_t size)
{
	if (write(pipe, bytes, size) != (ssize_t)size)
		_exit(2);
}

static void get(int pipe, void *bytes, size_t size)
{
	if (read(pipe, bytes, size) != (ssize_t)size)
		_exit(0); // the test is at its end
}

// Behind the parenthesis that belongs to the one at `script`.
static const char *behind(const char *script)
{
	int depth = 0;

	do
		depth += (*script == '(') - (*script == ')');
	while (script++, depth > 0);
	return script;
}

static _Noreturn void live(const char *script, int settled);

// Returns what the maker goes on with.
static const char *make(const char *script)
{
	const unsigned long flags = (strchr("dD", *script) ? CLONE_FILES : 0) | (*script == 'D' ? CLONE_PARENT : 0) |
				    (*script == 'n' ? CLONE_NEWPID : 0);
	// One byte each, to and from the one that is made. Never closed: who shares descriptors would close another's.
	int named[2], settled[2];
	pid_t pid;
	char byte;

	if (pipe2(named, O_CLOEXEC) || pipe2(settled, O_CLOEXEC))
		_exit(2);
	pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		_exit(2);
	script++;
	if (pid == 0) {
		get(named[0], &byte, 1); // so that the numbers come in the order of the script
		live(*script == '(' ? script + 1 : ")", settled[1]);
	}
	put(family.made[1], &pid, sizeof(pid));
	put(named[1], "", 1);
	get(settled[0], &byte, 1);
	return *script == '(' ? behind(script) : script;
}

// `settled`: the pipe that takes its byte. The one that waits for the listing is settled then, and not once more.
static _Noreturn void live(const char *script, int settled)
{
	bool is_settled = false;
	char byte;

	while (*script && *script != ')' && *script != 'q') {
		const char letter = *script;

		if (letter == '|') {
			put(settled, "", 1);
			is_settled = true;
			get(family.go[0], &byte, 1);
		}
		if ((letter == 'x' && unshare(CLONE_FILES) != 0) ||
		    (letter == 's' && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0))
			_exit(2);
		script = strchr("fdDn", letter) ? make(script) : script + 1;
	}
	if (!is_settled)
		put(settled, "", 1);
	if (*script == 'q')
		_exit(0);
	for (;;)
		pause();
}

static struct {
	struct sharing sharing;
	pid_t other;
	int asked; // about `other`
} search;

static bool count_asked(const struct process *other, pid_t tid, const void *sharing)
{
	(void)tid;
	(void)sharing;
	search.asked += other->pid == search.other;
	return false;
}

static int times_asked(pid_t target, pid_t other, const struct strangers *strangers)
{
	search.sharing = (struct sharing){ .process = held_process(target),
					   .tids = &target,
					   .count = 1,
					   .strangers = strangers,
					   .shares = count_asked };
	search.other = other;
	search.asked = 0;
	CHECK(!sharing_check(&search.sharing));
	return search.asked;
}

// What a PID namespace's first process has made has another number there.
static pid_t only_child(pid_t parent)
{
	char path[64];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	file = fopen(path, "re");
	CHECK(file && fscanf(file, "%d", &pid) == 1);
	if (file)
		fclose(file);
	return pid;
}

// Those that were made up to now. The pipe does not wait.
static void take_made(void)
{
	while (family.count < MADE_MAX &&
	       read(family.made[0], &family.pids[family.count], sizeof(pid_t)) == (ssize_t)sizeof(pid_t))
		family.count++;
}

static pid_t begin_family(const char *script)
{
	char byte;
	pid_t first;

	memset(&family, 0, sizeof(family));
	if (pipe2(family.go, O_CLOEXEC) || pipe2(family.began, O_CLOEXEC) || pipe2(family.made, O_CLOEXEC | O_NONBLOCK))
		_exit(2);
	fflush(stdout);
	first = fork();
	if (first == 0)
		live(script, family.began[1]);
	if (read(family.began[0], &byte, 1) != 1)
		_exit(2);
	take_made();
	return first;
}

static size_t count_ended(void)
{
	size_t ended = 0;

	for (size_t i = 0; i < family.count; i++)
		ended += thread_is_ending(held_process(family.pids[i]), family.pids[i]);
	return ended;
}

// Until the last one that the script makes is there, and all that end have ended. It is the last letter that makes one.
static pid_t last_made(const char *script)
{
	size_t wanted = 0, ending = 0;

	for (const char *letter = script; *letter; letter++) {
		wanted += strchr("fdDn", *letter) != NULL;
		ending += *letter == 'q';
	}
	for (int i = 0; i < 2000 && (family.count < wanted || count_ended() < ending); i++) {
		take_made();
		usleep(5000);
	}
	CHECK_EQUAL(family.count, wanted);
	CHECK_EQUAL(count_ended(), ending);
	return strchr(script, 'n') ? only_child(family.pids[0]) : family.pids[family.count - 1];
}

static void end_family(pid_t first)
{
	kill(first, SIGKILL);
	for (size_t i = 0; i < family.count; i++)
		kill(family.pids[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (int i = 0; i < 2; i++) {
		close(family.go[i]);
		close(family.began[i]);
		close(family.made[i]);
	}
}

static void check_sharer(pid_t target, const struct strangers *strangers, bool shares)
{
	struct hs_error *error = descriptor_sharers_check(held_process(target), target, strangers);

	CHECK_EQUAL(error && error->code == HS_ERROR_REFUSED, shares);
	hs_error_destroy(error);
}

// On a busy machine processes may come and go too fast for it, or the kernel may not answer in time.
static bool list_strangers(pid_t target, struct strangers *ret)
{
	for (int i = 0; i < 100; i++) {
		struct hs_error *error;

		strangers_list(held_process(target), NULL, 0, ret);
		error = task_compare_check(target);
		if (!error && ret->knows_ancestors)
			return true;
		hs_error_destroy(error);
		strangers_deinit(ret);
	}
	*ret = (struct strangers){ 0 };
	return false;
}

static void run(const struct family_case *test)
{
	const pid_t first = begin_family(test->script);
	const pid_t alone = test->is_targets ? 0 : fork();
	pid_t target = first, last;
	struct strangers strangers;

	if (alone == 0 && !test->is_targets)
		for (;;)
			pause();
	if (!test->is_targets)
		target = alone;
	CHECK(list_strangers(target, &strangers));
	put(family.go[1], "", 1);
	last = last_made(test->script);
	printf("%s %s\n", test->is_targets ? "target" : "stranger", test->script);
	CHECK_EQUAL(times_asked(target, last, &strangers), test->is_asked);
	CHECK_EQUAL(times_asked(target, last, NULL), 1);
	if (!strchr(test->script, 'd') || test->is_targets)
		check_sharer(target, &strangers, test->shares);
	strangers_deinit(&strangers);
	if (alone > 0)
		kill(alone, SIGKILL);
	end_family(first);
}

int main(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1); // nothing is left behind
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (strchr(cases[i].script, 'n') && geteuid() != 0)
			CHECK_LEFT_OUT("not root: %s", cases[i].script);
		else
			run(&cases[i]);
	task_compare_done();
	return CHECK_RESULT();
}
