// SPDX-License-Identifier: Apache-2.0
// What status prints (cli/status.c), of processes made by hand.
#include "captured.h"
#include "check.h"

#include "../../cli/status.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// What no region says is left out, not 0.
static void test_region(void)
{
	static const struct {
		enum hs_state state;
		bool has_region;
	} cases[] = {
		{ HS_STATE_ATTACHED, true },          { HS_STATE_ATTACH_UNFINISHED, true },
		{ HS_STATE_DETACH_UNFINISHED, true }, { HS_STATE_LEFTOVERS, false },
		{ HS_STATE_IDLE_HOOKS, false },       { HS_STATE_UNREADABLE, false },
	};
	static const char *const names[] = { "\"hooks\":",   "\"hooks_refused\":",     "\"threads\":",
					     "\"modules\":", "\"region_used_bytes\":", "\"max_bytes\":" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct hs_status process = { .pid = 42, .state = cases[i].state, .reason = "so it is" };

		capture_begin();
		CHECK(print_json(&process, 1, NULL));
		capture_end();
		for (size_t k = 0; k < COUNT(names); k++)
			CHECK_EQUAL(strstr(captured_output(), names[k]) != NULL, cases[i].has_region);
		CHECK_EQUAL(strstr(captured_output(), "so it is") != NULL, cases[i].state == HS_STATE_UNREADABLE);
	}
}

static void test_lost(void)
{
	const struct options options = { .quiet = false };
	struct hs_status process = { .pid = 42, .state = HS_STATE_ATTACHED };

	capture_begin();
	print_process(&options, &process);
	capture_end();
	CHECK(!strstr(captured_output(), "lost"));
	process.lost_no_thread_pointer = 7;
	capture_begin();
	print_process(&options, &process);
	CHECK(print_json(&process, 1, NULL));
	capture_end();
	CHECK(strstr(captured_output(), "warning: 7 allocations lost: by threads without a thread pointer"));
	CHECK(strstr(captured_output(), "\"lost_no_thread_pointer\":7"));
}

int main(void)
{
	test_lost();
	test_region();
	return CHECK_RESULT();
}
