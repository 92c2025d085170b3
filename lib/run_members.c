// SPDX-License-Identifier: Apache-2.0
#include "lib/run_members.h"

#include "base/array.h"
#include "base/log.h"
#include "lib/dump_path.h"

#include <stdlib.h>

enum { TOLD_MOST = 3 }; // processes that could not be recorded, each in a message

struct hs_error *run_members_add(struct run_members *members, struct process *process, struct run_member **ret)
{
	struct run_member *member = calloc(1, sizeof(*member));
	struct hs_error *error =
		member ? ARRAY_RESERVE(members->items, members->count + 1, &members->room) : &hs_error_no_memory;

	if (error) {
		free(member);
		process_close(process);
		return error;
	}
	member->process = *process;
	members->items[members->count++] = member;
	*ret = member;
	return NULL;
}

void run_member_destroy(struct run_member *member)
{
	heap_copy_destroy(member->copy);
	hs_error_destroy(member->error);
	hs_error_destroy(launch_held_end(member->held));
	follow_threads_end(&member->follow);
	process_close(&member->process);
	free(member);
}

void run_members_end(struct run_members *members)
{
	for (size_t i = 0; i < members->count; i++)
		run_member_destroy(members->items[i]);
	free(members->items);
	*members = (struct run_members){ 0 };
}

struct run_member *run_members_find(const struct run_members *members, pid_t tid)
{
	for (size_t i = 0; i < members->count; i++)
		if (!members->items[i]->is_over && follow_threads_know(&members->items[i]->follow, tid))
			return members->items[i];
	return NULL;
}

struct run_member *run_members_find_owner(const struct run_members *members, pid_t tid)
{
	struct run_member *known = run_members_find(members, tid);

	for (size_t i = 0; i < members->count && !known; i++)
		if (!members->items[i]->is_over && follow_threads_take(&members->items[i]->follow, tid))
			known = members->items[i];
	return known;
}

void run_member_follow_others(struct run_member *member)
{
	struct hs_error *error = follow_threads_add_others(&member->follow);

	if (error && error->code != HS_ERROR_GONE)
		hs_verbose("not all threads of process %d are followed: %s", (int)member->process.pid, error->message);
	hs_error_destroy(error);
}

void run_member_read_name(struct run_member *member)
{
	hs_process_name(&member->process, member->name, sizeof(member->name));
}

void run_member_tell(const struct run_member *member, size_t *told, const char *what, const char *words)
{
	void (*const say)(const char *, ...) = (*told)++ < TOLD_MOST ? hs_warn : hs_verbose;

	say("process %d (%s) %s%s", (int)member->process.pid, member->name, what, words);
}

void run_member_count(const struct run_member *member, struct hs_run_children *tally)
{
	tally->recorded += member->outcome == OUTCOME_RECORDED;
	tally->late += member->outcome == OUTCOME_RECORDED && member->missed == HS_RUN_MISSED_HALF_SECOND;
	tally->forked += member->outcome == OUTCOME_FORKED;
	tally->too_many += member->outcome == OUTCOME_TOO_MANY;
	tally->failed += member->outcome == OUTCOME_FAILED;
}
