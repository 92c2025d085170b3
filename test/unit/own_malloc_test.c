// SPDX-License-Identifier: Apache-2.0
// Programs with an allocator of their own, live, under the standard names: which are hooked, and which do what no
// standard function does, and are refused. The build gives the paths of the variants of own_malloc_child.c as CHILD_*.
#include "attach/hook/hook_plan.h"
#include "attach/hook/quiet_names.h"
#include "check.h"
#include "live_child.h"

static const char throws[] = "may throw or be cancelled", asks[] = "asks for its return address",
		  is_unknown[] = "cannot be followed everywhere";

static const struct {
	const char *what, *program;
	const char *refused;  // part of the reason; NULL = it is hooked
	const char *addition; // the user's word; NULL = none
} cases[] = {
	{ "nothing else", CHILD_PLAIN, NULL, NULL },
	{ "asks who calls", CHILD_ASKS, asks, NULL },
	{ "jumps to what asks who calls", CHILD_ASKS_BEHIND, asks, NULL },
	{ "calls what asks who calls", CHILD_ASKS_IN_CALL, NULL, NULL },
	{ "throws", CHILD_THROWS, throws, NULL },
	{ "throws, bound at the start", CHILD_THROWS_NOW, throws, NULL },
	{ "throws by the C++ library", CHILD_THROWS_BY_LIBRARY, throws, NULL },
	{ "writes, where threads are cancelled", CHILD_LOGS_CANCELS, throws, NULL },
	{ "writes, where threads are cancelled, bound at the start", CHILD_LOGS_CANCELS_NOW, throws, NULL },
	{ "writes, where threads are cancelled, statically linked", CHILD_LOGS_CANCELS_STATIC, throws, NULL },
	{ "writes, where no thread is cancelled", CHILD_LOGS, NULL, NULL },
	{ "writes before it ends the program", CHILD_FATAL_CANCELS, NULL, NULL },
	{ "calloc writes", CHILD_CALLOC_LOGS_CANCELS, throws, NULL },
	{ "throws, as a large function", CHILD_LARGE_THROWS, throws, NULL },
	{ "throws, eleven calls below", CHILD_THROWS_DEEP, throws, NULL },
	{ "writes, as what ends the program does too", CHILD_LOGS_ALSO_AT_END_CANCELS, throws, NULL },
	{ "calls by a pointer, where threads are cancelled", CHILD_POINTER_CANCELS, is_unknown, NULL },
	{ "calls by a pointer, where exceptions are thrown", CHILD_POINTER_UNWINDS, is_unknown, NULL },
	{ "calls by a pointer, where an unwinder is part of the program", CHILD_POINTER_OWN_UNWINDER, is_unknown,
	  NULL },
	{ "calls by a pointer, where neither is", CHILD_POINTER, NULL, NULL },
	{ "asks by the C library", CHILD_ASKS_BY_LIBRARY, asks, NULL },
	{ "free writes", CHILD_FREE_LOGS_CANCELS, NULL, NULL },
	{ "writes, with the user's word", CHILD_LOGS_CANCELS, NULL, "malloc=malloc nothrow" },
	{ "calloc writes, with the user's word for malloc", CHILD_CALLOC_LOGS_CANCELS, throws,
	  "malloc=malloc nothrow" },
	{ "asks who calls, with the user's word", CHILD_ASKS, asks, "malloc=malloc nothrow" },
};

static bool is_hooked(const struct hook_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(plan->hooks[i].record.name, name) == 0 && plan->hooks[i].record.module == 0)
			return plan->hooks[i].record.verdict == VERDICT_ok;
	return false;
}

static void check_case(size_t number)
{
	struct live_child child = live_child_start(cases[number].program);
	struct live_target target;
	struct hook_addition addition = { 0 };
	struct hook_goals goals = { .state = UINT64_C(0x700000000000) };
	struct hook_plan plan;
	struct hs_error *error = NULL;

	if (cases[number].addition)
		error = hook_addition_parse(cases[number].addition, &addition);
	CHECK(error == NULL);
	for (unsigned i = 0; i < HOOK_KIND_COUNT; i++)
		goals.entries[i] = UINT64_C(0x600000000000) + i * 64;
	if (live_target_open(child.pid, &target)) {
		error = hook_plan_make(&target.modules, &target.maps, &target.memory,
				       &(struct hook_additions){ &addition, cases[number].addition != NULL }, &goals,
				       &(struct diagnostics){ 0 }, &plan);
		if ((error != NULL) != (cases[number].refused != NULL) ||
		    (error && !strstr(error->message, cases[number].refused)))
			fprintf(stderr, "%s: %s\n", cases[number].what, error ? error->message : "hooked");
		if (cases[number].refused) {
			CHECK(error && strstr(error->message, cases[number].refused));
		} else {
			CHECK(error == NULL);
			CHECK(is_hooked(&plan, "malloc") && is_hooked(&plan, "free") && is_hooked(&plan, "calloc") &&
			      is_hooked(&plan, "realloc"));
		}
		hs_error_destroy(error);
		hook_plan_deinit(&plan);
	}
	live_target_close(&target);
	live_child_stop(&child);
}

static void check_names(void)
{
	static const char *const neither[] = { "",         "malloc",       "abort",
					       "memcpy",   "throw",        "_ZSt",
					       "_ZSt3",    "_ZSt4cout",    "_ZSt9terminatev",
					       "__throw_", "_ZSt__throw_", "writer" };

	for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++)
		CHECK_EQUAL(unwinding_name(neither[i]), UNWINDS_not_known);
	CHECK_EQUAL(unwinding_name("_ZSt17__throw_bad_allocv"), UNWINDS_always);
	CHECK_EQUAL(unwinding_name("__cxa_throw"), UNWINDS_always);
	CHECK_EQUAL(unwinding_name("write"), UNWINDS_cancelled);
}

int main(void)
{
	alarm(400);
	signal(SIGPIPE, SIG_IGN);
	check_names();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(i);
	return CHECK_RESULT();
}
