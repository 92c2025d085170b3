// SPDX-License-Identifier: Apache-2.0
#include "attach/process/target_judge.h"

#include "attach/arch/elf_types.h"
#include "attach/guard/standstill.h"

#include <inttypes.h>
#include <string.h>

#define CAP_SYS_ADMIN_BIT (UINT64_C(1) << 21)

void target_judge_kind(const struct target_info *info, struct diagnostics *diagnostics)
{
	int pid = (int)info->pid;

	if (info->tgid != info->pid)
		diagnostics_add(diagnostics, CATEGORY_process, DIAGNOSTIC_REFUSAL, "give that id instead",
				"%d is a thread of process %d (%s)", pid, (int)info->tgid, info->process_name);
	else if (info->kernel_thread)
		diagnostics_add(diagnostics, CATEGORY_process, DIAGNOSTIC_REFUSAL, "it has no heap to snapshot",
				"process %d (%s) is a kernel thread", pid, info->name);
	else if (info->is_self)
		diagnostics_add(diagnostics, CATEGORY_process, DIAGNOSTIC_REFUSAL, "give another process",
				"process %d is heapsnap itself", pid);
	// A main thread that has ended while others live on leaves a living process, with a memory of its own.
	else if (info->state == 'X' || (info->state == 'Z' && info->thread_count <= 1))
		diagnostics_add(diagnostics, CATEGORY_process, DIAGNOSTIC_REFUSAL, "there is nothing left to snapshot",
				"process %d (%s) has ended and waits for its parent %d (a zombie)", pid, info->name,
				(int)info->parent);
}

static void judge_tracer(const struct target_info *info, struct diagnostics *diagnostics)
{
	if (info->tracer)
		diagnostics_add(diagnostics, CATEGORY_tracer, DIAGNOSTIC_REFUSAL,
				"only one tracer is possible, end that one first",
				"process %d (%s) is already traced by process %" PRIu32 " (%s)", (int)info->pid,
				info->name, info->tracer, info->tracer_name);
}

static void judge_access(const struct target_info *info, struct diagnostics *diagnostics)
{
	if (info->access_error)
		access_judge(info->pid, info->name, access_decide(&info->access), &info->access, diagnostics);
}

static void judge_program(const struct target_info *info, struct diagnostics *diagnostics)
{
	if (info->is_32_bit)
		diagnostics_add(diagnostics, CATEGORY_program, DIAGNOSTIC_REFUSAL,
				"only " ARCH_NAME " programs can be snapshotted", "process %d (%s) is a 32-bit program",
				(int)info->pid, info->name);
}

// Filters are suspended while a tool traces that is itself unfiltered and has CAP_SYS_ADMIN (check_ptrace_options in
// kernel/ptrace.c).
static void judge_seccomp(const struct target_info *info, struct diagnostics *diagnostics)
{
	if (info->threads.seccomp_mode == 0)
		return;
	if (info->threads.seccomp_mode == 1)
		diagnostics_add(diagnostics, CATEGORY_seccomp, DIAGNOSTIC_REFUSAL, "it cannot be snapshotted",
				"process %d (%s) is in strict seccomp mode, where any new system call kills it",
				(int)info->pid, info->name);
	else if (info->tool_seccomp_mode != 0)
		diagnostics_add(
			diagnostics, CATEGORY_seccomp, DIAGNOSTIC_REFUSAL, "run it outside of the sandbox, as root",
			"process %d (%s) has a seccomp filter, which heapsnap cannot suspend because it is filtered itself",
			(int)info->pid, info->name);
	else if (!(info->access.tool_effective & CAP_SYS_ADMIN_BIT))
		diagnostics_add(diagnostics, CATEGORY_seccomp, DIAGNOSTIC_REFUSAL, "run heapsnap as root",
				"process %d (%s) has a seccomp filter, which only CAP_SYS_ADMIN may suspend",
				(int)info->pid, info->name);
}

// The tool would have to keep the shadow stack in step with what it does to the stack.
static void judge_shadow_stack(const struct target_info *info, struct diagnostics *diagnostics)
{
	if (info->threads.count > 0 && info->threads.shadow_stacks == info->threads.count)
		diagnostics_add(
			diagnostics, CATEGORY_shadow_stack, DIAGNOSTIC_REFUSAL,
			"start it without (GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK)",
			"every thread of process %d (%s) runs with a user shadow stack, and none of them can make system calls for heapsnap",
			(int)info->pid, info->name);
}

_Static_assert(HS_FREEZE_TIMEOUT_MS == 2000, "the text below says two seconds");

static void judge_threads(const struct target_info *info, struct diagnostics *diagnostics)
{
	const struct thread_facts *threads = &info->threads;

	if (threads->uninterruptible)
		diagnostics_add(diagnostics, CATEGORY_threads, DIAGNOSTIC_WARNING,
				"if it stays so, attach gives up after two seconds",
				"thread %d of process %d (%s) is in a sleep that cannot be interrupted (%s)",
				(int)threads->waiting, (int)info->pid, info->name,
				threads->waits_in[0] ? threads->waits_in : "the kernel does not say where");
	if (threads->stopped)
		diagnostics_add(diagnostics, CATEGORY_threads, DIAGNOSTIC_WARNING,
				"attach works, and leaves it stopped",
				"process %d (%s) is stopped: %" PRIu32 " of %" PRIu32 " threads", (int)info->pid,
				info->name, threads->stopped, threads->count);
}

void target_judge_frozen(const struct target_info *info, struct diagnostics *diagnostics)
{
	if (info->frozen[0])
		diagnostics_add(diagnostics, CATEGORY_threads, DIAGNOSTIC_REFUSAL, "thaw it, then try again",
				"process %d (%s) does not run, because its cgroup is frozen (%s)", (int)info->pid,
				info->name, info->frozen);
}

void target_judge(const struct target_info *info, struct diagnostics *diagnostics)
{
	target_judge_kind(info, diagnostics);
	if (diagnostics_verdict(diagnostics, CATEGORY_process) == DIAGNOSTIC_REFUSAL)
		return;
	judge_tracer(info, diagnostics);
	judge_access(info, diagnostics);
	judge_program(info, diagnostics);
	judge_seccomp(info, diagnostics);
	judge_shadow_stack(info, diagnostics);
	judge_threads(info, diagnostics);
}
