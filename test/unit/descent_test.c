// SPDX-License-Identifier: Apache-2.0
// Which processes that are made after the listing are asked about under a freeze: those that may come from the target,
// and no others (attach/process/descent.h).
#include "attach/guard/task_compare.h"
#include "attach/process/descriptor_sharers.h"
#include "attach/process/sharing.h"
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
	{ false, "|d(dq)", false, false },
	{ false, "n(|f)", true, false }, // orphans of others may come to be its children
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
	int go[2], settled[2], began[2]; // pipes: one byte each; one from each that waits, read by its maker
	int made[2];                     // the pids of all that were made, read by the test
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

static _Noreturn void live(const char *script, bool is_first);

// Returns what the maker goes on with.
static const char *make(const char *script)
{
	const unsigned long flags = (strchr("dD", *script) ? CLONE_FILES : 0) | (*script == 'D' ? CLONE_PARENT : 0) |
				    (*script == 'n' ? CLONE_NEWPID : 0);
	const pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	char byte;

	if (pid < 0)
		_exit(2);
	script++;
	if (pid == 0)
		live(*script == '(' ? script + 1 : ")", false);
	put(family.made[1], &pid, sizeof(pid));
	get(family.settled[0], &byte, 1);
	return *script == '(' ? behind(script) : script;
}

// The one that waits for the listing is settled then, and not once more.
static _Noreturn void live(const char *script, bool is_first)
{
	bool is_settled = false;
	char byte;

	while (*script && *script != ')' && *script != 'q') {
		const char letter = *script;

		if (letter == '|') {
			put(is_first ? family.began[1] : family.settled[1], "", 1);
			is_settled = true;
			get(family.go[0], &byte, 1);
		}
		if ((letter == 'x' && unshare(CLONE_FILES) != 0) ||
		    (letter == 's' && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0))
			_exit(2);
		script = strchr("fdDn", letter) ? make(script) : script + 1;
	}
	if (!is_settled)
		put(is_first ? family.began[1] : family.settled[1], "", 1);
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
	if (pipe2(family.go, O_CLOEXEC) || pipe2(family.settled, O_CLOEXEC) || pipe2(family.began, O_CLOEXEC) ||
	    pipe2(family.made, O_CLOEXEC | O_NONBLOCK))
		_exit(2);
	fflush(stdout);
	first = fork();
	if (first == 0)
		live(script, true);
	if (read(family.began[0], &byte, 1) != 1)
		_exit(2);
	take_made();
	return first;
}

// Until the last one that the script makes is there. It is the last letter that makes one.
static pid_t last_made(const char *script)
{
	size_t wanted = 0;

	for (const char *letter = script; *letter; letter++)
		wanted += strchr("fdDn", *letter) != NULL;
	for (int i = 0; i < 2000 && family.count < wanted; i++) {
		take_made();
		usleep(5000);
	}
	CHECK_EQUAL(family.count, wanted);
	usleep(20000); // what ends behind it has ended
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
		close(family.settled[i]);
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
	strangers_list(held_process(target), NULL, 0, &strangers);
	CHECK(strangers.knows_ancestors);
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
