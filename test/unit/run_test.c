// SPDX-License-Identifier: Apache-2.0
// What a run decides by itself (lib/run.h, lib/run_signals.h, lib/run_holds.h): whose a signal is, how its snapshots
// are named, how many programs are held, and what became of profiles.
#include "check.h"
#include "lib/run.h"
#include "lib/run_holds.h"
#include "lib/run_signals.h"
#include "lib/run_writers.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_signals(void)
{
	static const struct {
		int code;
		bool is_of_starter;
		int sender_group, group;
		bool is_for_command;
	} cases[] = {
		{ SI_USER, false, 7, 5, true },    // kill(1) of another shell
		{ SI_QUEUE, false, 7, 5, true },   //
		{ SI_TKILL, false, 7, 5, true },   //
		{ SI_USER, false, -1, 5, true },   // the sender has ended
		{ SI_USER, false, 5, 5, false },   // a process of the group, to all of the group
		{ SI_USER, true, 5, 5, true },     // who has started heapsnap ends it
		{ SI_KERNEL, false, 7, 5, false }, // the terminal: Ctrl-C
		{ SI_KERNEL, false, -1, 5, false }, { SI_KERNEL, true, 5, 5, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(run_signal_is_for_command(cases[i].code, cases[i].is_of_starter, cases[i].sender_group,
						      cases[i].group),
			    cases[i].is_for_command);
}

static void test_names(void)
{
	static const struct {
		const char *path;
		unsigned number;
		const char *name;
	} cases[] = {
		{ "out.pb.gz", 1, "out.1.pb.gz" },   { "out", 2, "out.2" },
		{ "a.b/out", 3, "a.b/out.3" },       { "a.b/out.pb.gz", 4294967295, "a.b/out.4294967295.pb.gz" },
		{ "/a/.hidden", 5, "/a/.hidden.5" }, { ".hidden.html", 6, ".hidden.6.html" },
		{ "./x.html", 7, "./x.7.html" },     { "a/", 8, "a/.8" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = NULL;
		struct hs_error *error = hs_run_numbered_name(cases[i].path, cases[i].number, &name);

		CHECK(!error);
		hs_error_destroy(error);
		CHECK_STRING(name ? name : "", cases[i].name);
		free(name);
	}
}

static void test_may_hold(void)
{
	static const struct {
		size_t programs;
		uint64_t since_ns, held_ns;
		bool may;
	} cases[] = {
		{ 0, 0, 0, true },
		{ 39, 1000, 1000, true }, // the first ones, whatever they take
		{ 40, 1000, 250, false },
		{ 40, 1000, 249, true },
		{ 100000, 1000000000, 200000000, true },
		{ 100000, UINT64_MAX, UINT64_MAX, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(run_holds_allow(
				    &(struct run_holds){ .programs = cases[i].programs, .held_ns = cases[i].held_ns },
				    cases[i].since_ns),
			    cases[i].may);
}

static void test_written(void)
{
	static const struct {
		int status;
		size_t whole, incomplete, failed;
	} cases[] = {
		{ W_EXITCODE(HS_RUN_WROTE, 0), 1, 0, 0 },
		{ W_EXITCODE(HS_RUN_WROTE_INCOMPLETE, 0), 0, 1, 0 },
		{ W_EXITCODE(HS_RUN_TOOK_NONE, 0), 0, 0, 0 },
		{ W_EXITCODE(HS_RUN_FAILED, 0), 0, 0, 1 },
		{ W_EXITCODE(2, 0), 0, 0, 1 },
		{ W_EXITCODE(0, SIGKILL), 0, 0, 1 }, // out of memory, say
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hs_run_written written = { 0 };

		run_written_add(&written, cases[i].status);
		CHECK_EQUAL(written.whole, cases[i].whole);
		CHECK_EQUAL(written.incomplete, cases[i].incomplete);
		CHECK_EQUAL(written.failed, cases[i].failed);
	}
}

// A signal that another process has sent, and one of the tool's own, while it waits.
static void test_wait(void)
{
	const struct process command = { .pid = getpid(), .folder = -1, .pidfd = -1 }; // it would get them itself
	struct run_signals signals;
	bool is_due = false;
	sigset_t before, after, pending;

	sigprocmask(SIG_BLOCK, NULL, &before);
	run_signals_begin(SIGUSR2, &signals);
	raise(SIGUSR2);
	run_signals_wait(&signals, &command, false, 1000, &is_due);
	CHECK(is_due);
	is_due = false;
	raise(SIGTERM); // of this process, so of its group
	run_signals_wait(&signals, &command, false, 1000, &is_due);
	sigpending(&pending);
	CHECK(!is_due && !sigismember(&pending, SIGTERM));
	raise(SIGTSTP);
	run_signals_wait(&signals, &command, false, 1000, &is_due);
	CHECK(signals.wants_stop);
	run_signals_wait(&signals, &command, false, 1, &is_due);
	CHECK(signals.wants_stop && !is_due); // the command has not stopped
	run_signals_end(&signals);
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK_EQUAL(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

int main(void)
{
	test_signals();
	test_names();
	test_may_hold();
	test_written();
	test_wait();
	return CHECK_RESULT();
}
