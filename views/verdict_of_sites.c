// SPDX-License-Identifier: Apache-2.0
// Verdicts on sites.
#include "base/cleanup.h"
#include "base/io.h"
#include "views/verdict_rules.h"

#include <math.h>

static double percent(double part, double all) { return all > 0 ? 100 * part / all : 0; }

// Reasons that what sites gain is gained by the process.
static struct hs_error *add_support(const struct figures *figures, struct finding *ret)
{
	const struct growth *growth = figures->growth;

	if (figures->by_process && figures->growing < growth->anonymous.rate / 2)
		return add_reason(
			ret, "the process's anonymous memory grows by %s: what is recorded is %.0f %% of that",
			rate_text(growth->anonymous.rate).text, percent(figures->growing, growth->anonymous.rate));
	if (figures->by_process)
		return add_reason(ret, "the process's anonymous memory grows with it, by %s",
				  rate_text(growth->anonymous.rate).text);
	return add_reason(ret, "almost no older blocks were freed meanwhile (%.0f since %s), so these add to them",
			  growth->untracked_frees_late, time_text(growth->middle).text);
}

// Not all the time, as what frees nothing does.
static bool also_falls(const struct growth_site *site) { return site->live.fallen > 0.25 * site->live.gained; }

static bool begins_late(const struct growth_site *site) { return site->live.early < 0.1 * site->live.late; }

// Of what is live at the site more and more, whether the blocks stay, and it is not that more of them live at a time.
static bool rises_by_what_stays(const struct growth_site *site)
{
	// Of a few blocks half may stay by chance.
	const double least = site->survival.kind == SURVIVAL_UNSURE ? 0.9 : 0.5;

	return site->live.late >= 0.5 * site->live.early && !begins_late(site) && site->survived_share >= least &&
	       site->survival.kind != SURVIVAL_GOES &&
	       (site->survival.kind == SURVIVAL_STAYS ? site->survival.rate >= 0.5 * site->speed : !also_falls(site));
}

// The process's growth may be all of the other sites', while what this one gains takes the place of older blocks.
static bool may_be_of_others(const struct figures *figures)
{
	return figures->by_process && figures->growth->anonymous.rate < figures->growing - 0.5 * figures->top->speed;
}

// Steady, of one site, and of blocks that stay.
static bool is_plain(const struct figures *figures)
{
	const struct growth_site *top = figures->top;

	return top->speed >= 0.5 * figures->growing && !may_be_of_others(figures) &&
	       (top->keeps || rises_by_what_stays(top));
}

static double time_of(const struct figures *figures, size_t cut) { return figures->growth->facts[cut].seconds; }

// How much stays of what was live; without identity that is a bound.
static struct hs_error *add_survived(const struct figures *figures, const struct growth_site *site, struct finding *ret)
{
	const struct figure_text middle = time_text(figures->growth->middle);
	const bool is_bound = site->survival.kind == SURVIVAL_UNKNOWN;

	if (site->survived_share >= 1)
		return add_reason(ret, "its blocks stay: all that was live after %s is live still", middle.text);
	return add_reason(ret, "its blocks stay: of what was live after %s, %s%.0f %%%s is live still", middle.text,
			  !is_bound && figures->growth->is_estimate ? "about " : "", floor(100 * site->survived_share),
			  is_bound ? " at least" : "");
}

// What is hidden by what comes and goes at the same site: told by cohorts.
static struct hs_error *describe_kept(const struct figures *figures, const char *name, struct finding *ret)
{
	const struct growth_site *top = figures->top;
	const struct survival *survival = &top->survival;
	char error_text[NUMBER_SIZE];
	struct hs_error *error =
		hs_format(&ret->text, "Steady leak%s: %s keeps %s of the %s that it allocates",
			  top->speed >= 0.9 * figures->growing ? " at one site" : ", most of it at one site", name,
			  rate_text(top->speed).text, rate_text(top->alloc_rate).text);

