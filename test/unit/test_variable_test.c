// SPDX-License-Identifier: Apache-2.0
// When a process has more rights than its user.
#include "check.h"

#include "base/test_variable.h"

#include <stdlib.h>

static void test_rule(void)
{
	const struct {
		struct hs_own_rights rights;
		bool more;
	} cases[] = {
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .capabilities = UINT64_MAX }, false },                  // root
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 } }, false },                               // a user
		{ { .users = { 1000, 0, 0 }, .groups = { 100, 100, 100 } }, true },                                      // set-user-ID
		{ { .users = { 1000, 1000, 0 }, .groups = { 100, 100, 100 } }, true },                                   // and it can be again
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 0, 0 } }, true },                                    // set-group-ID
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 0 } }, true },
		{ { .secure = true, .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 } }, true },                // capabilities of the file
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 }, .capabilities = 1u << 19 }, true },      // handed on
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .capabilities = UINT64_MAX, .invoker = "1000" }, true }, // sudo
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .capabilities = UINT64_MAX, .invoker = "0" }, false },   // by root
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 }, .invoker = "1000" }, false },
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 }, .invoker = "1001" }, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hs_has_more_rights_than_user(&cases[i].rights) != cases[i].more)
			fprintf(stderr, "case %zu\n", i);
		CHECK_EQUAL(hs_has_more_rights_than_user(&cases[i].rights), cases[i].more);
	}
}

int main(void)
{
	test_rule();
	CHECK(hs_test_variable("HEAPSNAP_NO_SUCH_VARIABLE") == NULL);
	return CHECK_RESULT();
}
