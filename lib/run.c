// SPDX-License-Identifier: Apache-2.0
#include "lib/run.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/process/target.h"
#include "attach/ptrace/follow.h"
#include "attach/ptrace/launch.h"
#include "attach/ptrace/stop_wait.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "lib/dump_path.h"
#include "lib/run_family.h"
#include "lib/run_peak.h"
#include "lib/run_signals.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// A stop may be missed: the command is looked at so often.
enum { LOOK_MS = 1000 };
// How often its children are looked for, ns.
static const uint64_t CHILDREN_LOOK = 200000000;
// What its first records may cost, whatever the budget: so a short program is recorded whole.
enum { FIRST_US = 100000 };
// The exit status of a writer that cannot copy the command while it runs.
enum { NEEDS_STOP = 75 };

// As hs_run_missed.
_Static_assert((int)LAUNCH_MISSED_CONSTRUCTORS == HS_RUN_MISSED_CONSTRUCTORS &&
		       (int)LAUNCH_MISSED_BEGINNING == HS_RUN_MISSED_BEGINNING,
	       "one is made of the other");

const char hs_run_missed_beginning[] =
	"had begun before it could be held, since the signal for that did not reach it: it is recorded "
	"from now on, and what it allocated before is not";

struct hs_run {
	struct hs_run_options options;
	struct process process;
	struct follow follow;
	struct run_family *family; // NULL = its children are not recorded
	struct run_signals signals;
	struct run_peak peak;
	bool is_recorded;
	enum hs_run_missed missed;
	bool has_ended;              // nothing of it is left but its status
	uint64_t next_ns;            // CLOCK_MONOTONIC: when a snapshot is due; 0 = never
	uint64_t children_ns;        // when its children are looked at next
	unsigned snapshots;          // begun so far
	pid_t writer;                // the process that writes one; 0 = none
	bool needs_stop;             // it cannot be copied while it runs
	bool is_owed;                // one is still to be taken, with a stop
	char name[HS_RUN_NAME_SIZE]; // at its end
	struct heap_copy *last;      // of its end
	struct hs_error *last_error;
};

const struct process *hs_run_process(const struct hs_run *run) { return &run->process; }

void hs_run_copy_destroy(struct heap_copy *copy) { heap_copy_destroy(copy); }

static void destroy(struct hs_run *run)
{
	heap_copy_destroy(run->last);
	hs_error_destroy(run->last_error);
	follow_end(&run->follow);
	run_family_end(run->family);
	process_close(&run->process);
	free(run);
}

static void kill_and_reap(struct hs_run *run)
{
	int status;

	if (!stop_kept_end(run->process.pid, &status))
		stop_kill_child(run->process.pid, &status);
}

static struct hs_error *follow(struct hs_run *run)
{
	return run->options.children
		       ? run_family_begin(&run->options, &run->process, run->is_recorded, run->missed, &run->family)
		       : follow_begin(&run->process, &run->follow);
}

// It runs, and nothing ends it any more: whatever fails, it is followed.
static struct hs_error *record_begun(struct hs_run *run, struct hs_attach_result *attached)
{
	struct hs_error *error = hs_attach(&run->process, &run->options.attach, attached), *lost;

	run->is_recorded = !error;
	lost = follow(run);
	if (lost)
		hs_verbose("the command is not followed: %s", lost->message);
	hs_error_destroy(lost);
	if (!error)
		return NULL;
	lost = hs_error_create(HS_ERROR_GONE, "it had begun before it could be held: %s", error->message);
	hs_error_destroy(error);
	return lost;
}

// What has come while the command was brought to its beginning is for it, where it runs. A terminal has sent SIGINT to
// both.
static void hand_on_interrupt(const struct hs_run *run)
{
	const int number = interrupt_signal_take();

	if (number && number != SIGINT)
		kill(run->process.pid, number);
}

// From the stop of an exec: brings the program to its beginning, attaches, and lets it run, followed. On failure it
// stands stopped, or as launch_hold leaves it. `on_end`: the signal that it gets if this tool ends meanwhile.
static struct hs_error *record(struct hs_run *run, int on_end, struct hs_attach_result *attached)
{
	enum launch_missed missed;
	struct launch_keeper keeper;
	struct hs_error *error = launch_keeper_begin(&run->process, on_end, &keeper);