	if (!error)
		error = add_reason(
			ret,
			"of what it allocated in the first %s, %s ±%s is live still (%s in the first half of "
			"that time, %s in the second)",
			time_text(time_of(figures, survival->born)).text, rate_text(survival->rate).text,
			number_error(number_whole(survival->rate), (uint64_t)number_whole(ceil(survival->error)),
				     error_text),
			rate_text(survival->early).text, rate_text(survival->late).text);
	if (!error && survival->now >= survival->then)
		error = add_reason(ret, "these blocks stay: none of them was freed after %s",
				   time_text(time_of(figures, survival->looked)).text);
	else if (!error)
		error = add_reason(ret, "these blocks stay: of those that were live after %s, %s%.0f %% is live still",
				   time_text(time_of(figures, survival->looked)).text,
				   figures->growth->is_estimate ? "about " : "", floor(100 * survival_share(survival)));
	if (!error && top->speed < 0.9 * figures->growing)
		error = add_reason(ret, "this makes %.0f %% of the recorded growth",
				   percent(top->speed, figures->growing));
	return error;
}

// It grew in less than half of the time, all that was allocated being recorded. Where samples are taken, few of them
// may look so too.
static bool is_in_bursts(const struct figures *figures)
{
	enum { INTERVALS_LEAST = 6 };
	const struct trend *live = &figures->top->live;

	return !figures->growth->is_estimate && live->intervals >= INTERVALS_LEAST && 2 * live->risen < live->intervals;
}

static struct hs_error *describe_pace(const struct figures *figures, struct finding *ret)
{
	const struct trend *live = &figures->top->live;
	const double share = percent(figures->top->speed, figures->growing);
	char largest[NUMBER_SIZE];

	if (is_in_bursts(figures))
		return add_reason(
			ret, "it grew in %zu of %zu intervals, by up to %s, and makes %.0f %% of the recorded growth",
			live->risen, live->intervals, number_bytes((uint64_t)number_whole(live->largest), largest),
			share);
	return add_reason(
		ret,
		"it grows all the time (%s in the first half, %s in the second), and makes %.0f %% of the recorded growth",
		rate_text(live->early).text, rate_text(live->late).text, share);
}

static struct hs_error *describe_rise(const struct figures *figures, const char *name, struct finding *ret)
{
	const struct growth_site *top = figures->top;
	const char *where = top->speed >= 0.9 * figures->growing ? " at one site" : ", most of it at one site",
		   *or_what = top->may_fill ? ", or a cache that still fills" : "";
	char gained[NUMBER_SIZE];
	struct hs_error *error;

	if (is_in_bursts(figures))
		error = hs_format(&ret->text, "Leak in bursts%s%s: %s grew by %s in %s", where, or_what, name,
				  number_bytes((uint64_t)number_whole(top->live.gained), gained),
				  time_text(top->live.seconds).text);
	else
		error = hs_format(&ret->text, "Steady leak%s%s: %s grows by %s", where, or_what, name,
				  rate_text(top->speed).text);
	if (!error)
		error = describe_pace(figures, ret);
	if (!error)
		error = add_survived(figures, top, ret);
	if (!error && top->may_fill)
		error = add_reason(ret, "hardly any of its blocks has been freed yet: a cache looks the same until it "
					"is full, and a longer watch (--for) tells");
	return error;
}

struct hs_error *rule_steady_leak(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth_site *top = figures->top;
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error;

	*applies_ret = top && figures->is_supported && figures->sites_matter && is_plain(figures);
	if (!*applies_ret)
		return NULL;
	ret->site = top;
	ret->rate = top->speed;
	error = site_text(figures, top, &name);
	if (!error)
		error = top->keeps ? describe_kept(figures, name, ret) : describe_rise(figures, name, ret);
	return error ? error : add_support(figures, ret);
}

// Whether blocks that were live at the middle cut are live still; what there was not, or all of it, is no sign of
// frees.
static struct hs_error *add_what_stays(const struct figures *figures, const struct growth_site *site,
				       struct finding *ret)
{
	const struct figure_text middle = time_text(figures->growth->middle);

	if (site->live_middle <= 0)
		return add_reason(ret, "nothing of it was live after %s yet: whether its blocks stay is not shown",
				  middle.text);
	if (site->survived_share >= 1)
		return add_reason(ret, "all that was live after %s is live still", middle.text);
	return add_reason(ret, "it also frees blocks: of what was live after %s, %s%.0f %% is live still", middle.text,
			  figures->growth->is_estimate ? "about " : "", floor(100 * site->survived_share));
}

