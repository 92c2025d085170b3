// SPDX-License-Identifier: Apache-2.0
#include "lib/run_family.h"

#include "attach/guard/tool_guard.h"
#include "attach/process/target.h"
#include "attach/ptrace/launch.h"
#include "attach/ptrace/stop_wait.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "lib/detach.h"
#include "lib/run_holds.h"
#include "lib/run_late.h"
#include "lib/run_members.h"
#include "lib/run_snapshots.h"
#include "lib/run_writers.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MEMBERS_MOST = 200, // followed at one time; each takes two descriptors
	WAITING_MOST = 64,  // heaps that wait for a writer: of more processes none is taken
	LOOK_MS = 50,       // a stop may be missed: it is looked for so often
	LOOK_ALL_MS = 1000, // and at all so often
	ROUND_MOST = 100,   // stops in one round
	LEAVE_MS = 1000,
};

struct run_family {
	const struct hs_run_options *options;
	struct run_members members; // the first is the command
	struct run_writers writers; // of ends
	struct run_snapshots snapshots;
	struct hs_run_children tally;
	size_t waiting; // processes that are over, whose profiles are still to be written
	struct run_holds holds;
	size_t told;
	bool is_leaving;    // the command has ended
	bool look_again;    // at once: something stands that was not looked at
	uint64_t looked_ns; // when all were looked at
};

static bool is_command(const struct run_family *family, const struct run_member *member)
{
	return member == family->members.items[0];
}

struct hs_error *run_family_begin(const struct hs_run_options *options, const struct process *command, bool is_recorded,
				  enum hs_run_missed missed, struct run_family **ret)
{
	struct run_family *family = calloc(1, sizeof(*family));
	struct process process;
	struct run_member *member = NULL;
	struct hs_error *error = family ? process_open(command->pid, &process) : &hs_error_no_memory;

	*ret = NULL;
	if (error) {
		free(family);
		return error;
	}
	tool_guard_forbid();
	family->options = options;
	family->holds.began_ns = hs_monotonic_ns();
	family->tally.are_followed = true;
	run_snapshots_begin(options, &family->snapshots);
	error = run_members_add(&family->members, &process, &member);
	if (!error) {
		member->outcome = is_recorded ? OUTCOME_RECORDED : OUTCOME_FAILED;
		member->missed = missed;
		error = follow_threads_begin(&member->process, &member->follow);
	}
	if (error) {
		for (size_t i = 0; member && i < member->follow.count; i++)
			follow_threads_let_go(member->follow.threads[i].tid);
		run_family_end(family);
		return error;
	}
	*ret = family;
	return NULL;
}

// Attached at its beginning, or as soon after it as can be, and on.
static struct hs_error *record(struct run_family *family, struct run_member *member, struct hs_error *error,
			       struct hs_attach_result *attached)
{
	const uint64_t began = hs_monotonic_ns();

	error = hs_error_join(error, launch_held_end(HS_STEAL_POINTER(member->held)));
	target_is_followed_by((uint32_t)getpid());
	if (!error)
		error = hs_attach(&member->process, &family->options->attach, attached);
	if (member->missed == HS_RUN_MISSED_BEGINNING)
		run_member_follow_others(member);
	member->follow.is_stopped = launch_go_on(&member->process);
	family->holds.held_ns += hs_monotonic_ns() - began;
	return error;
}

// It stands at its beginning, or has not come there. True: *ret is an event.
static bool handle_beginning(struct run_family *family, struct run_member *member, struct hs_error *error,
			     struct hs_run_event *ret)
{
	struct hs_attach_result attached;

	error = record(family, member, error, &attached);
	member->outcome = error ? OUTCOME_FAILED : OUTCOME_RECORDED;
	if (is_command(family, member)) {
		*ret = (struct hs_run_event){ .kind = HS_RUN_EXECUTED,
					      .error = error,
					      .missed = member->missed,
					      .attached = error ? (struct hs_attach_result){ 0 } : attached };
		return true;
	}
	if (error && error->code != HS_ERROR_GONE)
		run_member_tell(member, &family->told, "is not recorded: ", error->message);
	else if (!error && member->missed == HS_RUN_MISSED_BEGINNING)
		run_member_tell(member, &family->told, "", hs_run_missed_beginning);
	hs_error_destroy(error);
	return false;
}