	run->missed = HS_RUN_MISSED_NOTHING;
	run->is_recorded = false;
	if (error)
		return error;
	error = launch_hold(&run->process, &missed);
	run->missed = (enum hs_run_missed)missed;
	if (!error && missed == LAUNCH_MISSED_BEGINNING) {
		launch_keeper_end(&keeper);
		return record_begun(run, attached);
	}
	if (!error)
		error = hs_attach(&run->process, &run->options.attach, attached);
	run->is_recorded = !error;
	if (!error)
		error = follow(run);
	if (!error && kill(run->process.pid, SIGCONT) != 0)
		error = hs_error_system(errno, "cannot let process %d go on", (int)run->process.pid);
	launch_keeper_end(&keeper);
	return error;
}

// Runs the command without any of this.
static struct hs_error *run_plainly(struct hs_run *run)
{
	struct hs_error *error;
	pid_t pid;

	process_close(&run->process);
	error = launch_plainly(run->options.command, &pid);
	if (error)
		return error;
	run->is_recorded = false;
	stop_keep_end(pid);
	return process_open(pid, &run->process);
}

static struct hs_error *begin(struct hs_run *run, struct hs_attach_result *attached, struct hs_error **why_ret)
{
	struct hs_error *error;
	pid_t pid;

	error = launch_begin(run->options.command, &pid);
	if (error)
		return error;
	stop_keep_end(pid);
	run->process.pid = pid;
	error = process_open(pid, &run->process);
	if (!error)
		error = record(run, SIGKILL, attached);
	if (!error || error->code == HS_ERROR_GONE)
		return error;
	kill_and_reap(run);
	if (!run->options.anyway || error->code == HS_ERROR_INTERRUPTED)
		return error;
	*why_ret = error;
	error = run_plainly(run);
	if (error) {
		error = hs_error_join(error, *why_ret);
		*why_ret = NULL;
	}
	return error;
}

struct hs_error *hs_run_begin(const struct hs_run_options *options, struct hs_run **ret,
			      struct hs_attach_result *attached_ret, enum hs_run_missed *missed_ret,
			      struct hs_error **why_ret)
{
	struct hs_run *run = calloc(1, sizeof(*run));
	struct hs_error *error;

	*ret = NULL;
	*attached_ret = (struct hs_attach_result){ 0 };
	*missed_ret = HS_RUN_MISSED_NOTHING;
	*why_ret = NULL;
	if (!run)
		return &hs_error_no_memory;
	run->options = *options;
	run->options.attach.sampling.first_us = FIRST_US;
	run->process = PROCESS_CLOSED;
	run->peak.is_wanted = options->at_peak;
	target_is_followed_by((uint32_t)getpid());
	error = begin(run, attached_ret, why_ret);
	*missed_ret = run->missed;
	if (error && error->code != HS_ERROR_GONE) {
		destroy(run);
		return error;
	}
	run_signals_begin(options->on_signal, &run->signals);
	hand_on_interrupt(run);
	if (options->every_ns)
		run->next_ns = hs_monotonic_ns() + options->every_ns;
	*ret = run;
	return error;
}

// Reaps it where it has ended; waits for that without WNOHANG.
static bool writer_is_busy(struct hs_run *run, int flags)
{
	int status = 0;
	pid_t found;

	if (!run->writer)
		return false;
	do
		found = waitpid(run->writer, &status, flags);
	while (found < 0 && errno == EINTR);
	if (found == 0)
		return true;
	run->writer = 0;
	run->is_owed = found > 0 && WIFEXITED(status) && WEXITSTATUS(status) == NEEDS_STOP;
	run->needs_stop |= run->is_owed;
	return false;
}

