// SPDX-License-Identifier: Apache-2.0
// Which blocks stay. Blocks that were born between two cuts of a watch are a cohort, and each cut tells how much of
// every cohort is live, by identity. So what comes and goes at a line does not hide what that line never frees: of its
// older cohorts that alone is left. Pure.
//
//     born before cut        1    2    3    4    5    6       KiB that are live at the last cut
//     a leak                64   64   64   64   64   64
//     a leak amid churn     64   64   64   64  400 9000       what lives for a while is young
//     churn                  0    0    0    0  336 9000
//     a cache with a bound   9   15   26   45   77  132       older ones go as newer ones come
//     loaded once          300    0    0    0    0    0
#ifndef HEAPSNAP_VIEWS_SURVIVAL_H
#define HEAPSNAP_VIEWS_SURVIVAL_H

#include "views/trend.h"

#include <stdbool.h>
#include <stddef.h>

// What of a cohort is live at a cut. Bytes, blocks, the square of the bytes' standard error as the records show it.
struct cohort_value {
	double bytes, blocks, variance;
};

// Of a site, or of several. Cohort 0 was born before the first cut, cohort i between cut i - 1 and cut i.
struct cohort_table {
	size_t cuts;
	double seconds[TREND_MOST]; // since the first cut
	double floor[TREND_MOST];   // no standard error at that cut is below it (profile_bytes_error); 0 = all is exact
	// Of records downsampled so far: where that stays, no record weighs more at a later cut than at an earlier one.
	double downsampled[TREND_MOST];
	struct cohort_value *values; // owned: of cohort i at cut k: [k * cuts + i]; of i > k zero
};

enum survival_kind {
	SURVIVAL_UNKNOWN, // the cuts do not tell which blocks are which
	SURVIVAL_UNSURE,  // too few cuts, or too little that stays, to say
	SURVIVAL_STAYS,   // of each cohort about as much is never freed
	SURVIVAL_GOES,    // older cohorts go, little by little or at once
	SURVIVAL_KIND_COUNT
};

struct survival {
	enum survival_kind kind;
	// Of cohorts 1 to `born` (a cut), whose blocks are old by now: all that is said below is of them.
	size_t born, looked; // `looked`: a later cut, and not the last one
	double then, now;    // bytes that were live at cut `looked`; of these, at the last one
	double blocks;       // now
	double rate, error;  // bytes that stay, a second of birth; its standard error
	double early, late;  // the same of the first half of their births, and of the second
	double blocks_a_second;
};

// pre: table->cuts >= 1
struct survival survival_judge(const struct cohort_table *table);

// Of what the older cohorts had at that cut, how much is live at the last one: 0 to 1.
double survival_share(const struct survival *survival);

// "unknown", "unsure", "stays", "goes": for programs.
const char *survival_kind_name(enum survival_kind kind);

// Sum over cohorts first to last, both with.
struct cohort_value cohorts_at(const struct cohort_table *table, size_t cut, size_t first, size_t last);

#endif