// True: *ret is an event.
static bool handle_exec(struct run_family *family, struct run_member *member, struct hs_run_event *ret)
{
	const uint64_t began = hs_monotonic_ns();
	struct hs_error *error;

	run_snapshots_drop(&family->snapshots, member);
	run_member_read_name(member);
	if (family->is_leaving || (!is_command(family, member) && !run_holds_allow(&family->holds, began))) {
		member->outcome = OUTCOME_TOO_MANY;
		run_late_begin(member, began);
		follow_threads_go_on(&member->follow);
		return false;
	}
	member->outcome = OUTCOME_FAILED; // until it is there
	member->missed = HS_RUN_MISSED_NOTHING;
	error = launch_held_begin(&member->process, &member->held);
	family->holds.programs++;
	family->holds.held_ns += hs_monotonic_ns() - began;
	return error ? handle_beginning(family, member, error, ret) : false;
}

// One that is on its way to its beginning. True: *ret is an event.
static bool look_at_held(struct run_family *family, struct run_member *member, struct hs_run_event *ret)
{
	enum launch_missed missed = LAUNCH_MISSED_NOTHING;
	enum launch_progress progress;
	struct hs_error *error = launch_held_look(member->held, &progress, &missed);

	member->follow.is_stopped = progress == LAUNCH_STOPPED;
	if (!error && (progress == LAUNCH_UNDER_WAY || progress == LAUNCH_STOPPED))
		return false;
	member->missed = (enum hs_run_missed)missed;
	if (error || progress == LAUNCH_THERE)
		return handle_beginning(family, member, error, ret);
	hs_error_destroy(launch_held_end(HS_STEAL_POINTER(member->held)));
	return handle_exec(family, member, ret);
}

// While it stands nobody waits for a writer, which may be a slow one: rather is a heap not taken, which is told.
static void take_last(const struct run_family *family, struct run_member *member, enum heap_copy_way way)
{
	if (member->outcome != OUTCOME_RECORDED || !family->options->at_end || member->copy)
		return;
	hs_error_destroy(member->error);
	member->error =
		family->waiting < WAITING_MOST || is_command(family, member)
			? heap_copy_take(&member->process, way, &member->copy)
			: hs_error_create(HS_ERROR_REFUSED, "the heaps of %zu processes still wait to be written",
					  family->waiting);
}

// Its maker tells of it, or nobody does (take_strangers), and its maker may do so still.
static void handle_start(struct run_family *family, pid_t pid)
{
	struct process process;
	struct run_member *member;
	struct hs_error *error;

	if (run_members_find(&family->members, pid) || stop_peek(pid).kind == STOP_UNKNOWN)
		return;
	family->tally.started++;
	if (family->members.count >= MEMBERS_MOST) {
		family->tally.too_many++;
		follow_threads_let_go(pid);
		return;
	}
	error = process_open(pid, &process);
	if (!error)
		error = run_members_add(&family->members, &process, &member);
	if (!error)
		error = follow_threads_adopt(&member->process, &member->follow);
	if (!error) {
		run_late_begin(member, hs_monotonic_ns());
		return;
	}
	hs_error_destroy(error);
	family->tally.failed++;
	follow_threads_let_go(pid);
}

static void count_member(struct run_family *family, const struct run_member *member)
{
	if (!is_command(family, member))
		run_member_count(member, &family->tally);
}

// The end of the command is told when all is done: until then its number is nobody else's.
static void handle_end(struct run_family *family, struct run_member *member)
{
	pid_t found = 0;

	run_snapshots_drop(&family->snapshots, member);
	member->is_over = true;
	count_member(family, member);
	if (is_command(family, member)) {
		family->is_leaving = true;
		return;
	}
	do
		found = waitpid(member->process.pid, &member->status, WNOHANG | __WALL);
	while (found < 0 && errno == EINTR);
	member->has_status = found > 0;
}

static enum follow_event look_at_threads(struct run_member *member, pid_t tid, pid_t *made_ret)
{
	return tid ? follow_threads_look_at(&member->follow, tid, made_ret)
		   : follow_threads_look(&member->follow, made_ret);
}

