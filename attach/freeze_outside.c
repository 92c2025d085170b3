// SPDX-License-Identifier: Apache-2.0
#include "attach/freeze_outside.h"

#include "attach/inside.h"
#include "attach/interrupt.h"
#include "attach/memory_sharers.h"
#include "base/clock.h"
#include "base/log.h"

#include <unistd.h>

enum {
	FREEZE_TIMEOUT_MS = 2000,
	TRIES = 5,
	FIRST_RUN_US = 50, LONGEST_RUN_US = 2000, // that threads inside run on alone
	WAIT_US = 5000, // between tries
};
// How long the others stand at most in the first try; in each further one twice as long; ns. They stand longer where threads get no processor.
#define FIRST_STOP UINT64_C(8000000)

struct search {
	const struct region_access *region;
	struct hs_error *error;
};

// The slot of a thread, by its thread pointer: whether its outermost hook is in the recorder, that is, in neither the original function nor the
// program. *guard_ret: where that hook left its return address.
static struct hs_error *read_recorder(const struct region_access *region, uint64_t thread_pointer, bool *in_recorder_ret, uint64_t *guard_ret)
{
	struct thread_slot slot;

	*in_recorder_ret = false;
	*guard_ret = 0;
	for (uint32_t i = 0; i < HS_THREAD_PROBES_MAX && thread_pointer; i++) {
		uint64_t index = (thread_slot_index(thread_pointer) + i) & (HS_THREAD_SLOTS - 1);
		struct hs_error *error = region_read(region, HS_OFFSET_SLOTS + index * sizeof(slot), &slot, offsetof(struct thread_slot, last_freed));

		if (error || slot.thread_pointer == 0)
			return error;
		if (slot.thread_pointer != thread_pointer)
			continue;
		*in_recorder_ret = slot.guard && !slot.in_original;
		*guard_ret = slot.guard;
		return NULL;
	}
	return NULL;
}

// Its pc is in the image; or the recorder was interrupted by a signal, whose handler the thread is in now.
static struct hs_error *is_inside(const struct search *search, const struct frozen_thread *thread, bool *ret)
{
	const struct region_part image = { search->region->header.code_address, search->region->header.code_size };
	struct proc_maps maps;
	bool in_recorder;
	uint64_t guard;
	struct hs_error *error;

	*ret = thread->registers.rip >= image.offset && thread->registers.rip - image.offset < image.size;
	if (*ret)
		return NULL;
	error = read_recorder(search->region, thread->registers.fs_base, &in_recorder, &guard);
	if (error || !in_recorder)
		return error;
	error = proc_maps_read(search->region->pid, &maps);
	if (error)
		return error;
	error = inside_check(thread, guard, &maps, &search->region->memory, &image, 1, ret);
	proc_maps_deinit(&maps);
	return error;
}

static bool chosen(const struct frozen_thread *thread, void *context)
{
	struct search *search = context;
	bool inside = false;

	if (!search->error)
		search->error = is_inside(search, thread, &inside);
	return inside;
}

static struct hs_error *count_inside(struct search *search, const struct frozen_process *process, size_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < process->count; i++)
		*ret += chosen(&process->threads[i], search);
	return search->error;
}

// Lets those inside run on until none is, or for so long.
static struct hs_error *wait_until_outside(struct search *search, struct frozen_process *process, uint64_t longest_stop, size_t *inside_ret)
{
	unsigned run_us = FIRST_RUN_US;
	struct hs_error *error = count_inside(search, process, inside_ret);

	if (error)
		return hs_error_join(error, threads_thaw(process));
	while (*inside_ret > 0 && hs_monotonic_ns() - process->frozen_at < longest_stop) {
		error = threads_run_on(process, chosen, search, run_us, FREEZE_TIMEOUT_MS);
		if (error) // and all is thawed
			return hs_error_join(error, search->error);
		run_us = run_us * 2 > LONGEST_RUN_US ? LONGEST_RUN_US : run_us * 2;
		error = count_inside(search, process, inside_ret);
		if (error)
			return hs_error_join(error, threads_thaw(process));
	}
	return NULL;
}

// Whether another process shares the memory, and so is not stopped.
static bool is_shared(const struct frozen_process *process, const struct pid_set *strangers)
{
	struct hs_error *error = memory_sharers_check(process, strangers);
	bool shared = error != NULL;

	if (shared)
		hs_verbose("%s", error->message);
	hs_error_destroy(error);
	return shared;
}

struct hs_error *freeze_outside(const struct region_access *region, struct frozen_process *ret, bool *outside_ret, uint64_t *stopped_ns_ret)
{
	struct search search = { .region = region };
	uint64_t longest_stop = FIRST_STOP;
	struct pid_set strangers;
	struct hs_error *error;
	size_t inside = 0;

	*stopped_ns_ret = 0;
	memory_strangers_list(region->pid, &strangers);
	for (int try = 1;; try++) {
		error = threads_freeze(region->pid, FREEZE_TIMEOUT_MS, ret);
		if (error)
			break;
		*outside_ret = !is_shared(ret, &strangers);
		if (!*outside_ret)
			break;
		error = wait_until_outside(&search, ret, longest_stop, &inside);
		*outside_ret = inside == 0;
		if (error || inside == 0 || try == TRIES)
			break;
		hs_verbose("%zu threads are inside the payload; trying again", inside);
		error = threads_thaw(ret);
		if (ret->stopped_ns > *stopped_ns_ret)
			*stopped_ns_ret = ret->stopped_ns;
		if (error)
			break;
		usleep(WAIT_US); // ends early on a signal to the tool
		error = interrupt_check();
		if (error)
			break;
		longest_stop *= 2;
	}
	pid_set_deinit(&strangers);
	return error;
}
