// SPDX-License-Identifier: Apache-2.0
// Verdicts on the process as a whole, and what is said where nothing else is.
#include "base/cleanup.h"
#include "base/io.h"
#include "views/other_heaps.h"
#include "views/verdict_rules.h"

struct hs_error *rule_not_enough_data(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;

	*applies_ret = growth->cuts < TREND_LEAST || growth->seconds < VERDICT_SECONDS_LEAST;
	if (!*applies_ret)
		return NULL;
	if (growth->cuts == 1)
		return hs_format(&ret->text, "Not enough data: 1 snapshot; it takes three, and half a second at least");
	return hs_format(&ret->text, "Not enough data: %zu snapshots in %s; it takes three, and half a second at least",
			 growth->cuts, time_text(growth->seconds).text);
}

// Neither what is live nor what was freed makes so much.
static bool is_outside(const struct figures *figures)
{
	const struct growth *growth = figures->growth;
	const double unexplained = figures->unexplained;

	return unexplained > 0 && growth->all.temporary_rate < 0.5 * unexplained &&
	       growth->heap.gained < 0.5 * unexplained * growth->seconds && !growth->has_losses;
}

// Within malloc's heap, and not by live blocks.
static bool is_fragmented(const struct figures *figures)
{
	const struct growth *growth = figures->growth;
	const double unexplained = figures->unexplained;

	return unexplained > 0 && growth->all.temporary_rate >= 0.5 * unexplained &&
	       growth->heap.gained >= 0.5 * unexplained * growth->seconds;
}

struct hs_error *rule_outside_malloc(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct other_heap *other = other_heap_of(figures->named->profile);
	const double unexplained = figures->unexplained;
	struct hs_error *error;

	*applies_ret = is_outside(figures);
	if (!*applies_ret)
		return NULL;
	ret->rate = unexplained;
	error = hs_format(
		&ret->text,
		"Growth outside of what malloc gave%s%s: the process grows by %s that no recorded block accounts for",
		other ? ", perhaps of " : "", other ? other->what : "", rate_text(unexplained).text);
	if (!error)
		error = add_other_heap(figures, ret);
	if (!error)
		error = add_reason(ret, "anonymous memory grows by %s, recorded blocks by %s",
				   rate_text(growth->anonymous.rate).text,
				   rate_text(growth->all.live.gained / growth->seconds).text);
	if (!error && figures->is_exchanged)
		error = add_reason(ret, "%s of older blocks were freed meanwhile: what is recorded takes their place",
				   rate_text(figures->older_rate).text);
	if (!error)
		error = add_reason(ret,
				   "all that was allocated and freed again accounts for %s: too little to explain it",
				   rate_text(growth->all.temporary_rate).text);
	if (!error)
		error = add_reason(ret,
				   "it is mapped by the program itself (mmap), is a stack, or is a block from before "
				   "the attach that is written to only now");
	return error;
}

struct hs_error *rule_fragments(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const double unexplained = figures->unexplained;
	struct hs_error *error;

	*applies_ret = is_fragmented(figures);
	if (!*applies_ret)
		return NULL;
	ret->rate = unexplained;
	error = hs_format(&ret->text,
			  "Fragmentation suspected: malloc's heap grows by %s more than the blocks that are live in it",
			  rate_text(unexplained).text);
	if (!error)
		error = add_reason(ret, "malloc's heaps grew by %s, anonymous memory by %s, recorded live blocks by %s",
				   gain_text(growth->heap.gained).text, gain_text(growth->anonymous.gained).text,
				   gain_text(growth->all.live.gained).text);
	if (!error)
		error = add_reason(ret,
				   "%s was allocated and freed again: what was freed lies between blocks that live",
				   rate_text(growth->all.temporary_rate).text);
	return error;
}

// What the process grows by beside what is recorded, where neither of the two is shown: a small leak must not stand for
// it.
struct hs_error *rule_unexplained(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	struct hs_error *error;

	*applies_ret = figures->unexplained > 0 && !is_outside(figures) && !is_fragmented(figures);
	if (!*applies_ret)
		return NULL;
	ret->rate = figures->unexplained;
	error = hs_format(
		&ret->text,
		"Undecided: the process grows by %s more than what is recorded, and the figures do not show by what",
		rate_text(figures->unexplained).text);
	if (!error)
		error = add_reason(ret,
				   "anonymous memory grows by %s, recorded live blocks by %s, malloc's heaps by %s",
				   rate_text(growth->anonymous.rate).text, rate_text(growth->all.live.rate).text,
				   rate_text(growth->heap.rate).text);
	if (!error && growth->has_losses)
		return add_reason(ret, "allocations were lost, and may be what grows");
	if (!error)
		error = add_reason(
			ret,
			"%s is allocated and freed again: malloc may keep it (fragmentation), or the program "
			"maps memory itself",
			rate_text(growth->all.temporary_rate).text);
	return error ? error : add_other_heap(figures, ret);
}

// Whether live bytes have fallen below three quarters of their peak, and stay so through the last third. *peak_ret: the
// cut of the peak, in any case.
static bool has_fallen(const struct growth *growth, size_t *peak_ret)
{
	const size_t tail = (growth->cuts + 2) / 3;
	size_t peak = 0;

	for (size_t i = 1; i < growth->cuts; i++)
		if (growth->facts[i].live_bytes > growth->facts[peak].live_bytes)
			peak = i;
	*peak_ret = peak;
	if (peak + tail >= growth->cuts)
		return false;
	for (size_t i = growth->cuts - tail; i < growth->cuts; i++)
		if ((double)growth->facts[i].live_bytes > 0.75 * (double)growth->facts[peak].live_bytes)
			return false;
	return true;
}