// Goes on in a child, which writes the snapshot: true there. It copies what it is not given.
static bool start_writer(struct hs_run *run, struct heap_copy *copy, struct hs_run_event *ret)
{
	const pid_t tool = getpid();
	struct hs_error *error = NULL;

	fflush(NULL);
	run->writer = fork();
	if (run->writer != 0) {
		if (run->writer < 0)
			hs_warn("no snapshot %u: no process can be started for it", run->snapshots);
		run->writer = run->writer < 0 ? 0 : run->writer;
		return false;
	}
	run_signals_of_writer(&run->signals);
	run_peak_forget(&run->peak);
	target_is_followed_by((uint32_t)tool);
	if (!copy)
		error = heap_copy_take(&run->process, HEAP_COPY_UNSTOPPED, &copy);
	if (error && error->code == HS_ERROR_REFUSED)
		_exit(NEEDS_STOP);
	*ret = (struct hs_run_event){ .kind = HS_RUN_SNAPSHOT,
				      .copy = copy,
				      .error = error,
				      .number = run->snapshots,
				      .pid = run->process.pid,
				      .missed = run->missed,
				      .children = { .started = started_processes_count(&run->follow.started) } };
	hs_process_name(&run->process, ret->name, sizeof(ret->name));
	return true;
}

// Where it cannot be copied while it runs, all its threads are stopped. The one that is followed stays traced, so that
// an end in that moment is seen.
static bool take_stopped(struct hs_run *run, struct hs_run_event *ret)
{
	struct heap_copy *copy = NULL;
	struct hs_error *error, *lost;
	bool is_writer = false;

	follow_through_freeze(&run->follow);
	error = heap_copy_take(&run->process, HEAP_COPY_RUNNING, &copy);
	lost = follow_again(&run->follow);
	run->is_owed = false;
	if (lost)
		hs_verbose("the command is not followed any more: %s", lost->message);
	hs_error_destroy(lost);
	if (error)
		hs_warn("no snapshot %u: %s", run->snapshots, error->message);
	else
		is_writer = start_writer(run, copy, ret);
	if (!is_writer)
		heap_copy_destroy(copy);
	hs_error_destroy(error);
	return is_writer;
}

// True: this is the process that writes it.
static bool take_snapshot(struct hs_run *run, struct hs_run_event *ret)
{
	if (run->next_ns)
		run->next_ns = hs_monotonic_ns() + run->options.every_ns;
	if (!run->is_recorded)
		return false;
	if (writer_is_busy(run, WNOHANG) || run->is_owed) {
		hs_warn("a snapshot is left out: the one before is still being written");
		return false;
	}
	run->snapshots++;
	return run->needs_stop ? take_stopped(run, ret) : start_writer(run, NULL, ret);
}

static void take_last(struct hs_run *run)
{
	follow_look_for_children(&run->follow);
	hs_process_name(&run->process, run->name, sizeof(run->name));
	if (!run->is_recorded || !run->options.at_end || run->last)
		return;
	hs_error_destroy(run->last_error);
	run->last_error = heap_copy_take(&run->process, HEAP_COPY_STANDING, &run->last);
}

// It stands behind an exec.
static void record_again(struct hs_run *run, struct hs_run_event *ret)
{
	*ret = (struct hs_run_event){ .kind = HS_RUN_EXECUTED };
	run_peak_drop(&run->peak);
	run_signals_end(&run->signals);
	ret->error = record(run, SIGCONT, &ret->attached);
	ret->missed = run->missed;
	run_signals_begin(run->options.on_signal, &run->signals);
	hand_on_interrupt(run);
	if (!ret->error || run->missed == HS_RUN_MISSED_BEGINNING)
		return;
	// It runs on, whatever became of it.
	hs_error_destroy(follow_again(&run->follow));
	follow_go_on(&run->follow);
	kill(run->process.pid, SIGCONT);
}

static void describe_missed(struct hs_run *run, struct hs_run_event *ret)
{
	run->follow.misses_exec = false;
	run->is_recorded = false;
	run_peak_drop(&run->peak);
	*ret = (struct hs_run_event){ .kind = HS_RUN_EXECUTED };
	ret->error = hs_error_create(HS_ERROR_REFUSED, "another thread than the one that is followed has executed it");
}

