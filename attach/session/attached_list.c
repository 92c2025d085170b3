// SPDX-License-Identifier: Apache-2.0
#include "attach/session/attached_list.h"

#include "attach/guard/own_descriptors.h"
#include "attach/process/target.h"
#include "attach/region/region_access.h"
#include "attach/region/table_walk.h"
#include "attach/session/inherited.h"
#include "attach/session/leftovers.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "inject/abi/payload_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void read_name(const struct process *process, struct attached_process *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "comm", &text, NULL);

	if (error) {
		hs_error_destroy(error);
		return;
	}
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(text, "\n"), text);
}

static void describe(const struct region_access *access, struct attached_process *process)
{
	const struct region_header *header = &access->header;
	struct table_pages pages;
	struct hook_record *hooks;
	struct hs_error *error = region_read_hooks(access, &hooks);

	process->state = header->stable.state;
	process->attached_wall_ns = header->stable.attach_wall_ns;
	table_pages_init(header, access->size, &pages);
	process->used_pages = table_pages_count(&pages);
	process->max_pages = header->max_pages - header->first_page;
	process->threads = header->thread_count;
	process->modules = header->module_count;
	process->lost_no_thread_pointer = header->lost_no_thread_pointer;
	for (size_t i = 0; i < HS_THREAD_SLOTS / 64; i++)
		process->thread_slots += (uint32_t)__builtin_popcountll(header->used_slots[i]);
	process->thread_slots += header->extra_slot_count;
	process->max_thread_slots = HS_THREAD_SLOTS + thread_extra_slots_max(process->max_pages);
	process->depth = header->depth;
	process->counts_untracked = region_counts_untracked(header);
	process->has_settings = sampling_settings_read(header, &process->sampling);
	thread_costs_read(access, &process->costs);
	process->settings_wall_ns = header->sampling_wall_ns ? header->sampling_wall_ns : header->stable.attach_wall_ns;
	if (error) {
		hs_error_destroy(error);
		return;
	}
	for (uint32_t i = 0; i < header->stable.hook_count; i++) {
		process->hooks +=
			hooks[i].state == HOOK_APPLIED && hook_kind_is_function((enum hook_kind)hooks[i].kind);
		process->hooks_refused += hooks[i].verdict != VERDICT_ok;
		process->unseen_makers +=
			hook_makes_unseen((enum hook_kind)hooks[i].kind, (enum hook_verdict)hooks[i].verdict);
	}
	free(hooks);
}

// What is ours where there is no region. What cannot be read is none.
static void describe_rest(const struct process *process, const struct proc_maps *maps, struct attached_process *ret)
{
	struct target_memory memory;
	struct hs_error *error = target_memory_open(process, &memory);

	if (!error) {
		struct code_names names;
		struct inherited inherited;

		code_names_read(&memory, &names);
		error = inherited_read(maps, &memory, &names, &inherited);
		ret->has_leftovers = leftovers_exist(&names, &memory, NULL);
		if (!error) {
			ret->has_idle_hooks = inherited_is_hooked(&inherited, &memory);
			ret->has_leftovers |= inherited.code_count > 0 && !ret->has_idle_hooks;
			inherited_deinit(&inherited);
		}
		target_memory_close(&memory);
	}
	hs_error_destroy(error);
}

// Whether nobody has left the process as it is by being killed. What cannot be read is not sure.
static bool is_surely_attached(const struct process *process, const struct proc_maps *maps)
{
	struct region_access access;
	struct hs_error *error = region_open_any(process, maps, &access);
	bool attached = !error && access.header.stable.state == REGION_ATTACHED;

	if (!error)
		region_close(&access);
	hs_error_destroy(error);
	return attached;
}

static struct hs_error *examine_maps(const struct process *process, const struct proc_maps *maps,
				     struct attached_process *ret)
{
	struct region_access access;
	struct hs_error *error;

	error = region_open_any(process, maps, &access);
	if (error && error->code == HS_ERROR_NOT_FOUND) {
		bool has_some;

		describe_rest(process, maps, ret);
		ret->has_leftovers |= ret->late.is_certain;
		has_some = ret->has_leftovers || ret->has_idle_hooks;
		if (!has_some && !ret->late.tid)
			return error;
		hs_error_destroy(error);
		return has_some ? NULL : late_call_unknown(process, ret->late.tid);
	}
	if (!error) {
		error = region_read_header(&access);
		if (!error)
			describe(&access, ret);
		region_close(&access);
	}
	if (error)
		snprintf(ret->reason, sizeof(ret->reason), "%s", error->message);
	hs_error_destroy(error);
	return NULL;
}

// The first half: until it is known which threads are to be waited for. *search_ret: NULL = none, it is attached.
static struct hs_error *begin_examining(const struct process *process, struct attached_process *ret,
					struct late_search **search_ret)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);

	*ret = (struct attached_process){ .pid = process->pid };
	*search_ret = NULL;
	if (error && error->error_number == ENOENT) {
		hs_error_destroy(error);
		return process_not_found(HS_ERROR_NOT_FOUND, process->pid);
	}
	if (error)
		return error;
	read_name(process, ret);
	if (!is_surely_attached(process, &maps))
		error = late_search_begin(process, search_ret);
	proc_maps_deinit(&maps);
	return error;
}

// The second half. Ends the search.
static struct hs_error *end_examining(const struct process *process, struct attached_process *ret,
				      struct late_search *search)
{
	struct proc_maps maps;
	struct hs_error *error;

