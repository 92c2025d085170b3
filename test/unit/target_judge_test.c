// SPDX-License-Identifier: Apache-2.0
#include "attach/process/target_judge.h"

#include "check.h"

#include <errno.h>

#define SYS_ADMIN (UINT64_C(1) << 21)

// A process that can be attached to.
static struct target_info usual(void)
{
	static char name[] = "nginx";

	return (struct target_info){
		.pid = 77,
		.name = name,
		.state = 'S',
		.thread_count = 3,
		.threads = { .count = 3 },
		.tgid = 77,
		.process_name = "nginx",
		.parent = 5,
		.access = { .tool_uid = 1000,
			    .uids = { 33, 33, 33 },
			    .proc_owner = 33,
			    .same_namespace = true,
			    .yama_scope = -1 },
	};
}

// `reasons` are the refusals in order, -1 ends them; `says` is in the error that attach gives.
static void check_refusals(int line, const struct target_info *info, const int *categories, const char *says)
{
	struct diagnostics diagnostics = { 0 };
	struct hs_error *error;
	size_t count = 0;

	target_judge(info, &diagnostics);
	while (categories[count] >= 0)
		count++;
	if (diagnostics.count != count)
		fprintf(stderr, "line %d: %zu diagnostics, the first: %s\n", line, diagnostics.count,
			diagnostics.count ? diagnostics.items[0].message : "");
	CHECK_EQUAL(diagnostics.count, count);
	for (size_t i = 0; i < count && i < diagnostics.count; i++) {
		CHECK_EQUAL(diagnostics.items[i].category, categories[i]);
		CHECK_EQUAL(diagnostics.items[i].verdict, DIAGNOSTIC_REFUSAL);
		CHECK(diagnostics.items[i].message[0] && diagnostics.items[i].remedy[0]);
		CHECK_EQUAL(diagnostics_verdict(&diagnostics, (enum diagnostic_category)categories[i]),
			    DIAGNOSTIC_REFUSAL);
	}
	CHECK_EQUAL(diagnostics_refuse(&diagnostics), count > 0);
	error = diagnostics_error(&diagnostics);
	CHECK_EQUAL(error == NULL, count == 0);
	if (!error)
		return;
	CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
	if (!strstr(error->message, says))
		fprintf(stderr, "line %d: not \"%s\": %s\n", line, says, error->message);
	CHECK(strstr(error->message, says) != NULL);
	hs_error_destroy(error);
}

static void test_judge(void)
{
	struct target_info info;

#define CATEGORIES(...) ((const int[]){ __VA_ARGS__ __VA_OPT__(, ) - 1 })
#define EXPECT(says, categories, ...)                                                                                  \
	do {                                                                                                           \
		info = usual();                                                                                        \
		__VA_ARGS__;                                                                                           \
		check_refusals(__LINE__, &info, categories, says);                                                     \
	} while (0)

	EXPECT("", CATEGORIES(), (void)0);
	EXPECT("77 is a thread of process 70 (nginx): give that id instead", CATEGORIES(CATEGORY_process),
	       info.tgid = 70);
	EXPECT("process 77 (nginx) is a kernel thread: it has no heap", CATEGORIES(CATEGORY_process),
	       info.kernel_thread = true);
	EXPECT("process 77 is heapsnap itself", CATEGORIES(CATEGORY_process), info.is_self = true);
	EXPECT("waits for its parent 5 (a zombie)", CATEGORIES(CATEGORY_process), info.state = 'Z';
	       info.thread_count = 1);
	EXPECT("", CATEGORIES(), info.state = 'Z'); // its main thread has ended, others live on
	EXPECT("(a zombie)", CATEGORIES(CATEGORY_process), info.state = 'X');
	// What has no memory of its own is judged no further.
	EXPECT("kernel thread", CATEGORIES(CATEGORY_process), info.kernel_thread = true; info.tracer = 8;
	       info.threads.seccomp_mode = 1);
	EXPECT("already traced by process 8 (gdb): only one tracer", CATEGORIES(CATEGORY_tracer), info.tracer = 8;
	       strcpy(info.tracer_name, "gdb"));
	EXPECT("belongs to user 33, group 0, and heapsnap runs as user 1000", CATEGORIES(CATEGORY_permission),
	       info.access_error = EACCES);
	EXPECT("a security module", CATEGORIES(CATEGORY_permission), info.access_error = EPERM;
	       info.access.tool_uid = 33);
	EXPECT("kernel.yama.ptrace_scope is 2", CATEGORIES(CATEGORY_permission), info.access_error = EPERM;
	       info.access.tool_uid = 33; info.access.yama_scope = 2);
	EXPECT("is in another user namespace", CATEGORIES(CATEGORY_permission), info.access_error = EPERM;
	       info.access.tool_uid = 33; info.access.same_namespace = false);
	EXPECT("32-bit program: only x86-64", CATEGORIES(CATEGORY_program), info.is_32_bit = true);
	EXPECT("strict seccomp mode", CATEGORIES(CATEGORY_seccomp), info.threads.seccomp_mode = 1;
	       info.access.tool_effective = SYS_ADMIN);
	EXPECT("", CATEGORIES(), info.threads.seccomp_mode = 2; info.access.tool_effective = SYS_ADMIN);
	EXPECT("only CAP_SYS_ADMIN may suspend: run heapsnap as root", CATEGORIES(CATEGORY_seccomp),
	       info.threads.seccomp_mode = 2;
	       info.access.tool_effective = ~SYS_ADMIN);
	EXPECT("because it is filtered itself", CATEGORIES(CATEGORY_seccomp), info.threads.seccomp_mode = 2;
	       info.access.tool_effective = SYS_ADMIN; info.tool_seccomp_mode = 2);
	EXPECT("every thread of process 77 (nginx) runs with a user shadow stack", CATEGORIES(CATEGORY_shadow_stack),
	       info.threads.shadow_stacks = 3);
	EXPECT("", CATEGORIES(), info.threads.shadow_stacks = 2);
	EXPECT("", CATEGORIES(), info.threads.count = 0);
	EXPECT("already traced", CATEGORIES(CATEGORY_tracer, CATEGORY_permission, CATEGORY_program, CATEGORY_seccomp),
	       info.tracer = 8;
	       info.access_error = EACCES; info.is_32_bit = true; info.threads.seccomp_mode = 1);
}

