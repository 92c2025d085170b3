// SPDX-License-Identifier: Apache-2.0
#include "inject/sampling/budget.h"

#include "inject/arch/processor.h"
#include "inject/sampling/downsampling.h"
#include "inject/sampling/sampling_gap.h"
#include "inject/table/bloom_filter.h"

enum {
	WINDOW_US = 20000,
	AVERAGE_US = 1000000,        // over which the cost is told
	BURST_WINDOWS = 5,           // so many windows' budget is saved up at most, and owed at most
	RETURN_WINDOWS = 2,          // so many are to be there before all are recorded again
	FIRST_RECORDS = 256,         // that are all timed: a thread's first ones cost more than its later ones
	FIRST_MOST_US = 64,          // one of these takes less; another thread had the processor meanwhile
	DOWNSAMPLING_PART = 2,       // of the budget, what downsampling for its sake may take: one part in so many
	DOWNSAMPLING_STEP_US = 1000, // it takes less; another thread had the processor meanwhile
	USUAL_SIZE = 64,             // bytes of an allocation, before a thread knows its own
	ENOUGH_CALLS = 1024,         // to know the size from; of more, those that are longer ago count less
	LARGE = 65536,               // bytes above which an allocation says nothing of the others'
};

// What a call costs that is not recorded, with the release of its block: the inline fast paths; and how much more when
// it runs below a frame of ours. It cannot be measured where it happens without costing more than itself. test/bench
// has seen 0.7 and 0.9 ns for a pair.
enum { UNRECORDED_NS = 2, FRAME_NS = 10 };

// Before anything is measured.
enum { FIRST_RECORD_NS = 500, FIRST_RELEASE_NS = 50 };

static uint64_t ticks_of_ns(uint64_t ns) { return region()->ticks_per_us * ns / 1000; }

// How many bytes of the present piece of the gap are still to pass.
static int64_t left_to_pass(struct thread_slot *slot)
{
	int64_t left = __atomic_load_n(credit_countdown(slot), __ATOMIC_RELAXED);

	return left < 0 ? 0 : left < slot->gap_piece ? left : slot->gap_piece;
}

void budget_begin(struct thread_slot *slot)
{
	slot->gap_piece = left_to_pass(slot);
	slot->window_floor =
		downsampling_is_under_way() ? UINT64_MAX : __atomic_load_n(&region()->budget_floor, __ATOMIC_RELAXED);
	slot->shared.window_began = arch_ticks();
	slot->window_records = slot->shared.counters[COUNTER_allocations];
	slot->window_bytes = slot->shared.counters[COUNTER_allocated_bytes];
	slot->window_frees = slot->shared.counters[COUNTER_frees];
	slot->seen_bytes = slot->other_ticks = 0;
	slot->release_false_positives = slot->large_records = slot->framed_calls = 0;
}

// One part in `part` of a window's budget.
static uint64_t budget_ticks(uint64_t part)
{
	const struct region_header *header = region();

	return (uint64_t)header->ticks_per_us * WINDOW_US / part * header->budget / 1000000;
}

// What there may be at one time to be spent: a thread that has rested, or that has only just begun, has more to spend
// than one that records all the time, but never more than it has earned, and one window's budget to begin with.
static int64_t credit_after(int64_t credit, uint64_t ticks, uint64_t spent, uint64_t most_windows)
{
	const struct budget_purse purse = { .budget = region()->budget,
					    .most = most_windows * budget_ticks(1),
					    .least = BURST_WINDOWS * budget_ticks(1) };

	return budget_credit(&purse, credit, ticks, spent);
}

void budget_begin_anew(struct thread_slot *slot)
{
	// Settings may change often: who has spent it has no new credit each time.
	if (slot->shared.window_began)
		slot->credit = credit_after(slot->credit, arch_ticks() - slot->shared.window_began, 0, 1);
	else
		slot->credit = (int64_t)budget_ticks(1);
	slot->searched_ticks = slot->searched_spent = 0;
	budget_begin(slot);
}

// Entering and leaving a hook cannot be timed by itself. The colder the caches are, the longer that takes, too: half as
// much again.
static uint64_t with_entry(uint64_t timed) { return timed + timed / 2; }

static struct budget_costs costs_of(const struct thread_slot *slot)
{
	return (struct budget_costs){
		.unrecorded = ticks_of_ns(UNRECORDED_NS),
		.frame = ticks_of_ns(FRAME_NS),
		.record = with_entry(slot->record_ticks ? slot->record_ticks : ticks_of_ns(FIRST_RECORD_NS)),
		.release = with_entry(slot->release_ticks ? slot->release_ticks : ticks_of_ns(FIRST_RELEASE_NS)),
	};
}

// The window's numbers up to now, but for calls and their bytes.
static struct budget_window count_window(const struct thread_slot *slot, uint64_t now)
{
	return (struct budget_window){
		.ticks = now - slot->shared.window_began,
		.records = slot->shared.counters[COUNTER_allocations] - slot->window_records,
		.found = slot->shared.counters[COUNTER_frees] - slot->window_frees,
		.false_positives = slot->release_false_positives,
		.framed = slot->framed_calls,
		.others = slot->other_ticks,
	};
}

