// SPDX-License-Identifier: Apache-2.0
// When a process has more rights than its user.
#include "check.h"

#include "base/test_variable.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_rule(void)
{
	const struct {
		struct hs_own_rights rights;
		bool more;
	} cases[] = {
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .capabilities = UINT64_MAX }, false }, // root
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 } }, false },              // a user
		{ { .users = { 1000, 0, 0 }, .groups = { 100, 100, 100 } }, true },                     // set-user-ID
		{ { .users = { 1000, 1000, 0 }, .groups = { 100, 100, 100 } }, true }, // and it can be again
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 0, 0 } }, true },  // set-group-ID
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 0 } }, true },
		{ { .secure = true, .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 } },
		  true }, // capabilities of the file
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 }, .capabilities = 1u << 19 },
		  true }, // handed on
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .capabilities = UINT64_MAX, .invokers = { "1000" } },
		  true }, // sudo
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .capabilities = UINT64_MAX, .invokers = { "0" } },
		  false }, // by root
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 }, .invokers = { "1000" } }, false },
		{ { .users = { 1000, 1000, 1000 }, .groups = { 100, 100, 100 }, .invokers = { "1001" } }, true },
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .invokers = { NULL, "1000" } }, true }, // pkexec
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .invokers = { "0", "1000" } }, true },
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .doas_user = "alice" }, true }, // doas
		{ { .users = { 0, 0, 0 }, .groups = { 0, 0, 0 }, .doas_user = "root" }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hs_has_more_rights_than_user(&cases[i].rights) != cases[i].more)
			fprintf(stderr, "case %zu\n", i);
		CHECK_EQUAL(hs_has_more_rights_than_user(&cases[i].rights), cases[i].more);
	}
}

static void unset_invokers(void)
{
	unsetenv("SUDO_UID");
	unsetenv("PKEXEC_UID");
	unsetenv("DOAS_USER");
}

// In a child, for the decision is kept. `invoker` of NULL = none is set.
static bool listens(const char *invoker, const char *value)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		const char *text;

		unset_invokers();
		if (invoker)
			setenv(invoker, value, 1);
		hs_test_variables_decide();
		unset_invokers(); // too late
		text = hs_test_variable("HEAPSNAP_TEST_VARIABLE");
		if (text)
			CHECK_STRING(text, "set");
		CHECK(hs_test_variable("HEAPSNAP_NO_SUCH_VARIABLE") == NULL);
		_exit(CHECK_RESULT() ? 2 : text != NULL);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

// A process that runs the tests has no more rights than its user, but for who they say that its user is; or it has (in
// a container, say).
static void test_process(void)
{
	char user[32], other[32];
	struct hs_own_rights rights;
	bool more;

	setenv("HEAPSNAP_TEST_VARIABLE", "set", 1);
	unset_invokers();
	CHECK(hs_own_rights_read(&rights));
	CHECK(rights.users[0] == getuid() && rights.groups[1] == getegid());
	CHECK(!rights.invokers[0] && !rights.invokers[1] && !rights.doas_user);
	more = hs_has_more_rights_than_user(&rights);
	snprintf(user, sizeof(user), "%u", getuid());
	snprintf(other, sizeof(other), "%u", getuid() + 1);
	CHECK_EQUAL(listens(NULL, NULL), !more);
	CHECK_EQUAL(listens("SUDO_UID", user), !more);
	CHECK_EQUAL(listens("DOAS_USER", "root"), !more);
	CHECK(!listens("SUDO_UID", other));
	CHECK(!listens("PKEXEC_UID", other));
	CHECK(!listens("DOAS_USER", "alice"));
}

int main(void)
{
	test_rule();
	test_process();
	return CHECK_RESULT();
}