// Of older blocks, by identity: that they go, or how much stays.
static struct hs_error *add_survival(const struct figures *figures, const struct growth_site *site, struct finding *ret)
{
	const struct survival *survival = &site->survival;
	const char *about = figures->growth->is_estimate ? "about " : "";

	if (survival->kind == SURVIVAL_STAYS)
		return add_reason(ret, "a part of it stays: %s of what it allocates is never freed",
				  rate_text(survival->rate).text);
	if (survival->kind == SURVIVAL_GOES)
		return add_reason(
			ret,
			"older blocks go, so this is no plain leak: of what it allocated in the first %s, %s%s is "
			"live still, and after %s it was %s",
			time_text(time_of(figures, survival->born)).text, about, size_text(survival->now).text,
			time_text(time_of(figures, survival->looked)).text, size_text(survival->then).text);
	return add_what_stays(figures, site, ret);
}

static struct hs_error *add_why_not_plain(const struct figures *figures, struct finding *ret)
{
	const struct growth_site *top = figures->top;
	const struct trend *live = &top->live;
	struct hs_error *error = NULL;

	if (top->speed < 0.5 * figures->growing)
		error = add_reason(ret, "%zu sites grow, and the fastest one makes %.0f %% of it",
				   figures->growing_count, percent(top->speed, figures->growing));
	if (!error && may_be_of_others(figures))
		error = add_reason(ret, "the process grows by less than they do together: which of them it grows by is "
					"not shown");
	if (!error && !top->keeps && live->late < 0.5 * live->early)
		error = add_reason(ret, "it grows more slowly than at first (%s, then %s): it may level off",
				   rate_text(live->early).text, rate_text(live->late).text);
	if (!error && !top->keeps && begins_late(top))
		error = add_reason(ret, "it has hardly grown at first (%s, then %s)", rate_text(live->early).text,
				   rate_text(live->late).text);
	if (!error && !top->keeps && also_falls(top))
		error = add_reason(ret, "it does not grow all the time: %s of it was freed meanwhile",
				   size_text(live->fallen).text);
	if (!error && top->survival.kind != SURVIVAL_UNKNOWN && (!rises_by_what_stays(top) || top->keeps))
		return add_survival(figures, top, ret);
	if (!error && (top->live_middle <= 0 || top->survived_share >= 1))
		return add_what_stays(figures, top, ret);
	if (!error && top->survived_share < 0.5)
		error = add_reason(
			ret,
			"it also frees blocks: whether those that were live after %s stay is not known beyond %.0f %% of "
			"them (diff --survivors of two dumps tells)",
			time_text(figures->growth->middle).text, floor(100 * top->survived_share));
	return error;
}

// Whether other sites make more than a little of what grows.
static bool top_is_not_all(const struct figures *figures)
{
	return figures->growing_count > 1 && figures->top->speed < 0.9 * figures->growing;
}

struct hs_error *rule_grows(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error;

	*applies_ret = figures->top && figures->is_supported && figures->sites_matter && !is_plain(figures);
	if (!*applies_ret)
		return NULL;
	ret->site = figures->top;
	ret->rate = figures->growing;
	error = site_text(figures, figures->top, &name);
	if (!error)
		error = top_is_not_all(figures) ? hs_format(&ret->text, "Growth at several sites: by %s, fastest at %s",
							    rate_text(figures->growing).text, name)
						: hs_format(&ret->text, "Growth at one site: %s grows by %s", name,
							    rate_text(figures->growing).text);
	if (!error)
		error = add_why_not_plain(figures, ret);
	return error ? error : add_support(figures, ret);
}

