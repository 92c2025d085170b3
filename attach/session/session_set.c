// SPDX-License-Identifier: Apache-2.0
// A change of the settings of an attached process.
//
// Under a freeze. The order of stores is such that the target may be left at each of them for ever (docs/abi.md): first
// the Bloom filter is disabled, which is right whatever is recorded and wherever threads stand; then the settings
// change; then the filter is counted anew, if no thread is in the middle of the payload's work; the generation is the
// last word.
#include "attach/session/session.h"

#include "attach/guard/interrupt.h"
#include "attach/region/bloom_count.h"
#include "attach/region/freeze_outside.h"
#include "attach/region/region_access.h"
#include "attach/region/region_stable.h"
#include "attach/region/state_pages.h"
#include "attach/region/thread_slots.h"
#include "attach/session/transaction.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

struct change {
	struct region_access region;
	struct region_header header; // under the freeze
	pid_t stopped_tid;
	struct region_settings after;
	bool can_count;  // the Bloom filter: no thread is inside the payload
	uint64_t *slots; // offsets of those that were ever taken
	size_t slot_count;
	struct pending_record *pending;
	size_t pending_count;
	struct bloom_count filter;
};

#define HEADER_WRITE(change, field)                                                                                    \
	region_write(&(change)->region, offsetof(struct region_header, field), &(change)->header.field,                \
		     sizeof((change)->header.field))

_Static_assert(offsetof(struct region_header, sampling_interval) ==
		       offsetof(struct region_header, sampling_mode) + sizeof(uint32_t),
	       "mode and interval are one word");

static struct hs_error *no_longer_attached(const struct process *process)
{
	return hs_error_create(HS_ERROR_REFUSED,
			       "process %d has been detached, or has executed another program, in the meantime",
			       (int)process->pid);
}

// What was looked at before the freeze may have been detached, and attached again, meanwhile.
static struct hs_error *look_again(struct change *change)
{
	const struct region_access *region = &change->region;
	struct proc_maps maps;
	const struct proc_map *map;
	struct hs_error *error = proc_maps_read(region->process, &maps);

	if (error)
		return error;
	map = region_find(&maps, &region->memory);
	if (!map || map->start != region->address || map->end - map->start != region->size)
		error = no_longer_attached(region->process);
	proc_maps_deinit(&maps);
	if (!error)
		error = region_read(region, 0, &change->header, sizeof(change->header));
	if (!error)
		error = region_check_header(&change->header, region->size);
	if (!error && (change->header.stable.state != REGION_ATTACHED ||
		       change->header.stable.code_address != region->header.stable.code_address ||
		       change->header.stable.code_size != region->header.stable.code_size))
		error = no_longer_attached(region->process);
	return error;
}

// The slots in use, and the reallocations that are under way in them.
static struct hs_error *read_slots(struct change *change)
{
	struct shared_slot slot;
	struct hs_error *error = thread_slots_list(&change->region, &change->slots, &change->slot_count);

	if (error)
		return error;
	change->pending = calloc(change->slot_count + 1, sizeof(*change->pending));
	if (!change->pending)
		return &hs_error_no_memory;
	for (size_t i = 0; i < change->slot_count && !error; i++) {
		error = region_read(&change->region, change->slots[i], &slot,
				    offsetof(struct shared_slot, pending_new_address));
		if (!error && slot.pending)
			change->pending[change->pending_count++] =
				(struct pending_record){ slot.pending_address, slot.pending };
	}
	return error;
}

// A dump that stops no thread may set its own flag at the same time. It works through a mapping, which is only had with
// the region's file.
static struct hs_error *use_bloom(struct change *change, bool in_use)
{
	const uint32_t flag = REMOVAL_COUNTS_BLOOM;
	struct region_header *header;
	uint32_t flags;

