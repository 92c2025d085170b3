// SPDX-License-Identifier: Apache-2.0
// What an attach prints (cli/attach.c), of results made by hand.
#include "captured.h"
#include "check.h"

#include "../../cli/attach.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// That libraries loaded later are not seen matters only where some can be loaded.
static void test_unfollowed(void)
{
	static const struct {
		bool is_followed, is_static, is_said;
	} cases[] = {
		{ true, false, false },
		{ false, false, true },
		{ false, true, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct hs_attach_result result = { .loader_followed = cases[i].is_followed,
							 .is_static = cases[i].is_static };

		capture_begin();
		warn_of_libraries(&result);
		capture_end();
		CHECK_EQUAL(strstr(captured_errors(), "libraries loaded from now on") != NULL, cases[i].is_said);
		capture_begin();
		CHECK_EQUAL(print_json(&result, 42), EXIT_DONE);
		capture_end();
		CHECK_EQUAL(strstr(captured_output(), "\"static\":true") != NULL, cases[i].is_static);
	}
}

static void test_unseen_threads(void)
{
	for (size_t unseen = 0; unseen < 3; unseen++) {
		const struct hs_attach_result result = { .threads = 5, .unseen_threads = unseen };

		capture_begin();
		warn_of_threads(&result);
		capture_end();
		CHECK_EQUAL(strstr(captured_errors(), "2 of 5 threads have no thread pointer") != NULL, unseen == 2);
		CHECK_EQUAL(*captured_errors() != 0, unseen != 0);
	}
}

int main(void)
{
	console_init(&(struct options){ .quiet = false });
	test_unseen_threads();
	test_unfollowed();
	return CHECK_RESULT();
}