// Handles what has happened to one process, or to one thread of it (`tid` 0: to all). True: *ret is an event.
static bool look_at(struct run_family *family, struct run_member *member, pid_t tid, struct hs_run_event *ret)
{
	for (;;) {
		pid_t made;

		if (member->held && look_at_held(family, member, ret))
			return true;
		if (member->held)
			return false;
		switch (look_at_threads(member, tid, &made)) {
		case FOLLOW_STARTED:
			handle_start(family, made);
			break;
		case FOLLOW_EXECUTED:
			if (handle_exec(family, member, ret))
				return true;
			break;
		case FOLLOW_ENDING:
			run_snapshots_drop(&family->snapshots, member);
			run_member_read_name(member);
			take_last(family, member, HEAP_COPY_STANDING);
			follow_threads_go_on(&member->follow);
			break;
		case FOLLOW_ENDED:
			handle_end(family, member);
			return false;
		case FOLLOW_MISSED:
		case FOLLOW_NONE:
			return false;
		}
	}
}

// Of thousands of threads one has stopped or ended, mostly. What stands and nobody has told of has lost its maker,
// which was killed before: it stands until somebody lets it go on, and a thread of a process keeps its end from coming.
// *all_ret: more than that has happened. True: *ret is an event.
static bool look_at_found(struct run_family *family, bool *all_ret, struct hs_run_event *ret)
{
	bool is_end = false;
	pid_t tid = 0;

	*all_ret = false;
	for (int i = 0; i < ROUND_MOST && !*all_ret && (tid = stop_find(&is_end)); i++) {
		struct run_member *owner = run_members_find_owner(&family->members, tid);

		if (is_end && (!owner || owner->held || tid == owner->process.pid))
			*all_ret = true;
		else if (!owner)
			handle_start(family, tid);
		else if (look_at(family, owner, tid, ret))
			return true;
	}
	family->look_again = tid != 0 && !*all_ret;
	return false;
}

static bool look_at_all(struct run_family *family, bool only_held, struct hs_run_event *ret)
{
	for (size_t i = 0; i < family->members.count; i++) {
		struct run_member *member = family->members.items[i];

		if (!member->is_over && (member->held || !only_held) && look_at(family, member, 0, ret))
			return true;
	}
	return false;
}

static bool look(struct run_family *family, struct hs_run_event *ret)
{
	const uint64_t now = hs_monotonic_ns();
	bool all;

	if (look_at_found(family, &all, ret))
		return true;
	if (!all && now - family->looked_ns < LOOK_ALL_MS * UINT64_C(1000000))
		return look_at_all(family, true, ret); // a program that slips by its hold comes to no stop
	family->looked_ns = now;
	return look_at_all(family, false, ret);
}

// Its last heap, and nobody follows it any more.
static void unfollow(struct run_family *family, struct run_member *member)
{
	struct hs_error *error = launch_held_end(HS_STEAL_POINTER(member->held));

	if (error && error->code != HS_ERROR_GONE)
		hs_warn("%s (%s)", error->message, member->name);
	hs_error_destroy(error);
	run_snapshots_drop(&family->snapshots, member);
	if (member->outcome != OUTCOME_RECORDED)
		return; // it is followed until this tool ends
	take_last(family, member, HEAP_COPY_UNSTOPPED);
	run_member_read_name(member);
	for (size_t i = 0; i < member->follow.count; i++)
		follow_threads_let_go(member->follow.threads[i].tid);
}

static void detach(struct run_family *family, struct run_member *member)
{
	struct hs_detach_result result = { 0 };
	struct hs_error *error = hs_detach(&member->process, LEAVE_MS, &result);

	if (error && error->code != HS_ERROR_GONE)
		hs_warn("process %d (%s) goes on attached: %s", (int)member->process.pid, member->name, error->message);
	else if (!error && !result.is_finished)
		hs_warn("process %d (%s) goes on, with code of heapsnap in it: heapsnap detach %d takes it out",
			(int)member->process.pid, member->name, (int)member->process.pid);
	hs_error_destroy(error);
	count_member(family, member);
	family->tally.left++;
	member->is_over = true;
}

// What outlives the command is recorded up to here, and goes on without heapsnap. What is to be detached is not
// followed meanwhile: a detach waits for the vfork children that it has, and nobody would let them go on.
static void leave(struct run_family *family)
{
	struct hs_run_event none;
	pid_t tid;

	for (size_t i = 1; i < family->members.count; i++)
		if (!family->members.items[i]->is_over)
			unfollow(family, family->members.items[i]);
	for (int i = 0; i < MEMBERS_MOST && (tid = stop_find_behind_ends()); i++) { // what they have made at last
		struct run_member *owner = run_members_find_owner(&family->members, tid);

		if (owner && owner->outcome != OUTCOME_RECORDED)
			(void)look_at(family, owner, 0, &none); // no event: the command is over
		else
			follow_threads_let_go(tid);
	}
	for (size_t i = 1; i < family->members.count; i++)
		if (!family->members.items[i]->is_over && family->members.items[i]->outcome == OUTCOME_RECORDED)
			detach(family, family->members.items[i]);
}