	if (change->region.fd < 0) {
		flags = in_use ? change->header.removal_flags | flag : change->header.removal_flags & ~flag;
		change->header.removal_flags = flags;
		return HEADER_WRITE(change, removal_flags);
	}
	header = mmap(NULL, HS_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, change->region.fd, 0);
	if (header == MAP_FAILED)
		return hs_error_system(errno, "cannot map the region");
	fault_request();
	if (in_use)
		__atomic_fetch_or(&header->removal_flags, flag, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&header->removal_flags, ~flag, __ATOMIC_SEQ_CST);
	munmap(header, HS_HEADER_SIZE);
	return NULL;
}

static struct hs_error *put_bloom_out_of_use(struct change *change)
{
	struct hs_error *error = fault_point("saturate the Bloom filter");

	if (!error)
		error = state_pages_saturate_bloom(&change->region.memory, change->header.stable.state_address,
						   change->stopped_tid);
	if (!error)
		error = fault_point("disable the Bloom filter");
	return error ? error : use_bloom(change, false);
}

// Counters only once those who record count, too.
static struct hs_error *put_bloom_in_use(struct change *change)
{
	struct hs_error *error = fault_point("mark the counted records");

	if (!error)
		error = bloom_mark_records(&change->region, &change->filter);
	if (!error)
		error = fault_point("enable the Bloom filter");
	if (!error)
		error = use_bloom(change, true);
	if (!error)
		error = fault_point("fill the Bloom filter");
	return error ? error
		     : state_pages_write_bloom(&change->region.memory, change->header.stable.state_address,
					       change->filter.counters, change->stopped_tid);
}

static struct hs_error *write_settings(struct change *change)
{
	const struct sampling_settings *sampling = &change->after.sampling;
	struct region_header *header = &change->header;
	struct hs_error *error = fault_point("change the settings");

	// with a budget the payload says when it ends
	if (sampling->mode != SAMPLING_exact && sampling->mode != SAMPLING_budget)
		header->always_exact = 0;
	header->sampling_before = sampling->before;
	header->sampling_mode = sampling->mode;
	header->sampling_interval = sampling->interval;
	if (sampling->budget)
		header->budget = sampling->budget;
	header->depth = change->after.depth;
	header->sampling_wall_ns = hs_wall_ns();
	if (!error)
		error = HEADER_WRITE(change, always_exact);
	if (!error)
		error = HEADER_WRITE(change, budget);
	if (!error)
		error = HEADER_WRITE(change, sampling_before);
	if (!error)
		error = region_write(&change->region, offsetof(struct region_header, sampling_mode),
				     &header->sampling_mode, sizeof(uint64_t));
	// What a full region or the budget has led to is over: it will be seen again. Records are downsampled only
	// where no thread can be between reading a place in the table and emptying it.
	header->interval_floor = 0;
	header->budget_floor = 0;
	header->budget_records = 0;
	header->downsampling_position = 0;
	if (sampling->mode != SAMPLING_exact && change->can_count)
		header->removals_exchange = 1;
	if (!error)
		error = HEADER_WRITE(change, interval_floor);
	if (!error)
		error = HEADER_WRITE(change, budget_floor);
	if (!error)
		error = HEADER_WRITE(change, budget_records);
	if (!error)
		error = HEADER_WRITE(change, downsampling_position);
	if (!error)
		error = HEADER_WRITE(change, removals_exchange);
	if (!error)
		error = HEADER_WRITE(change, depth);
	return error ? error : HEADER_WRITE(change, sampling_wall_ns);
}

// Each thread takes the settings from the header at its next call. In this order: a thread that is in the payload's
// code looks at its interval after it has given itself a sampling credit.
static struct hs_error *tell_threads(struct change *change)
{
	const uint64_t none = 0;
	struct hs_error *error = fault_point("tell the threads");