// How many calls there were is known from their bytes, which are counted, and from the sizes that samples show. Large
// blocks, which are recorded always, count for the interval that is too small for them: as many bytes as lead to one
// record.
static void count_calls(struct thread_slot *slot, struct budget_window *window)
{
	if (slot->shared.interval == 1) {
		window->calls = window->records;
		window->bytes = slot->shared.counters[COUNTER_allocated_bytes] - slot->window_bytes;
	} else {
		// times 16
		uint64_t size =
			slot->estimated_calls ? slot->estimated_bytes * 4096 / slot->estimated_calls : USUAL_SIZE * 16;

		uint64_t bytes = slot->seen_bytes + (uint64_t)(slot->gap_piece - left_to_pass(slot));

		window->calls = bytes * 16 / (size + 1) + slot->large_records;
		window->bytes = bytes + slot->large_records * slot->shared.interval;
	}
	if (slot->estimated_calls >> 8 >= ENOUGH_CALLS) {
		slot->estimated_calls -= slot->estimated_calls / 8;
		slot->estimated_bytes -= slot->estimated_bytes / 8;
	}
}

// What false positives take of the thread's time, millionths, by what they have taken for a second; in a window in
// which they take more than all of the budget, by that. False: that is not known yet.
static bool false_positives_are_known(struct thread_slot *slot, const struct budget_window *window,
				      const struct budget_costs *costs, uint32_t of_window, uint32_t *ret)
{
	const struct region_header *header = region();

	slot->searched_ticks += window->ticks;
	slot->searched_spent += window->false_positives * costs->release;
	*ret = of_window;
	if (of_window > header->budget)
		return true;
	if (slot->searched_ticks < (uint64_t)header->ticks_per_us * AVERAGE_US)
		return false;
	*ret = budget_share(slot->searched_spent, slot->searched_ticks);
	slot->searched_ticks /= 2;
	slot->searched_spent /= 2;
	return true;
}

// Records that cost too much are downsampled, and so are those of other threads: they are all in one Bloom filter.
static void review_records(struct thread_slot *slot, const struct budget_window *window,
			   const struct budget_costs *costs, uint32_t of_window, uint64_t now)
{
	const struct region_header *header = region();
	struct budget_bloom filter = {
		.floor = downsampling_budget_floor(),
		.records_left = __atomic_load_n(&header->budget_records, __ATOMIC_RELAXED),
		.mean_size = slot->estimated_bytes / ((slot->estimated_calls >> 8) + 1),
	};
	uint32_t false_positives = 0, interval;
	bool is_known;

	// A window in which records were downsampled says nothing of what is left of them.
	if (!bloom_in_use() || downsampling_is_under_way() ||
	    slot->window_floor != __atomic_load_n(&header->budget_floor, __ATOMIC_RELAXED)) {
		slot->searched_ticks = slot->searched_spent = 0;
		return;
	}
	is_known = false_positives_are_known(slot, window, costs, of_window, &false_positives);
	filter.records = bloom_records();
	if (!is_known && filter.records <= BUDGET_BLOOM_MOST)
		return;
	filter.is_saturated = filter.records > BUDGET_BLOOM_MOST && bloom_is_saturated();
	interval = budget_downsampling_interval(&filter, is_known ? false_positives : 0, header->budget);
	if (interval)
		downsampling_ask_for_budget(interval);
	else if (is_known && slot->shared.interval > 1 && slot->shared.interval <= filter.floor &&
		 budget_may_ease(&filter, slot->shared.cost, false_positives, header->budget))
		downsampling_ease_budget(now);
}

static uint32_t average(uint32_t before, uint32_t cost, uint64_t ticks)
{
	int64_t second = (int64_t)region()->ticks_per_us * AVERAGE_US,
		part = ticks < (uint64_t)second ? (int64_t)ticks : second;

	return (uint32_t)((int64_t)before + ((int64_t)cost - (int64_t)before) * (part >> 8) / ((second >> 8) + 1));
}

static void set_interval(struct thread_slot *slot, uint64_t interval)
{
	struct region_header *header = region();

	if (interval > 1 && interval < downsampling_budget_floor())
		interval = downsampling_budget_floor();
	if (interval < downsampling_floor())
		interval = downsampling_floor();
	if (interval == slot->shared.interval)
		return;
	if (interval != 1 && header->always_exact)
		__atomic_store_n(&header->always_exact, 0, __ATOMIC_RELAXED);
	slot->shared.interval = interval;
	gap_begin(slot);
}

// In a window that has lasted for so long. One in which not all are recorded tells nothing of the load before it has
// some samples.
static int64_t may_spend(const struct thread_slot *slot, uint64_t ticks)
{
	int64_t least = slot->shared.interval > 1 ? (int64_t)budget_ticks(1) : 0,
		credit = credit_after(slot->credit, ticks, 0, BURST_WINDOWS);

	return credit > least ? credit : least;
}

