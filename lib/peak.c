// SPDX-License-Identifier: Apache-2.0
#include "lib/peak.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/proc_maps.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>

static const uint64_t APART_LEAST = 20000000, APART_MOST = 1000000000, TRIES_LAST = 1000000000; // ns
enum {
	TRIES = 3,
	REST_TIMES = 10,     // what a look takes of a processor: a tenth of one at most
	PASSED_SHARE = 1000, // of the time that has passed: of a long run a short moment is no more than of a short one
};

uint64_t hs_peak_apart(uint64_t passed, uint64_t cost)
{
	uint64_t apart = passed / PASSED_SHARE;

	if (apart < APART_LEAST)
		apart = APART_LEAST;
	if (apart > APART_MOST)
		apart = APART_MOST;
	return apart > cost * REST_TIMES ? apart : cost * REST_TIMES;
}

static void offer(struct hs_peak *peak, struct heap_copy *copy)
{
	const uint64_t live_bytes = heap_copy_live_bytes(copy);

	peak->looks++;
	hs_verbose("look %" PRIu64 ": %" PRIu64 " bytes live", peak->looks, live_bytes);
	if (peak->copy && live_bytes <= peak->live_bytes) {
		heap_copy_destroy(copy);
		return;
	}
	heap_copy_destroy(peak->copy);
	peak->copy = copy;
	peak->live_bytes = live_bytes;
}

// Of a process that ends nothing more is to be seen.
static bool is_missed(const struct process *process, const struct hs_error *error)
{
	const enum process_memory memory =
		error->code == HS_ERROR_INTERRUPTED ? MEMORY_GONE : proc_maps_memory(process);

	return memory == MEMORY_THERE || (memory == MEMORY_UNKNOWN && process_lives(process));
}

bool hs_peak_is_hopeless(const struct hs_peak *peak)
{
	return peak->in_vain >= TRIES && hs_monotonic_ns() >= peak->began_ns + TRIES_LAST;
}

static struct hs_error *look(struct hs_peak *peak, const struct process *process, const struct block_selection *blocks)
{
	struct heap_copy *copy = NULL;
	struct hs_error *error = heap_copy_take(process, HEAP_COPY_UNSTOPPED, &copy);

	if (!error)
		error = heap_copy_select(copy, process, blocks);
	if (error) {
		heap_copy_destroy(copy);
		hs_verbose("a look failed: %s", error->message);
		if (is_missed(process, error)) {
			peak->missed++;
			peak->in_vain += !peak->copy;
		}
		return error;
	}
	offer(peak, copy);
	return NULL;
}

struct hs_error *hs_peak_look(struct hs_peak *peak, const struct process *process, const struct block_selection *blocks)
{
	const uint64_t began_thread = hs_thread_ns();
	struct hs_error *error;
	uint64_t now;

	if (!peak->began_ns)
		peak->began_ns = hs_monotonic_ns();
	error = look(peak, process, blocks);
	now = hs_monotonic_ns();
	peak->next_ns = now + hs_peak_apart(now - peak->began_ns, hs_thread_ns() - began_thread);
	return error;
}

void hs_peak_deinit(struct hs_peak *peak)
{
	heap_copy_destroy(peak->copy);
	*peak = (struct hs_peak){ 0 };
}