// States that attach copes with, or may not: said, not refused.
static void test_warnings(void)
{
	struct target_info info = usual();
	struct diagnostics diagnostics = { 0 };

	info.threads.stopped = 3;
	info.threads.uninterruptible = 1;
	info.threads.waiting = 78;
	strcpy(info.threads.waits_in, "kernel_clone");
	target_judge(&info, &diagnostics);
	CHECK_EQUAL(diagnostics.count, 2);
	CHECK(!diagnostics_refuse(&diagnostics));
	CHECK(!diagnostics_error(&diagnostics));
	CHECK_EQUAL(diagnostics_verdict(&diagnostics, CATEGORY_threads), DIAGNOSTIC_WARNING);
	CHECK_STRING(diagnostics.items[0].message,
		     "thread 78 of process 77 (nginx) is in a sleep that cannot be interrupted (kernel_clone)");
	CHECK_STRING(diagnostics.items[1].message, "process 77 (nginx) is stopped: 3 of 3 threads");
}

// Nothing runs in a frozen cgroup: refused where threads have to run, and not by what is asked of a dump, too.
static void test_frozen(void)
{
	struct target_info info = usual();
	struct diagnostics diagnostics = { 0 };
	struct hs_error *error;

	CHECK(!target_refuse_frozen(&info));
	target_judge_frozen(&info, &diagnostics);
	CHECK_EQUAL(diagnostics.count, 0);
	strcpy(info.frozen, "/sys/fs/cgroup/shop/cgroup.freeze: 1");
	target_judge(&info, &diagnostics);
	CHECK_EQUAL(diagnostics.count, 0);
	target_judge_frozen(&info, &diagnostics);
	CHECK_EQUAL(diagnostics_verdict(&diagnostics, CATEGORY_threads), DIAGNOSTIC_REFUSAL);
	error = target_refuse_frozen(&info);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	CHECK_STRING(error ? error->message : "", "process 77 (nginx) does not run, because its cgroup is frozen "
						  "(/sys/fs/cgroup/shop/cgroup.freeze: 1): thaw it, then try again");
	hs_error_destroy(error);
}

static void test_full_list(void)
{
	struct diagnostics diagnostics = { 0 };
	struct hs_error *error;

	for (unsigned i = 0; i < DIAGNOSTICS_MAX + 5; i++)
		diagnostics_add(&diagnostics, CATEGORY_memory, DIAGNOSTIC_WARNING, NULL, "warning %u", i);
	CHECK_EQUAL(diagnostics.count, DIAGNOSTICS_MAX);
	CHECK(!diagnostics_refuse(&diagnostics));
	CHECK(!diagnostics_error(&diagnostics));
	CHECK_EQUAL(diagnostics_verdict(&diagnostics, CATEGORY_memory), DIAGNOSTIC_WARNING);
	CHECK_EQUAL(diagnostics_verdict(&diagnostics, CATEGORY_process), DIAGNOSTIC_OK);
	diagnostics_add_error(&diagnostics, CATEGORY_modules, NULL);
	CHECK(!diagnostics_refuse(&diagnostics));
	diagnostics_add_error(&diagnostics, CATEGORY_modules, hs_error_system(ENOENT, "no file"));
	diagnostics_add_error(&diagnostics, CATEGORY_allocator, hs_error_create(HS_ERROR_GONE, "too late"));
	CHECK_EQUAL(diagnostics.count, DIAGNOSTICS_MAX);
	error = diagnostics_error(&diagnostics);
	CHECK(error && error->code == HS_ERROR_SYSTEM && error->error_number == ENOENT);
	CHECK(error && strstr(error->message, "no file") == error->message);
	hs_error_destroy(error);
	CHECK_STRING(diagnostic_category_name(CATEGORY_modules), "modules");
}

int main(void)
{
	test_judge();
	test_warnings();
	test_frozen();
	test_full_list();
	return CHECK_RESULT();
}
