// SPDX-License-Identifier: Apache-2.0
#include "views/verdict.h"

#include "views/verdict_rules.h"

#include <math.h>
#include <stdlib.h>

static const struct {
	enum verdict_kind kind;
	verdict_rule *rule;
	bool is_last_resort; // asked only where none before applies
} rules[] = {
	{ VERDICT_NOT_ENOUGH_DATA, rule_not_enough_data, false },
	{ VERDICT_STEADY_LEAK, rule_steady_leak, false },
	{ VERDICT_GROWTH, rule_grows, false },
	{ VERDICT_IN_STEPS, rule_in_steps, false },
	{ VERDICT_OUTSIDE_MALLOC, rule_outside_malloc, false },
	{ VERDICT_FRAGMENTATION, rule_fragments, false },
	{ VERDICT_UNDECIDED, rule_unexplained, false },
	{ VERDICT_FRAGMENTATION, rule_freed_stays, true },
	{ VERDICT_LEVELLED_OFF, rule_levelled_off, true },
	{ VERDICT_EXCHANGE, rule_exchange, true },
	{ VERDICT_NOTHING_GROWS, rule_nothing_grows, true },
	{ VERDICT_UNDECIDED, rule_undecided, true },
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) <= VERDICT_FINDINGS_MAX, "each may find something");

static void support(struct figures *figures)
{
	const struct growth *growth = figures->growth;
	const struct trend *anonymous = &growth->anonymous;
	const double net = growth->all.blocks_gained_late, kept = figures->kept_late, gained = fmax(net, kept),
		     older = growth->untracked_frees_late + (kept > net ? figures->fallen_late : 0);

	figures->by_process = figures->process_grows &&
			      anonymous->rate >= 0.5 * (figures->growing - figures->older_rate) &&
			      !figures->is_exchanged;
	// What came before the middle cut may have taken the place of older blocks, however few are freed since.
	figures->is_supported =
		figures->by_process || (growth->counts_untracked && gained > 0 && older <= 0.2 * gained &&
					figures->growing_late >= 0.5 * figures->growing);
}

// What stays when all that is recorded is taken off, with what malloc adds to each block, and only what is surely above
// 0.
static double unexplained_rate(const struct figures *figures)
{
	enum { OVERHEAD = 24 }; // bytes a block: glibc's header, and sizes made multiples of 16, of 32 at least
	const struct growth *growth = figures->growth;
	const struct trend *anonymous = &growth->anonymous, *live = &growth->all.live;
	const double blocks = fmax(growth->all.blocks_last - growth->all.blocks_first, 0) / growth->seconds,
		     bytes = fmax(fmax(live->rate, live->gained / growth->seconds), 0),
		     rest = anonymous->rate -
			    (figures->is_exchanged ? fmax(bytes - figures->older_rate, 0) : bytes + OVERHEAD * blocks),
		     error = hypot(anonymous->error, live->error);

	return rest > 3 * error && rest >= 0.3 * anonymous->rate && rest * growth->seconds >= VERDICT_MEMORY_LEAST
		       ? rest
		       : 0;
}

static struct figures figures_of(const struct growth *growth, const struct named_profile *named)
{
	struct figures figures = { .growth = growth, .named = named };
	const struct trend *anonymous = &growth->anonymous;

	for (size_t i = 0; i < growth->count; i++) {
		if (!growth->sites[i].grows) {
			figures.fallen_late +=
				growth->sites[i].live.falls ? fmax(-growth->sites[i].blocks_gained_late, 0) : 0;
			continue;
		}
		figures.top = figures.top ? figures.top : &growth->sites[i];
		figures.growing += growth->sites[i].speed;
		if (growth->sites[i].rises_late || growth->sites[i].survival.kind == SURVIVAL_STAYS)
			figures.growing_late += growth->sites[i].speed;
		if (growth->sites[i].keeps)
			figures.kept_late +=
				growth->sites[i].survival.blocks_a_second * (growth->seconds - growth->middle);
		figures.growing_count++;
	}
	figures.process_grows = growth->memory_is_known && anonymous->rises &&
				anonymous->gained >= VERDICT_MEMORY_LEAST && !anonymous->levels_off;
	if (growth->counts_untracked && growth->seconds > growth->middle)
		figures.older_rate = growth->untracked_bytes_late / (growth->seconds - growth->middle);
	figures.is_exchanged = figures.top && figures.older_rate >= 0.75 * figures.growing;
	if (figures.process_grows)
		figures.unexplained = unexplained_rate(&figures);
	figures.sites_matter = figures.growing >= 0.01 * figures.unexplained;
	support(&figures);
	return figures;
}

static void finding_deinit(struct finding *finding)
{
	for (size_t i = 0; i < finding->reason_count; i++)
		free(finding->reasons[i]);
	free(finding->text);
	*finding = (struct finding){ 0 };
}

// Stable: what says nothing of growth stays in the order of the rules.
static void insert(struct verdict *verdict, const struct finding *finding)
{
	size_t at = verdict->count++;

	for (; at > 0 && verdict->findings[at - 1].rate < finding->rate; at--)
		verdict->findings[at] = verdict->findings[at - 1];
	verdict->findings[at] = *finding;
}

struct hs_error *verdict_make(const struct growth *growth, const struct named_profile *named, struct verdict *ret)
{
	const struct figures figures = figures_of(growth, named);
	struct hs_error *error = NULL;

	*ret = (struct verdict){ 0 };
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !error; i++) {
		struct finding finding = { .kind = rules[i].kind };
		bool applies = false;

		if (rules[i].is_last_resort && ret->count)
			break;
		error = rules[i].rule(&figures, &applies, &finding);
		if (error || !applies) {
			finding_deinit(&finding);
			continue;
		}
		insert(ret, &finding);
		if (finding.kind == VERDICT_NOT_ENOUGH_DATA)
			break;
	}
	if (error)
		verdict_deinit(ret);
	return error;
}

void verdict_deinit(struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++)
		finding_deinit(&verdict->findings[i]);
	*verdict = (struct verdict){ 0 };
}

const char *verdict_kind_name(enum verdict_kind kind)
{
	static const char *const names[VERDICT_KIND_COUNT] = {
		[VERDICT_NOT_ENOUGH_DATA] = "not-enough-data",
		[VERDICT_STEADY_LEAK] = "steady-leak",
		[VERDICT_GROWTH] = "growth",
		[VERDICT_IN_STEPS] = "grows-in-steps",
		[VERDICT_OUTSIDE_MALLOC] = "outside-malloc",
		[VERDICT_FRAGMENTATION] = "fragmentation",
		[VERDICT_LEVELLED_OFF] = "levelled-off",
		[VERDICT_EXCHANGE] = "exchange",
		[VERDICT_UNDECIDED] = "undecided",
		[VERDICT_NOTHING_GROWS] = "nothing-grows",
	};

	return names[kind];
}
