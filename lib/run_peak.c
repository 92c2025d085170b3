// SPDX-License-Identifier: Apache-2.0
#include "lib/run_peak.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/process/target.h"
#include "base/clock.h"
#include "base/log.h"
#include "lib/dump_path.h"
#include "lib/leave.h"
#include "lib/peak.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// What the tool says: one of these bytes.
enum {
	SAYS_OVER = 1, // the command has ended
	SAYS_WRITE,
	SAYS_WRITE_BESIDE_END, // the heap at the end is known, and lower
};
// How long the watcher may take to answer: it may be in a look, and a dump waits for another one.
enum { ANSWER_MS = 60000 };

// What the watcher answers.
struct report {
	uint64_t live_bytes, looks, missed;
};

// -1 = nobody is there any more. Waits for what is said until `deadline` (CLOCK_MONOTONIC, ns), 0 = nothing was.
static int hear(int fd, uint64_t deadline)
{
	const uint64_t now = hs_monotonic_ns(), left = deadline > now ? deadline - now : 0;
	const struct timespec most = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	struct pollfd heard = { .fd = fd, .events = POLLIN };
	unsigned char byte;
	ssize_t got;

	if (ppoll(&heard, 1, &most, NULL) <= 0)
		return 0;
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	return got == 1 ? byte : -1;
}

// The command may run for long, and end without a peak.
static void tell_failure(const struct hs_peak *peak, const struct process *command, struct hs_error *error, bool *told)
{
	if (!*told && hs_peak_is_hopeless(peak)) {
		hs_warn("the peak of process %d is not seen, so far: %s", (int)command->pid, error->message);
		*told = true;
	}
	hs_error_destroy(error);
}

// Until the tool says that it is over. The tool's end ends this process, too.
static void look_until_told(int fd, const struct process *command, struct hs_peak *peak)
{
	static const struct block_selection all;
	bool is_told = false, is_there = true;
	int said = 0;

	while (said == 0) {
		struct hs_error *error = is_there ? hs_peak_look(peak, command, &all) : NULL;

		is_there = is_there && !hs_leave_is_nothing_left(error);
		if (error)
			tell_failure(peak, command, error, &is_told);
		said = hear(fd, is_there ? peak->next_ns : UINT64_MAX);
	}
	if (said != SAYS_OVER)
		_exit(HS_RUN_TOOK_NONE);
}

static int hear_whether_to_write(int fd)
{
	int said;

	do
		said = hear(fd, UINT64_MAX);
	while (said == 0);
	return said;
}

// Which signals end the work of a tool, as they were before it followed the command.
struct ending_signals {
	struct sigaction actions[3];
};
static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

static void ending_signals_keep(struct ending_signals *ret)
{
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		sigaction(ending_signals[i], NULL, &ret->actions[i]);
}

static void ending_signals_restore(const struct ending_signals *kept)
{
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		sigaction(ending_signals[i], &kept->actions[i], NULL);
}

static void watch(int fd, const struct process *command, const struct ending_signals *signals, struct hs_run_event *ret)
{
	struct hs_peak peak = { 0 };
	struct report report;
	int said;

	*ret = (struct hs_run_event){ .kind = HS_RUN_PEAK, .pid = command->pid };
	hs_process_name(command, ret->name, sizeof(ret->name));
	look_until_told(fd, command, &peak);
	report = (struct report){ peak.live_bytes, peak.looks, peak.missed };
	if (send(fd, &report, sizeof(report), MSG_NOSIGNAL) != sizeof(report))
		_exit(HS_RUN_TOOK_NONE);
	said = hear_whether_to_write(fd);
	if ((said != SAYS_WRITE && said != SAYS_WRITE_BESIDE_END) || !peak.copy)
		_exit(HS_RUN_TOOK_NONE);
	ending_signals_restore(signals); // the command has ended: they are for who still works
	ret->copy = peak.copy;
	ret->peak = (struct hs_run_peak){
		.is_known = true,
		.looks = peak.looks + (said == SAYS_WRITE_BESIDE_END),
		.missed = peak.missed,
	};
}