	late_search_end(search, &ret->late);
	error = proc_maps_read(process, &maps); // what a late call has made is there only now
	if (error)
		return error;
	error = examine_maps(process, &maps, ret);
	proc_maps_deinit(&maps);
	return error;
}

static struct hs_error *explain(const struct process *process, struct hs_error *error)
{
	if (error->error_number != EACCES && error->error_number != EPERM)
		return error;
	hs_error_destroy(error);
	return target_refuse_look(process);
}

struct hs_error *attached_examine(const struct process *process, struct attached_process *ret)
{
	struct late_search *search;
	struct hs_error *error = target_refuse_thread(process);

	*ret = (struct attached_process){ .pid = process->pid };
	if (!error)
		error = begin_examining(process, ret, &search);
	if (error)
		return explain(process, error);
	late_searches_wait(&search, 1, late_search_deadline());
	return end_examining(process, ret, search);
}

// Whether the tool could not look because of itself or the system: then the next process would not be seen either.
static bool is_shortage(const struct hs_error *error)
{
	return hs_errno_is_shortage(error->error_number) || error == &hs_error_no_memory;
}

enum { WAITED_FOR_MAX = 64 }; // each has descriptors open

struct listing {
	struct attached_process *list;
	size_t count, room;
	size_t hidden;
	uint64_t deadline; // of all waits together; 0 = none was needed yet
	// Processes with threads that are to be waited for; the one behind them is being looked at.
	size_t waited_for;
	struct process processes[WAITED_FOR_MAX];
	struct late_search *searches[WAITED_FOR_MAX];
	struct attached_process found[WAITED_FOR_MAX];
};

// What was found out of a process, or the error. Returned is what ends the listing.
static struct hs_error *note(struct listing *listing, const struct attached_process *found, struct hs_error *error)
{
	if (error && is_shortage(error))
		return own_descriptors_lack(error) ? own_descriptors_explain(error) : error;
	if (error) {
		if (error->code == HS_ERROR_NOT_FOUND && found->late.tid)
			hs_warn("%s", error->message);
		listing->hidden += error->code != HS_ERROR_NOT_FOUND && error->code != HS_ERROR_GONE &&
				   error->error_number != ENOENT && error->error_number != ESRCH;
		hs_error_destroy(error);
		return NULL;
	}
	if (ARRAY_RESERVE(listing->list, listing->count + 1, &listing->room))
		return &hs_error_no_memory;
	listing->list[listing->count++] = *found;
	return NULL;
}

static struct hs_error *end_one(struct listing *listing, size_t i)
{
	struct hs_error *error = end_examining(&listing->processes[i], &listing->found[i], listing->searches[i]);

	listing->searches[i] = NULL;
	return note(listing, &listing->found[i], error);
}

// Waits for all of them together: one after the other, processes that block every signal would hold up the answer, each
// for as long as a wait may last. After an error nothing is waited for; it is returned.
static struct hs_error *wait_for_some(struct listing *listing, struct hs_error *error)
{
	if (!listing->deadline)
		listing->deadline = late_search_deadline();
	if (!error)
		late_searches_wait(listing->searches, listing->waited_for, listing->deadline);
	for (size_t i = 0; i < listing->waited_for; i++) {
		struct late_call ignored;

		if (!error)
			error = end_one(listing, i);
		else
			late_search_end(listing->searches[i], &ignored);
		process_close(&listing->processes[i]);
	}
	listing->waited_for = 0;
	return error;
}

// At the process behind those that are waited for, unless it could not be opened.
static struct hs_error *look_at(struct listing *listing, struct hs_error *error)
{
	const size_t i = listing->waited_for;

	if (error && error->code == HS_ERROR_REFUSED) { // it has ended, or may not even be seen
		hs_error_destroy(error);
		return NULL;
	}
	if (error)
		return note(listing, &(struct attached_process){ 0 }, error);
	error = begin_examining(&listing->processes[i], &listing->found[i], &listing->searches[i]);
	if (!error && !late_search_is_over(listing->searches[i])) {
		listing->waited_for++;
		return listing->waited_for == WAITED_FOR_MAX ? wait_for_some(listing, NULL) : NULL;
	}
	error = error ? note(listing, &listing->found[i], error) : end_one(listing, i);
	process_close(&listing->processes[i]);
	return error;
}

static int compare_numbers(const void *one, const void *other)
{
	const pid_t a = ((const struct attached_process *)one)->pid, b = ((const struct attached_process *)other)->pid;

	return (a > b) - (a < b);
}

static struct hs_error *look_at_all(struct listing *listing)
{
	struct process_walk walk;
	struct hs_error *error = NULL;

	if (!process_walk_begin(&walk))
		return hs_error_system(errno, "cannot list processes");
	for (pid_t pid; !error && (pid = process_walk_next(&walk));)
		error = look_at(listing, process_glance(pid, &listing->processes[listing->waited_for]));
	process_walk_end(&walk);
	return wait_for_some(listing, error);
}

struct hs_error *attached_list(struct attached_process **list_ret, size_t *count_ret, size_t *hidden_ret)
{
	HS_CLEANUP_FREE struct listing *listing = calloc(1, sizeof(*listing));
	struct hs_error *error;

	*hidden_ret = 0;
	if (!listing)
		return &hs_error_no_memory;
	error = look_at_all(listing);
	*hidden_ret = listing->hidden;
	if (error) {
		free(listing->list);
		return error;
	}
	if (listing->count > 0)
		qsort(listing->list, listing->count, sizeof(*listing->list), compare_numbers);
	*list_ret = listing->list;
	*count_ret = listing->count;
	return NULL;
}
