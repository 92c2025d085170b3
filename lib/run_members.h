// SPDX-License-Identifier: Apache-2.0
// The processes that run --children follows. For run_family.c.
#ifndef HEAPSNAP_LIB_RUN_MEMBERS_H
#define HEAPSNAP_LIB_RUN_MEMBERS_H

#include "attach/ptrace/follow_threads.h"
#include "attach/ptrace/launch.h"
#include "base/error.h"
#include "base/process.h"
#include "lib/run.h"
#include "snapshot/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum outcome { OUTCOME_FORKED, OUTCOME_RECORDED, OUTCOME_TOO_MANY, OUTCOME_FAILED };

struct run_member {
	struct process process;
	struct follow_threads follow;
	struct launch_held *held; // on its way to its beginning; NULL = it is not
	char name[HS_RUN_NAME_SIZE];
	enum outcome outcome;
	enum hs_run_missed missed;
	struct {
		uint64_t due_ns, pause_ns; // CLOCK_MONOTONIC, when it is tried next; and how much later than this time
		unsigned tries, postponed;
	} late;               // for run_late.c
	bool is_over;         // it has ended, or was left: only `copy` may be of use
	unsigned owed;        // the number of the snapshot that is to be taken of it; 0 = none is (lib/run_snapshots.h)
	bool needs_hold;      // it cannot be copied while it runs
	uint64_t rests_until; // CLOCK_MONOTONIC, ns: it stood for nothing, and is not to stand again before
	struct heap_copy *copy;
	struct hs_error *error; // why there is none
	bool has_status;
	int status;
};

struct run_members {
	struct run_member **items; // owned
	size_t count, room;
};

// Takes the handle over. HS_ERROR_NO_MEMORY. *ret is borrowed.
struct hs_error *run_members_add(struct run_members *members, struct process *process,
				 struct run_member **ret) HS_MUST_CHECK;
void run_members_end(struct run_members *members);
void run_member_destroy(struct run_member *member);

// The one that is not over and follows this thread; NULL = none does.
struct run_member *run_members_find(const struct run_members *members, pid_t tid);
// So too where nobody has told of the thread: it is followed from now on.
struct run_member *run_members_find_owner(const struct run_members *members, pid_t tid);

// One that had begun before it was held may have other threads than its main one, of which nobody was told.
void run_member_follow_others(struct run_member *member);
void run_member_read_name(struct run_member *member);
// `what` and `words` of it: the first ones as warnings. *told: so many were.
void run_member_tell(const struct run_member *member, size_t *told, const char *what, const char *words);
void run_member_count(const struct run_member *member, struct hs_run_children *tally);

#endif
