// SPDX-License-Identifier: Apache-2.0
// What is missing from a profile, in a sentence (views/completeness.h).
#include "check.h"
#include "views/completeness.h"

#include <stdlib.h>

#define LINE(name, text, value, is_loss, is_fact)                                                                      \
	{                                                                                                              \
		(char[]){ name }, (char[]){ text }, value, is_loss, is_fact                                            \
	}

static const struct {
	const char *text;
	struct ledger_line lines[8];
} cases[] = {
	{ "Nothing lost.", { LINE("allocations", "allocations recorded", 9, false, false) } },
	{ "Nothing lost.", { LINE("lost_region_full", "allocations lost: the region was full", 0, true, false) } },
	{ "Incomplete: 12 allocations lost: the region was full.",
	  { LINE("lost_region_full", "allocations lost: the region was full", 12, true, false) } },
	{ "Incomplete: 39,434 of 77,872 stacks end early (no unwind information for a frame).",
	  { LINE("allocations", "allocations recorded", 77872, false, false),
	    LINE("stack_cuts", "allocations whose stack was cut short", 39434, false, false),
	    LINE("stack_cut_no_unwind_info", "stacks cut short: no unwind information for a frame", 39434, true,
		 false) } },
	{ "Incomplete: 5 of 7 stacks end early (a, b); it is so.",
	  { LINE("allocations", "allocations recorded", 7, false, false),
	    LINE("stack_cut_a", "stacks cut short: a", 3, true, false),
	    LINE("stack_cut_b", "stacks cut short: b", 2, true, false), LINE("fact", "it is so", 1, true, true) } },
	{ "Incomplete: 1 stack ends early (a).", { LINE("stack_cut_a", "stacks cut short: a", 1, true, false) } },
	{ "Incomplete: 1 one; 2 two; 3 three; and 2 more.",
	  { LINE("a", "one", 1, true, false), LINE("b", "two", 2, true, false), LINE("c", "three", 3, true, false),
	    LINE("d", "four", 4, true, false), LINE("e", "five", 5, true, false) } },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct heap_profile profile = { .ledger = (struct ledger_line *)cases[i].lines };
		bool is_complete = i == 0;
		char *text = NULL;

		while (profile.ledger_count < 8 && cases[i].lines[profile.ledger_count].name)
			profile.ledger_count++;
		CHECK(!completeness_text(&profile, &is_complete, &text));
		CHECK_STRING(text, cases[i].text);
		CHECK_EQUAL(is_complete, strcmp(cases[i].text, "Nothing lost.") == 0);
		free(text);
	}
	return CHECK_RESULT();
}
