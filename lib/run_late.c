// SPDX-License-Identifier: Apache-2.0
#include "lib/run_late.h"

#include "attach/process/target.h"
#include "attach/ptrace/follow_attach.h"
#include "base/clock.h"
#include "base/log.h"

#include <unistd.h>

enum {
	TRIES_MOST = 3, // attaches that have stopped it
	TOLD_AFTER = 8, // times that it was postponed: some 40 s
};
// ns
static const uint64_t FIRST_PAUSE = UINT64_C(500000000), PAUSE_MOST = UINT64_C(10000000000);

void run_late_begin(struct run_member *member, uint64_t now_ns)
{
	member->late.pause_ns = FIRST_PAUSE;
	member->late.due_ns = now_ns + FIRST_PAUSE;
	member->late.tries = member->late.postponed = 0;
}

static bool is_due(const struct run_member *member, uint64_t now_ns)
{
	return (member->outcome == OUTCOME_FORKED || member->outcome == OUTCOME_TOO_MANY) && !member->is_over &&
	       !member->held && !member->follow.ending && !member->follow.is_stopped && now_ns >= member->late.due_ns;
}

// Another time, and at each further call later than before.
static void postpone(struct run_member *member, uint64_t now_ns)
{
	member->late.pause_ns = member->late.pause_ns * 2 < PAUSE_MOST ? member->late.pause_ns * 2 : PAUSE_MOST;
	member->late.due_ns = now_ns + member->late.pause_ns;
}

static struct hs_error *attach(struct run_member *member, const struct hs_attach_options *options)
{
	struct hs_attach_result attached;
	struct hs_error *error, *lost;

	target_is_followed_by((uint32_t)getpid());
	follow_threads_through_freeze();
	error = hs_attach(&member->process, options, &attached);
	lost = follow_threads_again(&member->follow);
	if (lost && lost->code != HS_ERROR_GONE)
		hs_verbose("not all threads of process %d are followed: %s", (int)member->process.pid, lost->message);
	hs_error_destroy(lost);
	return error;
}

// What its threads do is in the way, and they may do other things the next time.
static bool may_pass(const struct hs_error *error)
{
	return error->code == HS_ERROR_REFUSED || error->code == HS_ERROR_TIMEOUT || error->code == HS_ERROR_GONE ||
	       error->code == HS_ERROR_INTERRUPTED;
}

// Whether another try may end otherwise. One that is about to be gone is no failure, whatever could not be read of it.
static bool is_pending(const struct run_member *member, const struct hs_error *error)
{
	return error && ((may_pass(error) && member->late.tries < TRIES_MOST) || !process_lives(&member->process));
}

// True: it was held.
static bool record(struct run_member *member, const struct hs_attach_options *options, size_t *told)
{
	struct hs_error *error = follow_attach_check(&member->process);
	const bool is_tried = !error;

	run_member_read_name(member);
	if (is_tried) {
		error = attach(member, options);
		member->late.tries++;
	}
	if (is_pending(member, error)) {
		if (++member->late.postponed == TOLD_AFTER)
			run_member_tell(member, told, "is not recorded yet: ", error->message);
		else
			hs_verbose("process %d is not recorded yet: %s", (int)member->process.pid, error->message);
		postpone(member, hs_monotonic_ns());
	} else {
		member->outcome = error ? OUTCOME_FAILED : OUTCOME_RECORDED;
		member->missed = error ? HS_RUN_MISSED_NOTHING : HS_RUN_MISSED_HALF_SECOND;
		if (error)
			run_member_tell(member, told, "is not recorded: ", error->message);
	}
	hs_error_destroy(error);
	return is_tried;
}

void run_late_look(struct run_members *members, const struct hs_attach_options *options, struct run_holds *holds,
		   size_t *told)
{
	const uint64_t now = hs_monotonic_ns();
	struct run_member *member = NULL;

	for (size_t i = 0; i < members->count && !member; i++)
		if (is_due(members->items[i], now))
			member = members->items[i];
	if (!member)
		return;
	if (!run_holds_allow(holds, now)) {
		member->late.due_ns = now + FIRST_PAUSE;
		return;
	}
	if (!record(member, options, told))
		return;
	holds->programs++;
	holds->held_ns += hs_monotonic_ns() - now;
}