struct hs_error *rule_in_steps(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct growth_site *site = NULL;
	HS_CLEANUP_FREE char *name = NULL;
	struct hs_error *error;

	for (size_t i = 0; i < growth->count && !site; i++)
		site = growth->sites[i].in_steps ? &growth->sites[i] : NULL;
	*applies_ret = site && growth->memory_is_known && site->live.gained >= VERDICT_MEMORY_LEAST &&
		       site->speed >= 0.5 * figures->growing && growth->anonymous.gained >= 0.2 * site->live.gained;
	if (!*applies_ret)
		return NULL;
	ret->site = site;
	ret->rate = site->speed;
	error = site_text(figures, site, &name);
	if (!error)
		error = hs_format(&ret->text,
				  "Growth in steps: %s replaces a block by larger ones, as a vector does, %s in %s",
				  name, gain_text(site->live.gained).text, time_text(growth->seconds).text);
	if (!error)
		error = add_reason(ret, "it has %.0f block%s, and %s in all; before %s", site->blocks_last,
				   site->blocks_last == 1 ? "" : "s", size_text(site->live.last).text,
				   site->live.first > 0 ? size_text(site->live.first).text : "nothing recorded");
	if (!error)
		error = add_reason(ret, "the process's anonymous memory grew by %s meanwhile",
				   gain_text(growth->anonymous.gained).text);
	return error;
}

static double anonymous_at(const struct growth *growth, size_t cut)
{
	return (double)growth->facts[cut].memory.anonymous + (double)growth->facts[cut].memory.swapped;
}

struct hs_error *rule_levelled_off(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct growth_site *site = NULL;
	HS_CLEANUP_FREE char *name = NULL;
	double early, late;
	struct hs_error *error;

	for (size_t i = 0; i < growth->count && !site; i++)
		site = growth->sites[i].live.levels_off ? &growth->sites[i] : NULL;
	if (!site || !growth->memory_is_known)
		return NULL;
	late = anonymous_at(growth, growth->cuts - 1) - anonymous_at(growth, growth->cuts / 2);
	early = growth->anonymous.gained - late;
	// Without the process's growth it is what an attach looks like: blocks that come and go, of which the recorded
	// ones take the place of others.
	*applies_ret = site->live.gained >= VERDICT_MEMORY_LEAST &&
		       growth->anonymous.gained >= 0.5 * site->live.gained && late < 0.25 * early &&
		       !figures->process_grows;
	if (!*applies_ret)
		return NULL;
	ret->site = site;
	error = site_text(figures, site, &name);
	if (!error)
		error = hs_format(&ret->text, "Levelled off: %s has grown by %s, and does not grow any more", name,
				  size_text(site->live.gained).text);
	if (!error)
		error = add_reason(ret, "%s in the first half of the watch, %s in the second",
				   rate_text(site->live.early).text, rate_text(site->live.late).text);
	if (!error)
		error = add_reason(ret, "the process's anonymous memory did the same (%s, then %s)",
				   gain_text(early).text, gain_text(late).text);
	if (!error && site->survival.kind == SURVIVAL_GOES)
		error = add_reason(
			ret,
			"its older blocks go as newer ones come: of what was live after %s, %s%.0f %% is live still",
			time_text(growth->middle).text, growth->is_estimate ? "about " : "",
			floor(100 * site->survived_share));
	return error;
}

// What grows in the records alone: it, or all of it, takes the place of what was there before the attach.
struct hs_error *rule_exchange(const struct figures *figures, bool *applies_ret, struct finding *ret)
{
	const struct growth *growth = figures->growth;
	const struct trend *live = &growth->all.live;
	struct hs_error *error;

	*applies_ret = live->rises && !live->levels_off && live->gained >= 2 * VERDICT_MEMORY_LEAST &&
		       growth->memory_is_known && !figures->is_supported && !figures->process_grows &&
		       growth->anonymous.gained < 0.25 * live->gained;
	if (!*applies_ret)
		return NULL;
	error = hs_format(
		&ret->text,
		"Exchange, and no growth of the process: new blocks take the place of memory that it had before, or are not written to yet");
	if (!error)
		error = add_reason(ret, "recorded live blocks grew by %s, the process's anonymous memory by %s",
				   gain_text(live->gained).text, gain_text(growth->anonymous.gained).text);
	if (!error && !growth->counts_untracked)
		error = add_reason(ret,
				   "how many blocks from before the attach were freed is not known: --exact counts "
				   "them");
	else if (!error)
		error = add_reason(ret, "%.0f blocks from before the attach were freed since %s",
				   growth->untracked_frees_late, time_text(growth->middle).text);
	return error ? error : add_unrecorded(figures, ret);
}