// The first records of a process that was started are paid by it, and leave the thread's credit as it is.
static bool is_paid_at_first(uint64_t spent)
{
	uint64_t *first_ticks = &region()->first_ticks, left = __atomic_load_n(first_ticks, __ATOMIC_RELAXED);

	while (left && !__atomic_compare_exchange_n(first_ticks, &left, left > spent ? left - spent : 0, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return left > 0;
}

static void review(struct thread_slot *slot, uint64_t now)
{
	struct region_header *header = region();
	struct budget_window window = count_window(slot, now);
	const struct budget_costs costs = costs_of(slot);
	struct budget_verdict verdict;
	uint64_t spent;

	// Settings that have changed while the original ran are taken over with the next call.
	if (slot->shared.interval == 0)
		return;
	spent = window.records * costs.record + (window.found + window.false_positives) * costs.release + window.others;
	if (window.ticks < (uint64_t)header->ticks_per_us * WINDOW_US && (int64_t)spent < may_spend(slot, window.ticks))
		return;
	count_calls(slot, &window);
	verdict = budget_judge(&window, &costs, header->budget, slot->shared.interval);
	slot->shared.cost = average(slot->shared.cost, verdict.cost, window.ticks);
	if (slot->shared.interval == 1 && is_paid_at_first(spent)) {
		verdict.interval = 1;
		spent = 0;
	}
	slot->credit = credit_after(slot->credit, window.ticks, spent, BURST_WINDOWS);
	review_records(slot, &window, &costs, verdict.false_positives, now);
	// Not all of them again while there is nothing to pay a burst from.
	set_interval(slot, slot->shared.interval > 1 && slot->credit < (int64_t)(RETURN_WINDOWS * budget_ticks(1))
				   ? verdict.sampled
				   : verdict.interval);
	budget_begin(slot);
	if (HS_UNLIKELY(slot->sampling_generation != __atomic_load_n(&header->sampling_generation, __ATOMIC_RELAXED)))
		credit_ask_anew(slot); // the tool has said so meanwhile
}

// Where the region runs short that is more urgent than the budget.
static void work(struct thread_slot *slot, uint64_t now)
{
	const struct region_header *header = region();
	uint64_t position = __atomic_load_n(&header->downsampling_position, __ATOMIC_RELAXED), took;

	if (!position || (position & HS_DOWNSAMPLING_BY_BUDGET && slot->other_ticks >= budget_ticks(DOWNSAMPLING_PART)))
		return;
	downsampling_work(slot);
	took = arch_ticks() - now;
	slot->other_ticks += took < (uint64_t)header->ticks_per_us * DOWNSAMPLING_STEP_US ? took : 0;
}

// What something took, averaged with what it took before.
static uint32_t take_in(uint32_t before, uint64_t took, uint64_t first)
{
	// another thread may have had the processor meanwhile
	uint64_t old = before ? before : first + 1, most = 4 * old;

	took = took < most ? took : most;
	return (uint32_t)((7 * old + took + 7) / 8);
}

// Reading the counter is slow on virtual machines.
static uint64_t without_reading(uint64_t took, uint64_t reading) { return took > reading ? took - reading : 1; }

// The caches are cold at first, pages of the region are touched for the first time, unwind information is decoded: of
// the first recordings each one is timed, and their mean is what they have cost, so that the first credit pays for
// them.
static void take_in_record(struct thread_slot *slot, uint64_t took)
{
	uint64_t most = (uint64_t)region()->ticks_per_us * FIRST_MOST_US, n = slot->timed_records;

	if (n >= FIRST_RECORDS) {
		slot->record_ticks = take_in(slot->record_ticks, took, ticks_of_ns(FIRST_RECORD_NS));
		return;
	}
	slot->timed_records++;
	slot->record_ticks = (uint32_t)((slot->record_ticks * n + (took < most ? took : most) + n) / (n + 1));
	slot->ticks_left = 0; // the next one, too
}

void budget_look(struct thread_slot *slot) { review(slot, arch_ticks()); }

void budget_note_record(struct thread_slot *slot, uint64_t size, struct choice choice)
{
	uint64_t now = arch_ticks_in_order(), again = arch_ticks_in_order();

	uint64_t took = without_reading(now - slot->ticks, again - now);

	if (choice.interval > 1)
		took += without_reading(slot->draw_ticks, again - now);
	take_in_record(slot, took);
	if (choice.interval == 1) { // one of several is looked at
		slot->estimated_calls += 256;
		slot->estimated_bytes += size < LARGE ? size : LARGE;
	} else if (size >= choice.interval) {
		slot->large_records++;
	} else {
		struct sampling_weight weight = sampling_weight(size, choice.interval);

		slot->estimated_calls += weight.objects >> (HS_OBJECTS_SHIFT - 8);
		slot->estimated_bytes += weight.bytes >> HS_BYTES_SHIFT;
	}
	review(slot, again);
	work(slot, again);
}

void budget_note_release(struct thread_slot *slot, uint64_t began)
{
	uint64_t now = arch_ticks_in_order(), again = arch_ticks_in_order();

	slot->release_ticks =
		take_in(slot->release_ticks, without_reading(now - began, again - now), ticks_of_ns(FIRST_RELEASE_NS));
	review(slot, again);
	work(slot, again);
}