// 0 = in the child; < 0: there is none, which was said.
static pid_t start(const struct process *command, int *fd_ret)
{
	int ends[2], error_number;
	pid_t pid;

	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		pid = fork();
		error_number = errno;
		*fd_ret = ends[pid == 0];
		close(ends[pid != 0]);
		if (pid >= 0)
			return pid;
		close(*fd_ret);
		errno = error_number;
	}
	hs_warn("the peak of process %d is not seen: no process can be started for it: %s", (int)command->pid,
		strerror(errno));
	return -1;
}

bool run_peak_begin(struct run_peak *peak, const struct run_signals *signals, const struct process *command,
		    enum hs_run_missed missed, struct hs_run_event *ret)
{
	const pid_t tool = getpid();
	struct ending_signals ending;
	pid_t pid;

	if (!peak->is_wanted || peak->has_begun)
		return false;
	peak->has_begun = true;
	pid = start(command, &peak->fd);
	if (pid != 0) {
		peak->watcher = pid > 0 ? pid : 0;
		return false;
	}
	ending_signals_keep(&ending);
	run_signals_of_writer(signals);
	target_is_followed_by((uint32_t)tool);
	watch(peak->fd, command, &ending, ret);
	ret->missed = missed;
	return true;
}

// Reaps it. It may have been stopped by somebody.
static int end(struct run_peak *peak, int with_signal)
{
	int status = W_EXITCODE(HS_RUN_FAILED, 0);

	kill(peak->watcher, with_signal);
	close(peak->fd);
	while (waitpid(peak->watcher, &status, 0) < 0 && errno == EINTR) {
		const int number = interrupt_signal_take();

		if (number)
			kill(peak->watcher, number);
	}
	peak->watcher = 0;
	return status;
}

void run_peak_drop(struct run_peak *peak)
{
	if (peak->watcher)
		(void)end(peak, SIGKILL);
	peak->has_begun = false;
}

void run_peak_forget(struct run_peak *peak)
{
	if (peak->watcher)
		close(peak->fd);
	peak->watcher = 0;
}

static bool hear_report(int fd, struct report *ret)
{
	const struct timespec most = { ANSWER_MS / 1000, 0 };
	struct pollfd heard = { .fd = fd, .events = POLLIN };

	return ppoll(&heard, 1, &most, NULL) > 0 && recv(fd, ret, sizeof(*ret), MSG_WAITALL) == sizeof(*ret);
}

void run_peak_ask(struct run_peak *peak, const struct heap_copy *last, struct hs_run_peak *ret)
{
	const unsigned char over = SAYS_OVER;
	struct report report;

	*ret = (struct hs_run_peak){ 0 };
	if (!peak->watcher)
		return;
	kill(peak->watcher, SIGCONT); // somebody may have stopped it
	if (send(peak->fd, &over, 1, MSG_NOSIGNAL) != 1 || !hear_report(peak->fd, &report))
		return;
	ret->is_known = report.looks || (last && !report.missed);
	ret->is_end = ret->is_known && last && heap_copy_live_bytes(last) >= report.live_bytes;
	ret->looks = report.looks + (last != NULL);
	ret->missed = report.missed;
	peak->writes = ret->is_known && !ret->is_end;
	peak->is_beside_end = last;
}

void run_peak_end(struct run_peak *peak)
{
	const unsigned char write = peak->is_beside_end ? SAYS_WRITE_BESIDE_END : SAYS_WRITE;
	int status;

	if (!peak->watcher)
		return;
	if (!peak->writes) {
		(void)end(peak, SIGKILL);
		return;
	}
	(void)!send(peak->fd, &write, 1, MSG_NOSIGNAL); // where it has ended, its status says so
	status = end(peak, SIGCONT);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == HS_RUN_TOOK_NONE)
		hs_warn("no profile of the peak: the process that was to write it has ended before");
}
