// SPDX-License-Identifier: Apache-2.0
#include "lib/live.h"

#include "attach/guard/interrupt_signal.h"
#include "base/clock.h"
#include "lib/dump.h"
#include "lib/leave.h"
#include "snapshot/snapshot.h"

enum {
	WINDOW = 15,                        // looks that growth is told of
	NUMBERS_MOST = 4 * GROWTH_SITES_MAX // sites that the series has ever seen: then a new one is begun
};

_Static_assert((int)WINDOW >= (int)TREND_LEAST && (int)WINDOW < (int)TREND_MOST, "there is room for them");

static void drop_growth(struct hs_live *live)
{
	growth_deinit(&live->growth);
	growth_series_deinit(&live->series);
}

static void drop_view(struct hs_live *live)
{
	profile_view_deinit(&live->view);
	heap_profile_deinit(&live->profile);
}

struct hs_error *hs_live_begin(const struct process *process, const struct hs_live_options *options,
			       struct hs_live *ret)
{
	struct hs_entry entry;
	struct hs_error *error = hs_enter(process, &options->attach, &entry);

	*ret = (struct hs_live){ .process = process, .options = options, .began_ns = hs_monotonic_ns() };
	if (error)
		return error;
	ret->was_attached = entry.was_attached;
	ret->is_stopped = entry.is_stopped;
	return NULL;
}

// *ret owns its profile, which has no view yet.
static struct hs_error *take_profile(const struct process *process, struct hs_dump_result *ret)
{
	const struct hs_dump_options dump = { .output = NULL };
	struct heap_copy *copy = NULL;
	struct hs_error *error = heap_copy_take(process, HEAP_COPY_UNSTOPPED, &copy);

	if (error)
		return error;
	error = hs_dump_copied(copy, &dump, ret);
	heap_copy_destroy(copy);
	return error;
}

// The new profile takes the place of the old one, which the series does not need any more.
static struct hs_error *take_over(struct hs_live *live, struct heap_profile profile)
{
	struct growth_cut facts = { 0 };
	const bool is_of_another_attach = live->has_look && live->profile.attach_ns != profile.attach_ns;
	struct hs_error *error;

	live->was_attached |= is_of_another_attach; // by another command, whose it is
	growth_deinit(&live->growth);
	drop_view(live);
	live->profile = profile;
	live->has_look = true;
	error = profile_view_make(&live->profile, live->options->rules, &live->view);
	if (error)
		return error;
	if (live->series.last_count > NUMBERS_MOST || is_of_another_attach)
		growth_series_deinit(&live->series);
	if (live->series.count == WINDOW) {
		live->first_ns += (int64_t)(live->series.cuts[1].seconds * 1e9);
		growth_series_drop_first(&live->series);
	}
	if (!live->series.count)
		live->first_ns = live->profile.duration_ns;
	facts.seconds = (double)(live->profile.duration_ns - live->first_ns) / 1e9;
	error = growth_series_add(&live->series, &facts, &live->view.named, &live->view.sites);
	return error ? error : growth_make(&live->series, &live->growth);
}

struct hs_error *hs_live_look(struct hs_live *live)
{
	const uint64_t began = hs_monotonic_ns();
	struct hs_dump_result cut;
	struct hs_error *error = take_profile(live->process, &cut);

	if (!error)
		error = take_over(live, cut.profile);
	live->cost_ns = hs_monotonic_ns() - began;
	return error;
}

bool hs_live_may_pass(const struct hs_error *error)
{
	return error && (error->code == HS_ERROR_REFUSED || error->code == HS_ERROR_TIMEOUT);
}

// The error, which this takes over, or one in better words.
static struct hs_error *explain(const struct hs_live *live, struct hs_error *error)
{
	const double seconds = (double)(hs_monotonic_ns() - live->began_ns) / 1e9;
	const int pid = (int)live->process->pid;

	if (!error || (error->code != HS_ERROR_GONE && error->code != HS_ERROR_NOT_FOUND))
		return error;
	hs_error_destroy(error);
	if (!process_lives(live->process))
		return hs_error_create(HS_ERROR_GONE, "process %d has ended, after it was looked at for %.1f s", pid,
				       seconds);
	return hs_error_create(HS_ERROR_NOT_FOUND,
			       "process %d has executed another program, or was detached by another command, after it "
			       "was looked at for %.1f s",
			       pid, seconds);
}

struct hs_error *hs_live_end(struct hs_live *live, struct hs_error *error, struct hs_detach_result *detach_ret)
{
	interrupt_clear();
	if (error && error->code == HS_ERROR_INTERRUPTED) {
		hs_error_destroy(error);
		error = NULL;
	}
	error = explain(live, error);
	if (!live->was_attached)
		error = hs_leave(live->process, error, live->options->detach_wait_ms, detach_ret);
	drop_growth(live);
	drop_view(live);
	return error;
}
