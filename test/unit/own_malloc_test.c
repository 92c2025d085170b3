// SPDX-License-Identifier: Apache-2.0
// Programs with an allocator of their own, live, under the standard names: which are hooked, and which do what no
// standard function does, and are refused. The build gives the paths of the variants of own_malloc_child.c as CHILD_*.
#include "attach/elf/libc.h"
#include "attach/hook/hook_plan.h"
#include "attach/hook/quiet_names.h"
#include "check.h"
#include "live_child.h"

static const char throws[] = "may throw or be cancelled", asks[] = "asks for its return address",
		  is_unknown[] = "cannot be followed everywhere";

struct test_case {
	const char *what, *program;
	const char *refused;  // part of the reason; NULL = it is hooked
	const char *addition; // the user's word; NULL = none
};

static const struct test_case cases[] = {
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

// Where a module cannot be read, it may throw, and cancel threads, whatever the others ask for.
static const struct test_case beside_unread[] = {
	{ "calls what is not bound yet, beside an unread module", CHILD_PLAIN, is_unknown, NULL },
	{ "throws, beside an unread module", CHILD_THROWS, throws, NULL },
	{ "writes, beside an unread module", CHILD_LOGS, throws, NULL },
	{ "calls by a pointer, beside an unread module", CHILD_POINTER, is_unknown, NULL },
};

// One that comes last.
static void add_unread(struct module_list *modules)
{
	modules->unread = calloc(1, sizeof(*modules->unread));
	if (!modules->unread)
		exit(2);
	modules->unread[0] = (struct unread_module){
		.path = strdup("unread.so"), .reason = strdup("gone"), .start = 1, .end = 2, .link_order = SIZE_MAX
	};
	modules->unread_count = 1;
}

static bool is_hooked(const struct hook_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(plan->hooks[i].record.name, name) == 0 && plan->hooks[i].record.module == 0)
			return plan->hooks[i].record.verdict == VERDICT_ok;
	return false;
}

static void check_case(const struct test_case *test, bool has_unread)
{
	struct live_child child = live_child_start(test->program);
	struct live_target target;
	struct hook_addition addition = { 0 };
	struct hook_goals goals = { .state = UINT64_C(0x700000000000) };
	struct hook_plan plan;
	struct hs_error *error = NULL;

	if (test->addition)
		error = hook_addition_parse(test->addition, &addition);
	CHECK(error == NULL);
	for (unsigned i = 0; i < HOOK_KIND_COUNT; i++)
		goals.entries[i] = UINT64_C(0x600000000000) + i * 64;
	if (live_target_open(child.pid, &target)) {
		if (has_unread)
			add_unread(&target.modules);
		error = hook_plan_make(&target.modules, &target.maps, &target.memory,
				       &(struct hook_additions){ &addition, test->addition != NULL }, &goals,
				       &(struct diagnostics){ 0 }, &plan);
		if ((error != NULL) != (test->refused != NULL) || (error && !strstr(error->message, test->refused)))
			fprintf(stderr, "%s: %s\n", test->what, error ? error->message : "hooked");
		if (test->refused) {
			CHECK(error && strstr(error->message, test->refused));
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

// Puts in the place of the module's file a copy in which the page at `hole` cannot be read. Where its relocations are
// is then as `relocations` says; 0 = as before.
static void change_file(struct module *module, uint64_t hole, uint64_t relocations)
{
	struct file_copy *copy = malloc(sizeof(*copy));
	const struct elf_view file = module->elf;

	CHECK(copy && !file_copy_begin(file.size, copy));
	CHECK(file_copy_load(file.copy, 0, file.size));
	if (!copy || !copy->bytes)
		return;
	memcpy(copy->bytes, file.data, file.size);
	for (unsigned i = 0; i < file.header.e_phnum && relocations; i++) {
		Elf64_Dyn *entries = (Elf64_Dyn *)(void *)(copy->bytes + file.segments[i].p_offset);

		for (uint64_t j = 0; file.segments[i].p_type == PT_DYNAMIC && entries[j].d_tag != DT_NULL; j++)
			if (entries[j].d_tag == DT_RELA)
				entries[j].d_un.d_ptr = relocations;
	}
	for (uint64_t page = 0; page < file.size; page += HS_PAGE_SIZE)
		if (page != hole)
			CHECK(file_copy_put_page(copy, page));
	CHECK(!elf_view_open_copy(copy, &module->elf));
	file_copy_release(file.copy);
}

static enum hook_verdict verdict_of(const struct live_target *target, size_t module)
{
	struct hook_goals goals = { .state = UINT64_C(0x700000000000) };
	enum hook_verdict verdict = VERDICT_untrusted;
	struct hook_plan plan;
	struct hs_error *error =
		hook_plan_make(&target->modules, &target->maps, &target->memory, &(struct hook_additions){ NULL, 0 },
			       &goals, &(struct diagnostics){ 0 }, &plan);

	hs_error_destroy(error);
	for (size_t i = 0; i < plan.count; i++)
		if (plan.hooks[i].record.module == module && strcmp(plan.hooks[i].record.name, "malloc") == 0)
			verdict = plan.hooks[i].record.verdict;
	hook_plan_deinit(&plan);
	return verdict;
}

// Code that cannot be read may branch into the bytes that are patched.
static void check_unread_code(void)
{
	struct live_child child = live_child_start(CHILD_PLAIN);
	struct live_target target;
	struct libc_info libc;

	if (live_target_open(child.pid, &target)) {
		struct module *module;

		libc_identify(&target.modules, &libc);
		module = &target.modules.items[libc.module];
		CHECK_EQUAL(verdict_of(&target, libc.module), VERDICT_ok);
		change_file(module, module->text_low - module->load_bias,
			    0); // where an address is the place in the file
		CHECK_EQUAL(verdict_of(&target, libc.module), VERDICT_branch_inside);
	}
	live_target_close(&target);
	live_child_stop(&child);
}

// What a module asks for, where it cannot be read, may be to throw.
static void check_unread_relocations(void)
{
	struct live_child child = live_child_start(CHILD_POINTER);
	struct live_target target;

	if (live_target_open(child.pid, &target)) {
		CHECK_EQUAL(verdict_of(&target, 0), VERDICT_ok);
		change_file(&target.modules.items[0], UINT64_MAX, UINT64_C(1) << 40);
		CHECK_EQUAL(verdict_of(&target, 0), VERDICT_unfollowed);
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
	check_unread_code();
	check_unread_relocations();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&cases[i], false);
	for (size_t i = 0; i < sizeof(beside_unread) / sizeof(beside_unread[0]); i++)
		check_case(&beside_unread[i], true);
	return CHECK_RESULT();
}
