// SPDX-License-Identifier: Apache-2.0
#include "attach/region/freeze_outside.h"

#include "attach/guard/interrupt.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/sharing.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/region/inside.h"
#include "attach/region/region_stable.h"
#include "attach/region/slot_facts.h"
#include "base/back_off.h"
#include "base/clock.h"
#include "base/log.h"

#include <unistd.h>

enum {
	TRIES = 5,
	FIRST_RUN_US = 50,
	LONGEST_RUN_US = 2000, // that threads inside run on alone
	WAIT_US = 5000,        // between tries
};
// How long the others stand at most in the first try; in each further one twice as long; ns. They stand longer where
// threads get no processor.
#define FIRST_STOP UINT64_C(8000000)

struct search {
	struct region_access *region;
	struct unwind_tables tables;
	struct hs_error *error;
	// About the freeze that is looked at.
	struct address_range image;
	struct slot_facts_list slots;
	struct inside_search inside;
};

static void end_look(struct search *search)
{
	inside_end(&search->inside);
	slot_facts_deinit(&search->slots);
}

static struct hs_error *begin_look(struct search *search, struct frozen_process *frozen)
{
	const struct region_access *region = search->region;
	const struct proc_maps *maps;
	struct hs_error *error = frozen_maps(frozen, &maps);

	search->image = region_image(&region->header.stable);
	if (!error)
		error = slot_facts_read(region, frozen, &search->slots);
	if (!error)
		error = inside_begin(&region->memory, maps, &search->slots, &search->tables, &search->image, 1, NULL,
				     &search->inside);
	return error;
}

// Its pc is in the image; or the recorder was interrupted by a signal, whose handler the thread is in now.
static struct hs_error *is_inside(struct search *search, const struct frozen_thread *thread, bool *ret)
{
	const struct slot_facts *slot = slot_facts_find(&search->slots, registers_thread_pointer(&thread->registers));

	*ret = ranges_hold(&search->image, 1, registers_pc(&thread->registers));
	if (*ret || !slot || !slot->guard || slot->in_original) // in the original function, or in the program
		return NULL;
	return inside_check(&search->inside, thread, ret);
}

static bool chosen(const struct frozen_thread *thread, void *context)
{
	struct search *search = context;
	bool inside = false;

	if (!search->error)
		search->error = is_inside(search, thread, &inside);
	return inside;
}

static struct hs_error *count_inside(struct search *search, struct frozen_process *frozen, size_t *ret)
{
	struct hs_error *error = begin_look(search, frozen);

	*ret = 0;
	for (size_t i = 0; i < frozen->count && !error; i++) {
		*ret += chosen(&frozen->threads[i], search);
		error = search->error ? search->error : interrupt_check();
	}
	return error;
}

// Lets those inside run on until none is, or for so long.
static struct hs_error *wait_until_outside(struct search *search, struct frozen_process *frozen, uint64_t longest_stop,
					   size_t *inside_ret)
{
	struct back_off run = { FIRST_RUN_US, LONGEST_RUN_US };
	struct hs_error *error = count_inside(search, frozen, inside_ret);

	while (!error && *inside_ret > 0 && !frozen->has_executed &&
	       hs_monotonic_ns() - frozen->frozen_at < longest_stop) {
		error = threads_run_on(frozen, chosen, search, back_off_next(&run), HS_FREEZE_TIMEOUT_MS);
		end_look(search);
		if (error) // and all is thawed
			return hs_error_join(error, search->error);
		error = target_memory_open_again(&search->region->memory, &frozen->has_executed);
		if (!error && !frozen->has_executed)
			error = count_inside(search, frozen, inside_ret);
	}
	end_look(search);
	return error ? hs_error_join(error, threads_thaw(frozen)) : NULL;
}

// Whether another process shares the memory, and so is not stopped.
static bool is_shared(const struct frozen_process *frozen, const struct strangers *strangers)
{
	struct hs_error *error = memory_sharers_check(frozen->process, frozen->threads[0].tid, strangers);
	bool shared = error != NULL;

	if (shared)
		hs_verbose("%s", error->message);
	hs_error_destroy(error);
	return shared;
}

struct hs_error *freeze_outside(struct region_access *region, struct frozen_process *ret, bool *outside_ret,
				uint64_t *longest_ns_ret)
{
	struct search search = { .region = region };
	uint64_t longest_stop = FIRST_STOP;
	struct strangers strangers;
	struct hs_error *error;
	size_t inside = 0;

	*longest_ns_ret = 0;
	error = unwind_tables_read(&region->memory, &search.tables);
	if (error)
		return error;
	strangers_list(region->process, NULL, 0, &strangers);
	for (int try = 1;; try++) {
		error = threads_freeze_memory(&region->memory, HS_FREEZE_TIMEOUT_MS, ret);
		if (error)
			break;
		*outside_ret = !ret->has_executed && !is_shared(ret, &strangers);
		if (!*outside_ret)
			break;
		error = wait_until_outside(&search, ret, longest_stop, &inside);
		*outside_ret = inside == 0;
		if (error || inside == 0 || ret->has_executed || try == TRIES)
			break;
		hs_verbose("%zu threads are inside the payload; trying again", inside);
		error = threads_thaw(ret);
		if (ret->stopped_ns > *longest_ns_ret)
			*longest_ns_ret = ret->stopped_ns;
		if (error)
			break;
		usleep(WAIT_US); // ends early on a signal to the tool
		error = interrupt_check();
		if (error)
			break;
		longest_stop *= 2;
	}
	strangers_deinit(&strangers);
	unwind_tables_deinit(&search.tables);
	return error;
}
