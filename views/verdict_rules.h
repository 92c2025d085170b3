// SPDX-License-Identifier: Apache-2.0
// The rules of verdict.h, and what they share. Pure.
#ifndef HEAPSNAP_VIEWS_VERDICT_RULES_H
#define HEAPSNAP_VIEWS_VERDICT_RULES_H

#include "views/numbers.h"
#include "views/verdict.h"

#define VERDICT_SECONDS_LEAST 0.5
// The kernel's counters of a process's pages lag behind by so much, with some threads and processors.
#define VERDICT_MEMORY_LEAST 1048576.0

// The figures that rules ask for more than once.
struct figures {
	const struct growth *growth;
	const struct named_profile *named;
	const struct growth_site *top; // the site that grows fastest; NULL = none does
	double growing;                // bytes a second of all sites that grow
	double growing_late;           // of these, those that are shown to grow since the middle cut as well
	size_t growing_count;
	double kept_late; // blocks that sites keep amid churn (growth_site.keeps), in as long as since the middle cut
	bool process_grows;
	double fallen_late; // blocks by which others that fall steadily have fallen since the middle cut
	double unexplained; // bytes a second by which the process grows and what is recorded does not; 0 = not sure
	// Older blocks were freed of as many bytes, counted one by one: what sites gain takes their place.
	bool is_exchanged;
	double older_rate; // bytes of these a second, since the middle cut
	bool is_supported; // that the sites which grow make the process's heap grow
	bool by_process;   // because the process does; else because hardly anything older was freed
	bool sites_matter; // beside `unexplained`: a hundredth of it at least
};

// One sentence more. HS_ERROR_NO_MEMORY.
struct hs_error *add_reason(struct finding *finding, const char *format, ...) HS_PRINTF(2, 3) HS_MUST_CHECK;

// Where a runtime may have grown that keeps objects beside malloc: that it does. HS_ERROR_NO_MEMORY.
struct hs_error *add_other_heap(const struct figures *figures, struct finding *finding) HS_MUST_CHECK;

// What of the process is not in the records, where that is more than a little. HS_ERROR_NO_MEMORY.
struct hs_error *add_unrecorded(const struct figures *figures, struct finding *ret) HS_MUST_CHECK;

struct figure_text {
	char text[NUMBER_SIZE + 4];
};
struct figure_text rate_text(double bytes_a_second); // "1.5 MiB/s", "-1.5 MiB/s"
struct figure_text gain_text(double bytes);          // "+1.5 MiB"
struct figure_text size_text(double bytes);          // "1.5 MiB"
struct figure_text time_text(double seconds);        // "12 s"

// "name (file.c:12)". *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *site_text(const struct figures *figures, const struct growth_site *site, char **ret) HS_MUST_CHECK;

// A rule: whether it applies, and if so what it says. After an error, HS_ERROR_NO_MEMORY, *ret may hold some of it.
typedef struct hs_error *verdict_rule(const struct figures *figures, bool *applies_ret, struct finding *ret);

// verdict_of_sites.c
verdict_rule rule_steady_leak, rule_grows, rule_in_steps, rule_levelled_off, rule_exchange;
// verdict_of_process.c
verdict_rule rule_not_enough_data, rule_outside_malloc, rule_fragments, rule_unexplained, rule_freed_stays,
	rule_nothing_grows, rule_undecided;

#endif
