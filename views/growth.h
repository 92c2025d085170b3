// SPDX-License-Identifier: Apache-2.0
// What grows in a process that was watched: from profiles of several moments of one attach to rates, site by site.
// Pure.
#ifndef HEAPSNAP_VIEWS_GROWTH_H
#define HEAPSNAP_VIEWS_GROWTH_H

#include "views/cohort_series.h"
#include "views/named_profile.h"
#include "views/site_keys.h"
#include "views/sites.h"
#include "views/survival.h"
#include "views/trend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of a cut: no more sites than this, those with most live bytes. What the others hold is in the sums all the same.
enum { GROWTH_SITES_MAX = 1 << 16 };

// One moment.
struct growth_cut {
	double seconds;               // since the first one
	struct profile_memory memory; // of the process
	uint64_t heap_bytes;          // taken by malloc for its heaps, used or free; 0 = none, or unknown
	int64_t live_bytes;           // recorded
	double untracked_frees;       // since attach: of blocks that are not recorded
	double untracked_bytes;       // of these, where sizes are known; of the others none
	bool counts_untracked;        // false: how many that are is not known
	bool has_losses;              // allocations were lost
	bool is_estimate;
	uint32_t epoch;     // profile_cut.epoch; 0 = blocks are not told by it
	double floor;       // no standard error of bytes is below it; 0 = all is exact
	double downsampled; // records, so far
};

// What a site, or all of them, holds at a cut. Bytes and blocks.
struct growth_value {
	double live_bytes, live_objects, alloc_bytes, alloc_objects; // the last two since attach
	double error;                                                // standard error of the live bytes
};

// Zeroed = empty.
struct growth_series {
	struct growth_cut cuts[TREND_MOST];
	struct growth_value totals[TREND_MOST];
	struct growth_value *values[TREND_MOST]; // owned: of the sites, by number
	size_t value_counts[TREND_MOST];         // sites with a higher number were not there yet
	struct cohort_cut cohorts[TREND_MOST];   // of the sites
	size_t count;
	const struct site **last; // owned: the sites by number, borrowed of the list added last; NULL = not in it
	size_t last_count, last_room;
	struct site_keys keys;
};

// Adds a cut: what `facts` has that the profile does not say (seconds, heap_bytes), and the profile's sites. Only the
// last one's `sites` must live on. Which blocks stay is known if the profile tells them by the series' epochs
// (growth_series_epochs). pre: count < TREND_MOST. HS_ERROR_NO_MEMORY: the series can only be freed then.
struct hs_error *growth_series_add(struct growth_series *series, const struct growth_cut *facts,
				   const struct named_profile *named, const struct site_list *sites) HS_MUST_CHECK;
// The epochs of the cuts that are there, in order: what the next profile is to tell its blocks by
// (block_selection.cohort_epochs). Returns how many.
size_t growth_series_epochs(const struct growth_series *series, uint32_t ret[TREND_MOST]);
// Every second cut goes; the first one stays. pre: an odd number, so that the last one stays too.
void growth_series_thin(struct growth_series *series);
// Forgets the oldest cut, and which blocks are which; seconds count from the next one then. pre: there is one
void growth_series_drop_first(struct growth_series *series);
void growth_series_deinit(struct growth_series *series);

// What was born between two cuts: of a cohort (survival.h), bytes and blocks.
struct growth_cohort {
	double from, to;             // seconds
	double allocated;            // bytes
	double then;                 // of that, live at the cut after
	double bytes, blocks, error; // live at the last cut; standard error of the bytes
};

struct growth_site {
	const struct site *site;              // of the list added last; NULL for all
	uint32_t number;                      // of the site: the same one in all that is made of one series; 0 for all
	struct trend live;                    // bytes
	double blocks_first, blocks_last;     // live
	double blocks_gained_late;            // since the middle cut
	double alloc_rate, alloc_blocks_rate; // allocated a second
	double temporary_rate;                // bytes freed again a second: allocated, and not gained
	double temporary_blocks_rate;         // blocks
	bool is_temporary;                    // more than what may come between the counters of one look: a hundredth
	// Bytes that have lived since the middle cut, and their share of what was live then, 0 to 1. Where `survival`
	// is unknown, at least so many.
	double survived, survived_share;
	double live_middle; // bytes that were live at the middle cut
	struct survival survival;
	const struct growth_cohort *cohorts; // growth.cuts of them, from cohort 0 on; NULL = survival is unknown
	bool grows;                          // rises, by more than a few bytes; or a part of what is born stays
	bool rises_late;                     // since the middle cut too, by more than live bytes vary by chance
	bool in_steps;                       // few blocks, each in the place of a smaller one
	// Hardly anything of it (a hundredth of the blocks at most) has been freed since attach, and it has hardly been
	// there before the watch: a leak, or what fills and will stop, looks so.
	bool may_fill;
	bool keeps;         // that a part stays is what it grows by: `speed` is the rate of survival
	double speed;       // bytes a second, what it is ordered by
	double speed_error; // its standard error, where it grows
};

struct growth {
	double seconds; // from the first cut to the last
	size_t cuts;
	bool memory_is_known, is_estimate, has_losses; // of the last cut; the first: of all
	struct trend rss, anonymous, heap;             // bytes; anonymous with what is swapped out
	struct growth_site all;                        // all that is recorded
	double untracked_frees_late;                   // since the middle cut, where
	double untracked_bytes_late;                   // they were counted all the time:
	bool counts_untracked;                         // this says so
	double middle;                                 // seconds of the middle cut
	const struct growth_cut *facts;                // borrowed, `cuts` of them
	struct growth_site *sites; // owned: what grows first, then what has grown, then the others; fastest first
	size_t count;
	struct growth_cohort *cohorts; // owned: of all sites
};

// *ret is owned by the caller; the series must live as long. HS_ERROR_NO_MEMORY. pre: at least one cut
struct hs_error *growth_make(const struct growth_series *series, struct growth *ret) HS_MUST_CHECK;
void growth_deinit(struct growth *growth);

// How much of the process's growth what is recorded makes, 0 to 1 and a little more; below 0 = the process does not
// grow steadily, or that is not known.
double growth_explained(const struct growth *growth);

// Indices of the sites with most bytes freed again a second, most first, at most `limit`; returns how many there are.
size_t growth_temporary(const struct growth *growth, size_t *indices, size_t limit);

#endif