static void describe_end(struct hs_run *run, struct hs_run_event *ret)
{
	struct hs_run_peak peak;

	run_peak_ask(&run->peak, run->last, &peak);
	*ret = (struct hs_run_event){ .kind = HS_RUN_ENDED,
				      .copy = HS_STEAL_POINTER(run->last),
				      .error = HS_STEAL_POINTER(run->last_error),
				      .is_recorded = run->is_recorded,
				      .peak = peak,
				      .missed = run->missed,
				      .children = { .started = started_processes_count(&run->follow.started) } };
	memcpy(ret->name, run->name, sizeof(ret->name));
	run->has_ended = true;
	run_signals_end(&run->signals);
	if (stop_kept_end(run->process.pid, &ret->status))
		return;
	while (waitpid(run->process.pid, &ret->status, __WALL) < 0 && errno == EINTR)
		;
}

static void look_for_children(struct hs_run *run)
{
	const uint64_t now = hs_monotonic_ns();

	if (now < run->children_ns)
		return;
	run->children_ns = now + CHILDREN_LOOK;
	follow_look_for_children(&run->follow);
}

static unsigned wait_ms(const struct hs_run *run, unsigned again_ms)
{
	const uint64_t now = hs_monotonic_ns();
	unsigned ms = again_ms ? again_ms : LOOK_MS;

	if (run->next_ns && run->next_ns <= now)
		return 0;
	if (run->next_ns && (run->next_ns - now) / 1000000 + 1 < ms)
		ms = (unsigned)((run->next_ns - now) / 1000000 + 1);
	return ms;
}

void hs_run_next(struct hs_run *run, struct hs_run_event *ret)
{
	if (run->family) {
		run_family_next(run->family, &run->signals, ret);
		run->has_ended = ret->kind == HS_RUN_ENDED;
		if (run->has_ended)
			run_signals_end(&run->signals);
		return;
	}
	for (;;) {
		unsigned again_ms = 0;
		bool is_due = false;

		if (run->is_recorded && run_peak_begin(&run->peak, &run->signals, &run->process, run->missed, ret))
			return;
		switch (run->follow.tid || run->follow.process ? follow_look(&run->follow, &again_ms)
							       : follow_look_untraced(&run->process)) {
		case FOLLOW_EXECUTED:
			record_again(run, ret);
			return;
		case FOLLOW_MISSED:
			describe_missed(run, ret);
			return;
		case FOLLOW_ENDING:
			take_last(run);
			follow_go_on(&run->follow);
			break;
		case FOLLOW_ENDED:
			if (run->follow.misses_exec)
				describe_missed(run, ret);
			else
				describe_end(run, ret);
			return;
		case FOLLOW_STARTED:
		case FOLLOW_NONE:
			look_for_children(run);
			break;
		}
		run_signals_wait(&run->signals, &run->process, run->follow.is_stopped, wait_ms(run, again_ms), &is_due);
		(void)writer_is_busy(run, WNOHANG);
		if (run->is_owed && take_stopped(run, ret))
			return;
		if (is_due || (run->next_ns && hs_monotonic_ns() >= run->next_ns)) {
			if (take_snapshot(run, ret))
				return;
		}
	}
}

void hs_run_end(struct hs_run *run)
{
	run_peak_end(&run->peak);
	writer_is_busy(run, 0);
	destroy(run);
}

struct hs_error *hs_run_numbered_name(const char *path, unsigned number, char **ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *point = *name ? strchr(name + 1, '.') : NULL; // a first one only hides the file
	const int length = (int)(point ? point - path : (ptrdiff_t)strlen(path));

	return hs_format(ret, "%.*s.%u%s", length, path, number, point ? point : "");
}

_Noreturn void hs_run_end_like(int status)
{
	const struct rlimit none = { 0 };

	fflush(NULL);
	if (WIFSIGNALED(status)) {
		const int number = WTERMSIG(status);
		sigset_t set;

		setrlimit(RLIMIT_CORE, &none);
		signal(number, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, number);
		raise(number);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		_exit(128 + number);
	}
	exit(WEXITSTATUS(status));
}
