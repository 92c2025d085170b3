// SPDX-License-Identifier: Apache-2.0
#include "attach/process/descent.h"

#include "base/cleanup.h"
#include "base/proc_status.h"

enum { TRIES = 5, STEPS_MAX = 4 };

struct parentage {
	pid_t parent; // 0 = it has none, or one outside of the PID namespace of /proc
	bool is_init; // it is, or may be, the first process of a PID namespace
};

static bool read_parentage(pid_t pid, struct parentage *ret)
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_glance(pid, &process);

	if (!error)
		error = process_read_file(&process, "status", &status, NULL);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	ret->parent = (pid_t)proc_status_number(status, "PPid:", 10, 0);
	ret->is_init = proc_status_innermost_id(status) <= 1;
	return true;
}

// Reads what the parent's parentage is while it is the parent: a number may become another process's.
static bool read_parent(pid_t pid, pid_t parent, struct parentage *ret)
{
	struct parentage again;

	return read_parentage(parent, ret) && read_parentage(pid, &again) && again.parent == parent;
}

static bool add_ancestors(pid_t pid, struct pid_set *set)
{
	struct parentage own, above;

	if (!read_parentage(pid, &own))
		return false;
	while (own.parent != 0 && !pid_set_has(set, own.parent)) {
		if (!read_parent(pid, own.parent, &above) || !pid_set_add(set, own.parent))
			return false;
		pid = own.parent;
		own = above;
	}
	return true;
}

// False: one of them has ended before it was read. It may have left children, and then these are seen the next time.
static bool list_ancestors(const struct pid_set *apart, struct pid_set *ret)
{
	struct process_walk walk;
	bool all = true;

	if (!process_walk_begin(&walk))
		return false;
	for (pid_t pid; all && (pid = process_walk_next(&walk));)
		all = pid_set_has(apart, pid) || add_ancestors(pid, ret);
	process_walk_end(&walk);
	return all;
}

bool ancestors_list(const struct pid_set *apart, struct pid_set *ret)
{
	const bool are_hidden = processes_are_unlisted();

	*ret = (struct pid_set){ 0 };
	for (int i = 0; i < TRIES && !are_hidden; i++) {
		if (list_ancestors(apart, ret))
			return true;
		pid_set_deinit(ret);
	}
	return false;
}

enum parent { PARENT_STRANGER, PARENT_OTHER, PARENT_UNKNOWN };

// *above_ret is filled where it is not known yet: PARENT_UNKNOWN.
static enum parent judge_parent(const struct descent *descent, pid_t pid, pid_t parent, struct parentage *above_ret)
{
	if (parent == 0 || pid_set_has(descent->ancestors, parent) || pid_set_has(&descent->others, parent))
		return PARENT_OTHER;
	if (pid_set_has(&descent->strangers, parent))
		return PARENT_STRANGER;
	if (!read_parent(pid, parent, above_ret) || above_ret->is_init)
		return PARENT_OTHER;
	return pid_set_has(descent->apart, parent) ? PARENT_STRANGER : PARENT_UNKNOWN;
}

// What is not kept, for want of memory, is read again.
static void keep(struct pid_set *set, const pid_t *parents, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!pid_set_add(set, parents[i]))
			return;
}

bool descent_is_strangers(struct descent *descent, pid_t pid)
{
	struct parentage own, above = { 0 };
	pid_t parents[STEPS_MAX];
	size_t count = 0;
	enum parent parent = PARENT_UNKNOWN;

	if (!read_parentage(pid, &own))
		return false;
	while (parent == PARENT_UNKNOWN && count < STEPS_MAX) {
		parent = judge_parent(descent, pid, own.parent, &above);
		parents[count++] = own.parent;
		pid = own.parent;
		own = above;
	}
	keep(parent == PARENT_STRANGER ? &descent->strangers : &descent->others, parents, count);
	return parent == PARENT_STRANGER;
}

void descent_deinit(struct descent *descent)
{
	pid_set_deinit(&descent->strangers);
	pid_set_deinit(&descent->others);
}