// Goes on in a child, which writes the profile of a process that is over: true there.
static bool start_writer(struct run_family *family, struct run_member *member, const struct run_signals *signals,
			 struct hs_run_event *ret)
{
	if (!run_writers_start(&family->writers, signals, &member->process))
		return false;
	*ret = (struct hs_run_event){ .kind = HS_RUN_CHILD,
				      .copy = HS_STEAL_POINTER(member->copy),
				      .error = HS_STEAL_POINTER(member->error),
				      .pid = member->process.pid,
				      .missed = member->missed,
				      .has_status = member->has_status,
				      .status = member->status };
	memcpy(ret->name, member->name, sizeof(ret->name));
	return true;
}

// Forgets processes that are over, and has their profiles written, as many at one time as may be. True: this is such a
// writer.
static bool settle(struct run_family *family, const struct run_signals *signals, struct hs_run_event *ret)
{
	size_t left = 1;
	bool is_writer = false;

	family->waiting = 0;
	for (size_t i = 1; i < family->members.count; i++) {
		struct run_member *member = family->members.items[i];
		const bool is_wanted = member->copy || member->error;

		if (member->is_over && is_wanted && run_writers_have_room(&family->writers) && !is_writer)
			is_writer = start_writer(family, member, signals, ret);
		else if (!member->is_over || is_wanted) {
			family->waiting += member->is_over;
			family->members.items[left++] = member;
			continue;
		}
		if (is_writer)
			family->members.items[left++] = member; // the copy reads its handle
		else
			run_member_destroy(member);
	}
	family->members.count = left;
	return is_writer;
}

static void describe_end(struct run_family *family, struct hs_run_event *ret)
{
	struct run_member *command = family->members.items[0];
	const pid_t pid = command->process.pid;

	for (size_t i = 1; i < family->members.count; i++)
		count_member(family, family->members.items[i]);
	*ret = (struct hs_run_event){ .kind = HS_RUN_ENDED,
				      .copy = HS_STEAL_POINTER(command->copy),
				      .error = HS_STEAL_POINTER(command->error),
				      .is_recorded = command->outcome == OUTCOME_RECORDED,
				      .missed = command->missed,
				      .children = family->tally };
	ret->children.ends = family->writers.done;
	ret->children.snapshots = family->snapshots.tally;
	ret->children.snapshots.written = family->snapshots.writers.done;
	memcpy(ret->name, command->name, sizeof(ret->name));
	if (stop_kept_end(pid, &ret->status))
		return;
	while (waitpid(pid, &ret->status, __WALL) < 0 && errno == EINTR)
		;
}

// One round. True: *ret is an event.
static bool step(struct run_family *family, const struct run_signals *signals, struct hs_run_event *ret)
{
	const bool was_leaving = family->is_leaving;

	if (look(family, ret))
		return true;
	if (family->is_leaving && !was_leaving)
		leave(family);
	if (!family->is_leaving && !run_snapshots_hold(&family->snapshots))
		run_late_look(&family->members, &family->options->attach, &family->holds, &family->told);
	run_writers_reap(&family->writers);
	if (settle(family, signals, ret) || run_snapshots_step(&family->snapshots, &family->members, signals, ret))
		return true;
	if (!family->is_leaving || family->waiting || run_writers_are_busy(&family->writers) ||
	    run_writers_are_busy(&family->snapshots.writers))
		return false;
	describe_end(family, ret);
	return true;
}

void run_family_next(struct run_family *family, struct run_signals *signals, struct hs_run_event *ret)
{
	const struct run_member *command = family->members.items[0];
	bool is_due = false;

	while (!step(family, signals, ret)) {
		is_due = false;
		run_signals_wait(signals, &command->process, command->follow.is_stopped,
				 family->look_again ? 0 : run_snapshots_wait_ms(&family->snapshots, LOOK_MS), &is_due);
		if (!family->is_leaving && run_snapshots_are_due(&family->snapshots, is_due))
			run_snapshots_ask(&family->snapshots, &family->members);
	}
}

void run_family_end(struct run_family *family)
{
	if (!family)
		return;
	run_members_end(&family->members);
	free(family);
}
