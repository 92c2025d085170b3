// SPDX-License-Identifier: Apache-2.0
// Why does it grow: what the figures of a process that was watched bear, in words, with the figures that bear it. Pure.
//
// A table of rules, each a function of the figures. What is not shown is not said: where a process grows and no rule
// applies, that is the verdict.
#ifndef HEAPSNAP_VIEWS_VERDICT_H
#define HEAPSNAP_VIEWS_VERDICT_H

#include "base/error.h"
#include "views/growth.h"

enum verdict_kind {
	VERDICT_NOT_ENOUGH_DATA, // too few cuts, or too short: then the only one
	VERDICT_STEADY_LEAK,     // one site grows all the time, and its blocks stay
	VERDICT_GROWTH,          // sites grow, and it is not so plain: several, or blocks that go and come
	VERDICT_IN_STEPS,        // one block that is replaced by larger ones
	VERDICT_OUTSIDE_MALLOC,  // the process grows by what is not asked of the allocator
	VERDICT_FRAGMENTATION,   // the process grows or stays large by what was freed
	VERDICT_LEVELLED_OFF,    // a site has grown, and does not any more
	VERDICT_EXCHANGE,        // what is recorded grows, and the process does not: it takes the place of older memory
	VERDICT_UNDECIDED,       // the process grows, or what is recorded may, and what of it is true is not shown
	VERDICT_NOTHING_GROWS,
	VERDICT_KIND_COUNT
};

enum { FINDING_REASONS_MAX = 8, VERDICT_FINDINGS_MAX = 12 };

struct finding {
	enum verdict_kind kind;
	const struct growth_site *site;     // that it is about; NULL = none
	double rate;                        // bytes a second that it accounts for, 0 = says nothing of growth
	char *text;                         // owned: a sentence
	char *reasons[FINDING_REASONS_MAX]; // owned: the figures
	size_t reason_count;
	bool tells_other_heap; // one of them is other_heap_text
};

struct verdict {
	struct finding findings[VERDICT_FINDINGS_MAX]; // that what accounts for most first
	size_t count;                                  // at least 1
};

// "steady-leak", ...: for programs.
const char *verdict_kind_name(enum verdict_kind kind);

// `named`: of the profile added last. *ret is owned by the caller; `growth` must live as long. HS_ERROR_NO_MEMORY.
struct hs_error *verdict_make(const struct growth *growth, const struct named_profile *named,
			      struct verdict *ret) HS_MUST_CHECK;
void verdict_deinit(struct verdict *verdict);

#endif