// Blocks were freed, and the memory stays.
struct hs_error *rule_freed_stays(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct growth_cut *last = &growth->facts[growth->cuts - 1], *then;
	double freed, given_back;
	size_t peak;
	struct hs_error *error;

	if (!has_fallen(growth, &peak) || !growth->memory_is_known || figures->process_grows)
		return NULL;
	then = &growth->facts[peak];
	freed = (double)then->live_bytes - (double)last->live_bytes;
	given_back = (double)(then->memory.anonymous + then->memory.swapped) -
		     (double)(last->memory.anonymous + last->memory.swapped);
	*applies_ret = freed >= 2 * VERDICT_MEMORY_LEAST && given_back < 0.25 * freed;
	if (!*applies_ret)
		return NULL;
	error = hs_format(&ret->text,
			  "Fragmentation suspected: %s of live blocks were freed, and the process keeps that memory",
			  size_text(freed).text);
	if (!error)
		error = add_reason(ret, "recorded live fell from %s (after %s) to %s",
				   size_text((double)then->live_bytes).text, time_text(then->seconds).text,
				   size_text((double)last->live_bytes).text);
	if (!error)
		error = add_reason(ret, "anonymous memory changed by %s since", gain_text(-given_back).text);
	if (!error)
		error = add_reason(ret, "malloc may keep it for blocks to come, or cannot give it back, because blocks "
					"that live lie in between");
	return error;
}

// Too little to be sure of, or to matter.
static bool grows_a_little(const struct growth *growth)
{
	return growth->anonymous.gained >= VERDICT_MEMORY_LEAST / 8 || (growth->count > 0 && growth->sites[0].in_steps);
}

struct hs_error *add_unrecorded(const struct figures *figures, struct finding *ret)
{
	const double anonymous = figures->growth->anonymous.last,
		     unrecorded = anonymous - figures->growth->all.live.last;
	struct hs_error *error;

	if (unrecorded < VERDICT_MEMORY_LEAST)
		return NULL;
	error = add_reason(ret,
			   "%s is not in what was recorded: it is older than the attach, freed but kept by malloc, "
			   "or mapped",
			   size_text(unrecorded).text);
	if (!error && unrecorded >= anonymous / 2)
		error = add_reason(ret,
				   "that is most of its anonymous memory: heapsnap run, which records from a program's "
				   "start, shows where it comes from, and a longer watch (--for) whether it grows");
	return error;
}

struct hs_error *rule_nothing_grows(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct growth_cut *last = &growth->facts[growth->cuts - 1];
	struct hs_error *error;

	*applies_ret = growth->memory_is_known && !figures->top && !figures->process_grows &&
		       growth->anonymous.gained < VERDICT_MEMORY_LEAST;
	if (!*applies_ret)
		return NULL;
	error = hs_format(&ret->text, grows_a_little(growth) ? "Next to nothing grows" : "Nothing grows");
	if (!error)
		error = add_reason(ret, "the process's anonymous memory changed by %s in %s, to %s",
				   gain_text(growth->anonymous.gained).text, time_text(growth->seconds).text,
				   size_text(growth->anonymous.last).text);
	if (!error)
		error = add_reason(ret, "no site's live bytes rise steadily; recorded live is %s",
				   size_text((double)last->live_bytes).text);
	return error ? error : add_unrecorded(figures, ret);
}

// A leak, or what takes the place of older blocks that live for as long.
static struct hs_error *say_kept(const struct figures *figures, struct finding *ret)
{
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error = site_text(figures, figures->top, &name);

	ret->site = figures->top;
	if (!error)
		error = hs_format(
			&ret->text,
			"Undecided: %s keeps %s of the %s that it allocates, and that the process grows by it is "
			"not shown",
			name, rate_text(figures->top->speed).text, rate_text(figures->top->alloc_rate).text);
	return error;
}

// What no other rule has an answer to.
struct hs_error *rule_undecided(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct trend *anonymous = &growth->anonymous;
	struct hs_error *error = NULL;

	*applies_ret = true;
	if (!growth->memory_is_known)
		error = hs_format(&ret->text, "Undecided: the process's memory cannot be read");
	else if (figures->process_grows)
		error = hs_format(&ret->text, "Undecided: the process grows by %s, and the figures do not show by what",
				  rate_text(anonymous->rate).text);
	else if (figures->top && figures->top->keeps)
		error = say_kept(figures, ret);
	else if (figures->top)
		error = hs_format(&ret->text,
				  "Undecided: sites grow by %s, and that the process grows by them is not shown",
				  rate_text(figures->growing).text);
	else
		error = hs_format(&ret->text, "Undecided: the process changed by %s, but not steadily",
				  gain_text(anonymous->gained).text);
	if (!error)
		error = add_reason(ret,
				   "anonymous memory %s, recorded live blocks %s, freed again %s; malloc's heaps %s",
				   rate_text(anonymous->rate).text, rate_text(growth->all.live.rate).text,
				   rate_text(growth->all.temporary_rate).text, rate_text(growth->heap.rate).text);
	if (!error && growth->has_losses)
		error = add_reason(ret, "allocations were lost, and may be what grows");
	if (!error)
		error = add_reason(ret, "a longer watch%s may show it",
				   growth->counts_untracked ? "" : ", or --exact,");
	return error;
}