	for (size_t i = 0; i < change->slot_count && !error; i++)
		error = region_write(&change->region, change->slots[i] + offsetof(struct shared_slot, interval), &none,
				     sizeof(none));
	if (!error)
		error = fault_point("take the sampling credits");
	return error ? error
		     : state_pages_take_credits(&change->region.memory, change->header.stable.state_address,
						change->stopped_tid);
}

// Under the freeze.
static struct hs_error *apply(struct change *change, const struct set_options *options, struct set_report *report)
{
	bool wants_bloom;
	struct hs_error *error = look_again(change);

	if (error)
		return error;
	sampling_settings_read(&change->header, &report->before.sampling);
	report->before.depth = change->header.depth;
	change->after.sampling = sampling_settings_after(&report->before.sampling, &options->change);
	change->after.depth = options->depth ? options->depth : change->header.depth;
	report->after = change->after;
	wants_bloom = change->after.sampling.mode != SAMPLING_exact;
	error = read_slots(change);
	wants_bloom = wants_bloom && change->can_count;
	if (!error && wants_bloom)
		error = bloom_count_records(&change->region, &change->header, change->pending, change->pending_count,
					    &change->filter);
	report->bloom_in_use = wants_bloom && !change->filter.is_too_much;
	if (!error)
		error = put_bloom_out_of_use(change);
	if (!error)
		error = write_settings(change);
	if (!error)
		error = tell_threads(change);
	if (!error && report->bloom_in_use)
		error = put_bloom_in_use(change);
	if (!error)
		error = fault_point("raise the generation");
	change->header.sampling_generation++;
	return error ? error : HEADER_WRITE(change, sampling_generation);
}

static struct hs_error *open_attached(const struct process *process, struct region_access *region)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);

	if (error)
		return error;
	error = region_open(process, &maps, region);
	proc_maps_deinit(&maps);
	if (error)
		return error;
	error = region_check_own(&region->header.stable);
	if (error) {
		region_close(region);
		return hs_error_prefix(error, "process %d", (int)process->pid);
	}
	error = region_refuse_unfinished(region);
	if (error)
		region_close(region);
	return error;
}

// Where every allocation will be recorded no Bloom filter is counted, and threads may stand anywhere.
static struct hs_error *freeze(struct change *change, const struct set_options *options, struct frozen_process *frozen,
			       struct set_report *report)
{
	struct sampling_settings now, after;

	sampling_settings_read(&change->region.header, &now);
	after = sampling_settings_after(&now, &options->change);
	if (after.mode == SAMPLING_exact)
		return threads_freeze_memory(&change->region.memory, HS_FREEZE_TIMEOUT_MS, frozen);
	return freeze_outside(&change->region, frozen, &change->can_count, &report->stopped_longest_ns);
}

static struct hs_error *change_settings(const struct process *process, const struct set_options *options,
					struct set_report *ret)
{
	struct change change = { 0 };
	struct frozen_process frozen;
	struct hs_error *error = open_attached(process, &change.region);

	if (error)
		return error;
	error = fault_point("freeze for the change");
	if (!error)
		error = freeze(&change, options, &frozen, ret);
	if (!error) {
		ret->threads = frozen.count;
		change.stopped_tid = frozen.threads[0].tid;
		error = apply(&change, options, ret);
		error = hs_error_join(error, threads_thaw(&frozen));
		if (frozen.stopped_ns > ret->stopped_longest_ns)
			ret->stopped_longest_ns = frozen.stopped_ns;
	}
	free(change.slots);
	free(change.pending);
	bloom_count_deinit(&change.filter);
	region_close(&change.region);
	return error;
}

struct hs_error *session_set(const struct process *process, const struct set_options *options, struct set_report *ret)
{
	struct transaction transaction;
	struct hs_error *error = transaction_begin(process, WORK_set, &transaction);

	*ret = (struct set_report){ 0 };
	if (error)
		return error;
	error = transaction_will_stop(&transaction);
	if (!error)
		error = change_settings(process, options, ret);
	return transaction_end(&transaction, error);
}
