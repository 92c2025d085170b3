// SPDX-License-Identifier: Apache-2.0
#include "lib/run_snapshots.h"

#include "base/clock.h"
#include "base/log.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TOLD_MOST = 3,   // failures, each in a message
	HOLD_MS = 500,   // how long threads may take to stand
	REST_TIMES = 20, // as long a process is left alone that stood for nothing: 5 % of its time at most
	COPY_MS = 60000, // and a process beside the tool to copy
	LOOK_MS = 5,     // it has come to its end: nobody is told
};

// What a copier says: why it has copied nothing. The first byte is one of these, what follows a text.
enum { SAYS_NEEDS_HOLD = 1, SAYS_GONE, SAYS_FAILED, REPORT_SIZE = 512 };

void run_snapshots_begin(const struct hs_run_options *options, struct run_snapshots *ret)
{
	*ret = (struct run_snapshots){ .options = options, .copier = -1, .copier_fd = -1 };
	if (options->every_ns)
		ret->next_ns = hs_monotonic_ns() + options->every_ns;
}

bool run_snapshots_are_due(struct run_snapshots *snapshots, bool is_asked)
{
	const uint64_t now = hs_monotonic_ns();
	const bool is_time = snapshots->next_ns && now >= snapshots->next_ns;

	if (is_time)
		snapshots->next_ns = now + snapshots->options->every_ns;
	return is_time || is_asked;
}

void run_snapshots_ask(struct run_snapshots *snapshots, const struct run_members *members)
{
	struct hs_run_snapshots *tally = &snapshots->tally;

	tally->times++;
	for (size_t i = 0; i < members->count; i++) {
		struct run_member *member = members->items[i];

		if (member->is_over || member->held || member->outcome != OUTCOME_RECORDED)
			continue;
		tally->left_out += member->owed != 0;
		if (!member->owed)
			member->owed = tally->times;
	}
}

static void forget_copier(struct run_snapshots *snapshots)
{
	close(snapshots->copier_fd);
	snapshots->copier_fd = -1;
	snapshots->copier = -1;
}

// It was taken, or will not be.
static void settle(struct run_snapshots *snapshots, struct run_member *member)
{
	member->owed = 0;
	if (snapshots->current != member)
		return;
	snapshots->current = NULL;
	if (snapshots->copier >= 0)
		forget_copier(snapshots);
	else
		follow_threads_release(&member->follow);
}

// Reads what the copier has said by now: < 0: nothing; it copies. 0: it has copied.
static ssize_t hear_copier(const struct run_snapshots *snapshots, char *text, size_t size)
{
	ssize_t got;

	do
		got = read(snapshots->copier_fd, text, size);
	while (got < 0 && errno == EINTR);
	return got;
}

void run_snapshots_drop(struct run_snapshots *snapshots, struct run_member *member)
{
	char text[REPORT_SIZE];
	ssize_t heard = -1;

	if (snapshots->current == member && snapshots->copier >= 0) {
		heard = hear_copier(snapshots, text, sizeof(text));
		if (heard < 0)
			run_writers_kill(&snapshots->writers, snapshots->copier);
	}
	snapshots->tally.over += member->owed && heard != 0;
	settle(snapshots, member);
	member->needs_hold = false; // another program may have been attached by another version
}

static void fail(struct run_snapshots *snapshots, struct run_member *member, const char *why)
{
	void (*const tell)(const char *, ...) = snapshots->told++ < TOLD_MOST ? hs_warn : hs_verbose;

	run_member_read_name(member);
	tell("no snapshot %u of process %d (%s): %s", member->owed, (int)member->process.pid, member->name, why);
	snapshots->writers.done.failed++;
	settle(snapshots, member);
}

static void fail_by(struct run_snapshots *snapshots, struct run_member *member, struct hs_error *error)
{
	if (error->code == HS_ERROR_GONE)
		run_snapshots_drop(snapshots, member);
	else
		fail(snapshots, member, error->message);
	hs_error_destroy(error);
}

static void hold(struct run_snapshots *snapshots, struct run_member *member)
{
	struct hs_error *error = follow_threads_hold(&member->follow);

	if (error) {
		fail_by(snapshots, member, error);
		return;
	}
	snapshots->current = member;
	snapshots->until = hs_monotonic_ns() + HOLD_MS * UINT64_C(1000000);
}

static void describe_event(struct run_member *member, unsigned number, struct heap_copy *copy, struct hs_run_event *ret)
{
	run_member_read_name(member);
	*ret = (struct hs_run_event){ .kind = HS_RUN_SNAPSHOT,
				      .copy = copy,
				      .number = number,
				      .pid = member->process.pid,
				      .missed = member->missed };
	memcpy(ret->name, member->name, sizeof(ret->name));
}

// In the copier.
static _Noreturn void report(int fd, const struct hs_error *error)
{
	char text[REPORT_SIZE];

	text[0] = (char)(error->code == HS_ERROR_REFUSED ? SAYS_NEEDS_HOLD
			 : error->code == HS_ERROR_GONE  ? SAYS_GONE
							 : SAYS_FAILED);
	snprintf(text + 1, sizeof(text) - 1, "%s", error->message);
	(void)!write(fd, text, 1 + strlen(text + 1)); // else it counts as failed
	_exit(HS_RUN_TOOK_NONE);
}

