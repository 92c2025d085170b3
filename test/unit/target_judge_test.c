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
		.process = 77,
		.process_name = "nginx",
		.parent = 5,
		.access = { .tool_uid = 1000, .uids = { 33, 33, 33 }, .proc_owner = 33, .yama_scope = -1 },
	};
}

// `grounds` are the refusals in order, -1 ends them; `says` is in the error that attach gives.
static void check_refusals(int line, const struct target_info *info, const int *grounds, const char *says)
{
	struct findings findings = { 0 };
	struct hs_error *error;
	size_t count = 0;

	target_judge(info, &findings);
	while (grounds[count] >= 0)
		count++;
	if (findings.count != count)
		fprintf(stderr, "line %d: %zu findings, the first: %s\n", line, findings.count,
			findings.count ? findings.items[0].message : "");
	CHECK_EQUAL(findings.count, count);
	for (size_t i = 0; i < count && i < findings.count; i++) {
		CHECK_EQUAL(findings.items[i].ground, grounds[i]);
		CHECK_EQUAL(findings.items[i].verdict, FINDING_REFUSAL);
		CHECK(findings.items[i].message[0] && findings.items[i].remedy[0]);
		CHECK_EQUAL(findings_verdict(&findings, (enum ground)grounds[i]), FINDING_REFUSAL);
	}
	CHECK_EQUAL(findings_refuse(&findings), count > 0);
	error = findings_error(&findings);
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

#define GROUNDS(...) ((const int[]){ __VA_ARGS__ __VA_OPT__(, ) - 1 })
#define EXPECT(says, grounds, ...)                                                                                     \
	do {                                                                                                           \
		info = usual();                                                                                        \
		__VA_ARGS__;                                                                                           \
		check_refusals(__LINE__, &info, grounds, says);                                                        \
	} while (0)

	EXPECT("", GROUNDS(), (void)0);
	EXPECT("77 is a thread of process 70 (nginx): give that id instead", GROUNDS(GROUND_process),
	       info.process = 70);
	EXPECT("process 77 (nginx) is a kernel thread: it has no heap", GROUNDS(GROUND_process),
	       info.kernel_thread = true);
	EXPECT("process 77 is heapsnap itself", GROUNDS(GROUND_process), info.is_self = true);
	EXPECT("waits for its parent 5 (a zombie)", GROUNDS(GROUND_process), info.state = 'Z'; info.thread_count = 1);
	EXPECT("", GROUNDS(), info.state = 'Z'); // its main thread has ended, others live on
	EXPECT("(a zombie)", GROUNDS(GROUND_process), info.state = 'X');
	// What has no memory of its own is judged no further.
	EXPECT("kernel thread", GROUNDS(GROUND_process), info.kernel_thread = true; info.tracer = 8;
	       info.threads.seccomp_mode = 1);
	EXPECT("already traced by process 8 (gdb): only one tracer", GROUNDS(GROUND_tracer), info.tracer = 8;
	       strcpy(info.tracer_name, "gdb"));
	EXPECT("belongs to user 33, group 0, and heapsnap runs as user 1000", GROUNDS(GROUND_permission),
	       info.access_error = EACCES);
	EXPECT("a security module", GROUNDS(GROUND_permission), info.access_error = EPERM; info.access.tool_uid = 33);
	EXPECT("kernel.yama.ptrace_scope is 2", GROUNDS(GROUND_permission), info.access_error = EPERM;
	       info.access.tool_uid = 33; info.access.yama_scope = 2);
	EXPECT("32-bit program: only x86-64", GROUNDS(GROUND_program), info.is_32_bit = true);
	EXPECT("strict seccomp mode", GROUNDS(GROUND_seccomp), info.threads.seccomp_mode = 1;
	       info.access.tool_effective = SYS_ADMIN);
	EXPECT("", GROUNDS(), info.threads.seccomp_mode = 2; info.access.tool_effective = SYS_ADMIN);
	EXPECT("only CAP_SYS_ADMIN may suspend: run heapsnap as root", GROUNDS(GROUND_seccomp),
	       info.threads.seccomp_mode = 2;
	       info.access.tool_effective = ~SYS_ADMIN);
	EXPECT("because it is filtered itself", GROUNDS(GROUND_seccomp), info.threads.seccomp_mode = 2;
	       info.access.tool_effective = SYS_ADMIN; info.tool_seccomp_mode = 2);
	EXPECT("every thread of process 77 (nginx) runs with a user shadow stack", GROUNDS(GROUND_shadow_stack),
	       info.threads.shadow_stacks = 3);
	EXPECT("", GROUNDS(), info.threads.shadow_stacks = 2);
	EXPECT("", GROUNDS(), info.threads.count = 0);
	EXPECT("already traced", GROUNDS(GROUND_tracer, GROUND_permission, GROUND_program, GROUND_seccomp),
	       info.tracer = 8;
	       info.access_error = EACCES; info.is_32_bit = true; info.threads.seccomp_mode = 1);
}

