// SPDX-License-Identifier: Apache-2.0
// What of each cohort (survival.h) is live at each cut of a watch, for each site. Pure.
#ifndef HEAPSNAP_VIEWS_COHORT_SERIES_H
#define HEAPSNAP_VIEWS_COHORT_SERIES_H

#include "base/error.h"
#include "snapshot/heap_profile.h"
#include "views/sites.h"
#include "views/survival.h"

#include <stdint.h>

// Of a cut: no more sites than this, those with most live bytes, of each as many cohorts as there are cuts. Of the
// others it is not known which blocks stay.
enum { COHORT_SITES_MOST = 1 << 14 };

struct cohort_entry {
	uint32_t site, cohort; // numbers
	struct cohort_value value;
};

// Of one cut. Zeroed = not known.
struct cohort_cut {
	struct cohort_entry *entries; // owned: by site and cohort, none twice; NULL = not known
	size_t count;
	uint32_t *sites; // owned: numbers of those that it is known of, in order
	size_t site_count;
};

// Of the sites of a profile; `numbers[i]`: the number of its i-th site, UINT32_MAX = it has none. Of the first cut all
// is cohort 0. *ret is owned by the caller; empty where the profile does not tell cohorts. HS_ERROR_NO_MEMORY.
struct hs_error *cohort_cut_make(const struct heap_profile *profile, const struct site_list *sites,
				 const uint32_t *numbers, bool is_first, struct cohort_cut *ret) HS_MUST_CHECK;
// Every second cut of the watch goes, and its cohort becomes one with that of the cut after it.
void cohort_cut_thin(struct cohort_cut *cut);
void cohort_cut_deinit(struct cohort_cut *cut);

// Whether it is known of a site which of its blocks are which.
bool cohort_cut_has(const struct cohort_cut *cut, uint32_t site);
// Writes the values of a site's cohorts: ret[0] to ret[cohorts - 1], those that are not there as zero.
void cohort_cut_row(const struct cohort_cut *cut, uint32_t site, size_t cohorts, struct cohort_value *ret);

#endif
