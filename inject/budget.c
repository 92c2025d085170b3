// SPDX-License-Identifier: Apache-2.0
#include "budget.h"

#include "arch.h"
#include "thinning.h"

enum { WINDOW_US = 20000 };

// What a call costs that is not recorded, with the release of its block: jumps, the slot, the countdown, the filter. Measured by
// test/bench: 4 ns. It cannot be measured where it happens without costing more than itself.
enum { PASS_NS = 5 };

void budget_begin(struct thread_slot *slot)
{
	slot->window_began = arch_ticks();
	slot->window_records = slot->counters[COUNTER_allocations];
	slot->window_bytes = slot->counters[COUNTER_allocated_bytes];
	slot->estimated_calls = slot->estimated_bytes = 0;
}

static void review(struct thread_slot *slot, uint64_t now)
{
	struct region_header *header = region();
	struct budget_window window = { .ticks = now - slot->window_began };
	const struct budget_costs costs = {
		.pass = (uint64_t)header->ticks_per_us * PASS_NS / 1000,
		// What is timed is the recording itself. Entering, leaving and the release take as long again (test/bench, exact).
		.record = 2 * (uint64_t)slot->record_ticks,
	};
	uint64_t interval;

	// Settings that have changed while the original ran are taken over with the next call.
	if (slot->interval == 0 || window.ticks < (uint64_t)header->ticks_per_us * WINDOW_US)
		return;
	window.records = slot->counters[COUNTER_allocations] - slot->window_records;
	window.calls = window.records;
	window.bytes = slot->counters[COUNTER_allocated_bytes] - slot->window_bytes;
	if (slot->interval != 1) {
		window.calls = slot->estimated_calls >> 8;
		window.bytes = slot->estimated_bytes;
	}
	interval = budget_interval(&window, &costs, header->budget, slot->interval, &slot->cost);
	if (interval < thinning_floor())
		interval = thinning_floor();
	if (interval != slot->interval) {
		if (interval != 1 && header->always_exact)
			__atomic_store_n(&header->always_exact, 0, __ATOMIC_RELAXED);
		slot->interval = interval;
		sampling_begin_gap(slot);
	}
	budget_begin(slot);
	if (HS_UNLIKELY(slot->sampling_generation != __atomic_load_n(&header->sampling_generation, __ATOMIC_RELAXED)))
		sampling_ask_anew(slot); // the tool has said so meanwhile
}

void budget_note_record(struct thread_slot *slot, uint64_t size, struct choice choice)
{
	uint64_t now = arch_ticks(), again = arch_ticks();
	uint64_t took = now - slot->ticks, reading = again - now; // the reading itself is slow on virtual machines
	uint64_t most = slot->record_ticks ? 4 * (uint64_t)slot->record_ticks : 1 << 16; // another thread may have had the processor meanwhile

	took = took > reading ? took - reading : 1;
	took = took < most ? took : most;
	slot->record_ticks = (uint32_t)(slot->record_ticks ? (7 * (uint64_t)slot->record_ticks + took + 7) / 8 : took);
	if (choice.interval > 1) {
		struct sampling_weight weight = sampling_stands_for(size, choice);

		slot->estimated_calls += weight.objects >> (HS_OBJECTS_SHIFT - 8);
		slot->estimated_bytes += weight.bytes >> HS_BYTES_SHIFT;
	}
	review(slot, again);
}

void budget_note_visit(struct thread_slot *slot) { review(slot, arch_ticks()); }