// States that attach copes with, or may not: said, not refused.
static void test_warnings(void)
{
	struct target_info info = usual();
	struct findings findings = { 0 };

	info.threads.stopped = 3;
	info.threads.uninterruptible = 1;
	info.threads.waiting = 78;
	strcpy(info.threads.waits_in, "kernel_clone");
	target_judge(&info, &findings);
	CHECK_EQUAL(findings.count, 2);
	CHECK(!findings_refuse(&findings));
	CHECK(!findings_error(&findings));
	CHECK_EQUAL(findings_verdict(&findings, GROUND_threads), FINDING_WARNING);
	CHECK_STRING(findings.items[0].message,
		     "thread 78 of process 77 (nginx) is in a sleep that cannot be interrupted (kernel_clone)");
	CHECK_STRING(findings.items[1].message, "process 77 (nginx) is stopped: 3 of 3 threads");
}

// Nothing runs in a frozen control group: refused where threads have to run, and not by what is asked of a dump, too.
static void test_frozen(void)
{
	struct target_info info = usual();
	struct findings findings = { 0 };
	struct hs_error *error;

	CHECK(!target_refuse_frozen(&info));
	target_judge_frozen(&info, &findings);
	CHECK_EQUAL(findings.count, 0);
	strcpy(info.frozen, "/sys/fs/cgroup/shop/cgroup.freeze: 1");
	target_judge(&info, &findings);
	CHECK_EQUAL(findings.count, 0);
	target_judge_frozen(&info, &findings);
	CHECK_EQUAL(findings_verdict(&findings, GROUND_threads), FINDING_REFUSAL);
	error = target_refuse_frozen(&info);
	CHECK(error && error->code == HS_ERROR_REFUSED);
	CHECK_STRING(error ? error->message : "",
		     "process 77 (nginx) does not run, because its control group is frozen "
		     "(/sys/fs/cgroup/shop/cgroup.freeze: 1): thaw it, then try again");
	hs_error_destroy(error);
}

static void test_full_list(void)
{
	struct findings findings = { 0 };
	struct hs_error *error;

	for (unsigned i = 0; i < FINDINGS_MAX + 5; i++)
		findings_add(&findings, GROUND_memory, FINDING_WARNING, NULL, "warning %u", i);
	CHECK_EQUAL(findings.count, FINDINGS_MAX);
	CHECK(!findings_refuse(&findings));
	CHECK(!findings_error(&findings));
	CHECK_EQUAL(findings_verdict(&findings, GROUND_memory), FINDING_WARNING);
	CHECK_EQUAL(findings_verdict(&findings, GROUND_process), FINDING_OK);
	findings_add_error(&findings, GROUND_modules, NULL);
	CHECK(!findings_refuse(&findings));
	findings_add_error(&findings, GROUND_modules, hs_error_system(ENOENT, "no file"));
	findings_add_error(&findings, GROUND_allocator, hs_error_create(HS_ERROR_GONE, "too late"));
	CHECK_EQUAL(findings.count, FINDINGS_MAX);
	error = findings_error(&findings);
	CHECK(error && error->code == HS_ERROR_SYSTEM && error->error_number == ENOENT);
	CHECK(error && strstr(error->message, "no file") == error->message);
	hs_error_destroy(error);
	CHECK_STRING(ground_name(GROUND_modules), "modules");
}

int main(void)
{
	test_judge();
	test_warnings();
	test_frozen();
	test_full_list();
	return CHECK_RESULT();
}