// True: this is the process that copies, has done so, and writes.
static bool start_copier(struct run_snapshots *snapshots, struct run_member *member, const struct run_signals *signals,
			 struct hs_run_event *ret)
{
	struct heap_copy *copy;
	struct hs_error *error;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		fail_by(snapshots, member, hs_error_system(errno, "no pipe can be made"));
		return false;
	}
	if (!run_writers_start(&snapshots->writers, signals, &member->process)) {
		close(ends[1]);
		snapshots->copier = snapshots->writers.newest;
		snapshots->copier_fd = ends[0];
		snapshots->current = member;
		snapshots->until = hs_monotonic_ns() + COPY_MS * UINT64_C(1000000);
		if (snapshots->copier < 0) { // which was said, and counts as failed
			forget_copier(snapshots);
			snapshots->current = NULL;
			member->owed = 0;
		}
		return false;
	}
	close(ends[0]);
	error = heap_copy_take(&member->process, HEAP_COPY_UNSTOPPED, &copy);
	if (error)
		report(ends[1], error);
	close(ends[1]);
	describe_event(member, member->owed, copy, ret);
	return true;
}

// Of the next one that is owed one. True: this is the process that writes it.
static bool begin_next(struct run_snapshots *snapshots, const struct run_members *members,
		       const struct run_signals *signals, struct hs_run_event *ret)
{
	for (size_t i = 0; i < members->count && !snapshots->current; i++) {
		struct run_member *member = members->items[i];

		if (!member->owed || hs_monotonic_ns() < member->rests_until)
			continue;
		if (member->needs_hold)
			hold(snapshots, member);
		else if (start_copier(snapshots, member, signals, ret))
			return true;
	}
	return false;
}

static void look_at_copier(struct run_snapshots *snapshots)
{
	struct run_member *member = snapshots->current;
	char text[REPORT_SIZE + 1];
	const ssize_t size = hear_copier(snapshots, text, sizeof(text) - 1);

	if (size < 0)
		return;
	if (size == 0) { // it has copied; or was killed, and its status says so
		settle(snapshots, member);
		return;
	}
	text[size] = 0;
	if (text[0] == SAYS_NEEDS_HOLD) {
		run_writers_kill(&snapshots->writers, snapshots->copier); // it ends now, and its place is the writer's
		forget_copier(snapshots);
		snapshots->current = NULL;
		member->needs_hold = true;
		hold(snapshots, member);
	} else if (text[0] == SAYS_GONE) {
		snapshots->tally.over++;
		settle(snapshots, member);
	} else {
		fail(snapshots, member, text + 1);
	}
}

// All its threads stand. True: this is the process that writes it.
static bool take_held(struct run_snapshots *snapshots, const struct run_signals *signals, struct hs_run_event *ret)
{
	struct run_member *member = snapshots->current;
	const unsigned number = member->owed;
	struct heap_copy *copy;
	struct hs_error *error = heap_copy_take(&member->process, HEAP_COPY_HELD, &copy);

	if (error) {
		fail_by(snapshots, member, error);
		return false;
	}
	settle(snapshots, member);
	if (run_writers_start(&snapshots->writers, signals, &member->process)) {
		describe_event(member, number, copy, ret);
		return true;
	}
	heap_copy_destroy(copy);
	return false;
}

static void give_up(struct run_snapshots *snapshots)
{
	const bool is_copying = snapshots->copier >= 0;

	if (is_copying)
		run_writers_kill(&snapshots->writers, snapshots->copier);
	else
		snapshots->current->rests_until = hs_monotonic_ns() + REST_TIMES * HOLD_MS * UINT64_C(1000000);
	fail(snapshots, snapshots->current,
	     is_copying ? "copying it took too long" : "its threads did not all stop in time");
}

bool run_snapshots_hold(const struct run_snapshots *snapshots) { return snapshots->current && snapshots->copier < 0; }

bool run_snapshots_step(struct run_snapshots *snapshots, const struct run_members *members,
			const struct run_signals *signals, struct hs_run_event *ret)
{
	for (;;) {
		run_writers_reap(&snapshots->writers);
		if (!snapshots->current && run_writers_have_room(&snapshots->writers) &&
		    begin_next(snapshots, members, signals, ret))
			return true;
		if (!snapshots->current)
			return false;
		if (snapshots->copier >= 0)
			look_at_copier(snapshots);
		else if (follow_threads_stand(&snapshots->current->follow) && take_held(snapshots, signals, ret))
			return true;
		if (!snapshots->current)
			continue; // the next one
		if (hs_monotonic_ns() >= snapshots->until)
			give_up(snapshots);
		return false;
	}
}

unsigned run_snapshots_wait_ms(const struct run_snapshots *snapshots, unsigned most)
{
	const uint64_t now = hs_monotonic_ns();

	if (snapshots->copier >= 0)
		most = LOOK_MS;
	if (!snapshots->next_ns || (snapshots->next_ns > now && (snapshots->next_ns - now) / 1000000 >= most))
		return most;
	return snapshots->next_ns > now ? (unsigned)((snapshots->next_ns - now) / 1000000 + 1) : 0;
}
