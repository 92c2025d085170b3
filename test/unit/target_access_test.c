// SPDX-License-Identifier: Apache-2.0
#include "attach/process/target_access.h"

#include "check.h"

#define SYS_PTRACE (UINT64_C(1) << 19)

static void test_decide(void)
{
	// The same user, nothing special.
	const struct access_facts same = { .tool_uid = 1000,
					   .tool_gid = 1000,
					   .uids = { 1000, 1000, 1000 },
					   .gids = { 1000, 1000, 1000 },
					   .proc_owner = 1000,
					   .same_namespace = true,
					   .yama_scope = -1 };
	struct access_facts facts;

#define EXPECT(verdict, ...)                                                                                           \
	do {                                                                                                           \
		facts = same;                                                                                          \
		__VA_ARGS__;                                                                                           \
		CHECK_EQUAL(access_decide(&facts), verdict);                                                           \
	} while (0)

	EXPECT(ACCESS_ALLOWED, (void)0);
	EXPECT(ACCESS_USER, facts.uids[0] = 0);
	EXPECT(ACCESS_USER, facts.uids[1] = 1001);
	EXPECT(ACCESS_USER, facts.uids[2] = 1001);
	EXPECT(ACCESS_USER, facts.gids[2] = 1001);
	EXPECT(ACCESS_DUMPABLE, facts.proc_owner = 0);
	EXPECT(ACCESS_CAPABILITIES, facts.target_permitted = 2);
	EXPECT(ACCESS_ALLOWED, facts.target_permitted = 2; facts.tool_permitted = 3);
	EXPECT(ACCESS_ALLOWED, facts.yama_scope = 0);
	EXPECT(ACCESS_NAMESPACE, facts.same_namespace = false; facts.yama_scope = 1);
	EXPECT(ACCESS_USER, facts.same_namespace = false; facts.uids[1] = 65534);
	EXPECT(ACCESS_YAMA, facts.yama_scope = 1);
	EXPECT(ACCESS_ALLOWED, facts.yama_scope = 1; facts.is_descendant = true);
	EXPECT(ACCESS_YAMA, facts.yama_scope = 2; facts.is_descendant = true);
	EXPECT(ACCESS_YAMA_NEVER, facts.yama_scope = 3; facts.is_descendant = true);
	// With the capability everything but scope 3 passes, in the same user namespace.
	EXPECT(ACCESS_ALLOWED, facts.tool_effective = SYS_PTRACE; facts.uids[1] = 0; facts.proc_owner = 0;
	       facts.target_permitted = 2; facts.yama_scope = 2);
	EXPECT(ACCESS_YAMA_NEVER, facts.tool_effective = SYS_PTRACE; facts.yama_scope = 3);
	EXPECT(ACCESS_NAMESPACE, facts.tool_effective = SYS_PTRACE; facts.uids[1] = 0; facts.same_namespace = false);
	EXPECT(ACCESS_NAMESPACE, facts.tool_effective = SYS_PTRACE; facts.yama_scope = 1; facts.same_namespace = false);
}

static void test_messages(void)
{
	static const struct {
		enum access_verdict verdict;
		const char *says;
	} cases[] = {
		{ ACCESS_USER, "belongs to user 33, group 34, and heapsnap runs as user 1000, group 1001" },
		{ ACCESS_DUMPABLE, "not dumpable" },
		{ ACCESS_CAPABILITIES, "capabilities that heapsnap lacks" },
		{ ACCESS_NAMESPACE, "user namespace" },
		{ ACCESS_YAMA, "kernel.yama.ptrace_scope is 1" },
		{ ACCESS_YAMA_NEVER, "reboot" },
		{ ACCESS_ALLOWED, "security module" },
	};
	const struct access_facts facts = {
		.tool_uid = 1000, .tool_gid = 1001, .uids = { 3, 33, 3 }, .gids = { 3, 34, 3 }, .yama_scope = 1
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diagnostics diagnostics = { 0 };
		struct hs_error *error;

		access_judge(77, "nginx", cases[i].verdict, &facts, &diagnostics);
		error = diagnostics_error(&diagnostics);
		CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
		CHECK(strstr(error->message, "process 77 (nginx)") != NULL);
		CHECK(strstr(error->message, cases[i].says) != NULL);
		CHECK(strchr(error->message, '\n') == NULL);
		hs_error_destroy(error);
	}
}

// Who has the capability is not told to get it.
static void test_sandboxed(void)
{
	for (int has_capability = 0; has_capability < 2; has_capability++) {
		const struct access_facts facts = { .tool_effective = has_capability ? SYS_PTRACE : 0 };
		struct diagnostics diagnostics = { 0 };
		struct hs_error *error;

		access_judge(77, "nginx", ACCESS_ALLOWED, &facts, &diagnostics);
		error = diagnostics_error(&diagnostics);
		CHECK(strstr(error->message, "run heapsnap outside of it") != NULL);
		CHECK_EQUAL(strstr(error->message, "--cap-add=SYS_PTRACE") == NULL, has_capability);
		hs_error_destroy(error);
	}
}

int main(void)
{
	test_decide();
	test_messages();
	test_sandboxed();
	return CHECK_RESULT();
}
