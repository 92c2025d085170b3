// SPDX-License-Identifier: Apache-2.0
#include "views/completeness.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "views/numbers.h"

#include <string.h>

enum { LOSSES_SHOWN = 3 };

// The ledger's names of the reasons for which stacks were cut, and how their texts begin (snapshot/profile/ledger.c).
static const char CUT[] = "stack_cut_", CUT_TEXT[] = "stacks cut short: ";

// The one of the line that says which code has no names (snapshot/profile/ledger.h).
static const char MISSING[] = "symbols_missing";

static uint64_t ledger_value(const struct heap_profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->ledger_count; i++)
		if (strcmp(profile->ledger[i].name, name) == 0)
			return profile->ledger[i].value;
	return 0;
}

static bool is_cut(const struct ledger_line *line) { return strncmp(line->name, CUT, strlen(CUT)) == 0; }

static struct hs_error *append(char **text, const char *separator, const char *more)
{
	char *longer;
	struct hs_error *error = hs_format(&longer, "%s%s%s", *text, **text ? separator : "", more);

	if (error)
		return error;
	free(*text);
	*text = longer;
	return NULL;
}

// "1,234 of 77,872 stacks end early (no unwind information for a frame)". "" = none does.
static struct hs_error *describe_cuts(const struct heap_profile *profile, char **ret)
{
	HS_CLEANUP_FREE char *reasons = NULL;
	struct hs_error *error = hs_format(&reasons, "%s", "");
	uint64_t cuts = 0, all = ledger_value(profile, "allocations"), most = 0;
	char number[2][NUMBER_SIZE];

	for (size_t i = 0; i < profile->ledger_count && !error; i++) {
		const struct ledger_line *line = &profile->ledger[i];
		bool has_prefix = strncmp(line->text, CUT_TEXT, strlen(CUT_TEXT)) == 0;

		if (!is_cut(line) || !line->value)
			continue;
		cuts += line->value;
		most = line->value > most ? line->value : most;
		error = append(&reasons, ", ", has_prefix ? line->text + strlen(CUT_TEXT) : line->text);
	}
	if (error)
		return error;
	if (!cuts)
		return hs_format(ret, "%s", "");
	if (all < cuts) // the profile does not say, or sampling has begun late
		return hs_format(ret, "%s %s early (%s)", number_grouped(cuts, number[0]),
				 cuts == 1 ? "stack ends" : "stacks end", reasons);
	return hs_format(ret, "%s of %s stacks end early (%s)", number_grouped(cuts, number[0]),
			 number_grouped(all, number[1]), reasons);
}

// A line of the ledger as a part of a sentence. A fact has no number.
static struct hs_error *describe(const struct ledger_line *line, char **ret)
{
	char number[NUMBER_SIZE];

	return line->is_fact ? hs_format(ret, "%s", line->text)
			     : hs_format(ret, "%s %s", number_grouped(line->value, number), line->text);
}

static struct hs_error *add_losses(const struct heap_profile *profile, unsigned shown, char **text)
{
	struct hs_error *error = NULL;
	size_t more = 0;

	for (size_t i = 0; i < profile->ledger_count && !error; i++) {
		const struct ledger_line *line = &profile->ledger[i];
		HS_CLEANUP_FREE char *part = NULL;

		if (!line->is_loss || !line->value || is_cut(line))
			continue;
		if (shown++ >= LOSSES_SHOWN) {
			more++;
			continue;
		}
		error = describe(line, &part);
		if (!error)
			error = append(text, "; ", part);
	}
	if (!error && more) {
		HS_CLEANUP_FREE char *part = NULL;

		error = hs_format(&part, "and %zu more", more);
		if (!error)
			error = append(text, "; ", part);
	}
	return error;
}

struct hs_error *completeness_text(const struct heap_profile *profile, bool *is_complete_ret, char **ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = describe_cuts(profile, &text);

	*is_complete_ret = false;
	if (!error && profile->is_foreign)
		return hs_format(ret, "What is missing is not known: the file is another program's.");
	if (!error)
		error = add_losses(profile, *text ? 1 : 0, &text);
	if (error)
		return error;
	*is_complete_ret = !*text;
	return *text ? hs_format(ret, "Incomplete: %s.", text) : hs_format(ret, "%s", "Nothing lost.");
}

const char *unnamed_code_of(const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->ledger_count; i++)
		if (profile->ledger[i].is_fact && strcmp(profile->ledger[i].name, MISSING) == 0)
			return profile->ledger[i].text;
	return NULL;
}
