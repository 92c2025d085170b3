// SPDX-License-Identifier: Apache-2.0
#include "attach/process/target.h"

#include "attach/arch/elf_types.h"
#include "attach/process/target_judge.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_maps.h"
#include "base/proc_stat.h"
#include "base/proc_status.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A thread that ends, or gives its number to one that calls exec, takes its files in /proc along. What stands there a
// moment later is read.
enum { READ_TRIES = 20 };

#define PF_KTHREAD 0x00200000u // include/linux/sched.h

// The program's name of some process, for messages.
static void read_name(pid_t pid, char buffer[64])
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_glance(pid, &process);

	if (!error)
		error = process_read_file(&process, "comm", &text, NULL);
	snprintf(buffer, 64, "%s", error ? "?" : text);
	hs_error_destroy(error);
	buffer[strcspn(buffer, "\n")] = 0;
}

static struct hs_error *read_stat(const struct process *process, struct target_info *info)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "stat", &text, NULL);
	struct proc_stat stat;

	if (error)
		return error;
	if (!proc_stat_parse(text, &stat))
		return hs_error_create(HS_ERROR_BAD_DATA, "cannot read /proc/%d/stat", (int)process->pid);
	info->state = stat.state;
	info->kernel_thread = stat.flags & PF_KTHREAD;
	info->thread_count = stat.thread_count;
	info->stack_start = stat.stack_start;
	info->name = strndup(stat.name, stat.name_size);
	return info->name ? NULL : &hs_error_no_memory;
}

static uint64_t kilobytes(const char *status, const char *key) { return proc_status_number(status, key, 10, 0) * 1024; }

static uint32_t follower; // 0 = none

void target_is_followed_by(uint32_t tracer) { follower = tracer; }

static struct hs_error *read_limits(const struct process *process, struct target_info *info)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error;

	error = process_read_file(process, "limits", &text, NULL);
	if (error)
		return error;
	info->address_space_limit = proc_limits_soft(text, "Max address space");
	info->stack_limit = proc_limits_soft(text, "Max stack size");
	return NULL;
}

static struct hs_error *read_executable(const struct process *process, struct target_info *info)
{
	HS_CLEANUP_CLOSE int folder = process_live_folder(process);
	char target[PATH_MAX];
	ssize_t length;

	length = folder < 0 ? -1 : readlinkat(folder, "exe", target, sizeof(target) - 1);
	if (length < 0)
		return NULL;
	target[length] = 0;
	info->executable = strdup(target);
	return info->executable ? NULL : &hs_error_no_memory;
}

// By the executable's class, or where it cannot be read, by the place of its memory.
static bool is_32_bit(const struct process *process)
{
	HS_CLEANUP_CLOSE int fd = process_openat(process, "exe", O_RDONLY);
	unsigned char ident[EI_NIDENT];
	struct proc_maps maps = { 0 };
	struct hs_error *error;
	bool low = true;

	if (fd >= 0 && pread(fd, ident, sizeof(ident), 0) == (ssize_t)sizeof(ident))
		return ident[EI_CLASS] == ELFCLASS32;
	error = proc_maps_read(process, &maps);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	for (size_t i = 0; i < maps.count; i++)
		low = low && maps.items[i].end <= UINT64_C(1) << 32;
	low = low && maps.count > 0;
	proc_maps_deinit(&maps);
	return low;
}

struct hs_error *target_refuse_32_bit(const struct process *process)
{
	return is_32_bit(process)
		       ? hs_error_create(HS_ERROR_REFUSED,
					 "process %d is a 32-bit program; only " ARCH_NAME " programs can be recorded",
					 (int)process->pid)
		       : NULL;
}

// The kernel's own answer, without touching the process: the same check as for ptrace stands before /proc/PID/mem.
static struct hs_error *read_access(const struct process *process, struct target_info *info)
{
	HS_CLEANUP_CLOSE int fd = process_openat(process, "mem", O_RDWR);

	if (fd < 0 && errno != EACCES && errno != EPERM)
		return hs_error_system(errno, "cannot open /proc/%d/mem", (int)process->pid);
	info->access_error = fd < 0 ? errno : 0;
	return access_facts_read(process, &info->access);
}

static struct hs_error *read_own(struct target_info *info)
{
	HS_CLEANUP_FREE char *own = NULL;
	size_t size;
	struct hs_error *error = hs_read_file("/proc/self/status", PROC_STATUS_LIMIT, &own, &size);

	if (error)
		return error;
	info->tool_seccomp_mode = (uint32_t)proc_status_number(own, "Seccomp:", 10, 0);
	return NULL;
}

static void read_owner(const char *status, struct target_info *info)
{
	info->tgid = (pid_t)proc_status_number(status, "Tgid:", 10, (uint64_t)info->pid);
	read_name(info->tgid, info->process_name);
}

static bool has_own_memory(const struct target_info *info)
{
	struct diagnostics diagnostics = { 0 };

	target_judge_kind(info, &diagnostics);
	return !diagnostics_refuse(&diagnostics);
}

static struct hs_error *read_all(const struct process *process, struct target_info *info)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error;

	error = read_stat(process, info);
	if (!error)
		error = process_read_live_file(process, "status", &status, NULL);
	if (error)
		return error;
	info->is_self = process->pid == getpid();
	info->parent = (pid_t)proc_status_number(status, "PPid:", 10, 0);
	read_owner(status, info);
	if (!has_own_memory(info))
		return NULL;
	info->tracer = (uint32_t)proc_status_number(status, "TracerPid:", 10, 0);
	if (info->tracer == follower)
		info->tracer = 0;
	if (info->tracer)
		read_name((pid_t)info->tracer, info->tracer_name);
	info->locked_bytes = kilobytes(status, "VmLck:");
	info->address_space_used = kilobytes(status, "VmSize:");
	error = read_access(process, info);
	if (error)
		return error;
	info->is_32_bit = is_32_bit(process);
	memory_group_read(process, &info->group);
	cgroup_frozen(process, info->frozen);
	error = thread_facts_read(process, &info->threads);
	if (!error)
		error = read_own(info);
	if (!error)
		error = read_executable(process, info);
	if (!error)
		error = read_limits(process, info);
	return error;
}

struct hs_error *target_read(const struct process *process, struct target_info *ret)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	for (int tries = READ_TRIES;; tries--) {
		struct hs_error *error;

		*ret = (struct target_info){ .pid = process->pid,
					     .address_space_limit = UINT64_MAX,
					     .stack_limit = UINT64_MAX };
		error = read_all(process, ret);
		if (!error)
			return NULL;
		target_info_deinit(ret);
		if (error->error_number != ENOENT && error->error_number != ESRCH)
			return error;
		hs_error_destroy(error);
		if (!process_is_there(process))
			return process_not_found(HS_ERROR_NOT_FOUND, process->pid);
		if (tries == 0)
			return hs_error_create(
				HS_ERROR_GONE,
				"process %d is about to end, or to become another program: try again later",
				(int)process->pid);
		nanosleep(&pause, NULL);
	}
}

struct hs_error *target_examine(const struct process *process, struct target_info *ret)
{
	struct diagnostics diagnostics = { 0 };
	struct hs_error *error = target_read(process, ret);

	if (error)
		return error;
	target_judge(ret, &diagnostics);
	error = diagnostics_error(&diagnostics);
	if (error)
		target_info_deinit(ret);
	return error;
}

struct hs_error *target_refuse_thread(const struct process *process)
{
	struct target_info info = { .pid = process->pid };
	struct diagnostics diagnostics = { 0 };
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_file(process, "status", &status, NULL);

	if (error) {
		hs_error_destroy(error);
		return NULL;
	}
	read_owner(status, &info);
	target_judge_kind(&info, &diagnostics);
	return diagnostics_error(&diagnostics);
}

struct hs_error *target_refuse_look(const struct process *process)
{
	struct diagnostics diagnostics = { 0 };
	struct access_facts facts;
	char name[64];
	struct hs_error *error = access_facts_read(process, &facts);

	if (error)
		return error;
	facts.yama_scope = -1; // it restricts tracing, not looking: yama_ptrace_access_check
	read_name(process->pid, name);
	access_judge(process->pid, name, access_decide(&facts), &facts, &diagnostics);
	return diagnostics_error(&diagnostics);
}

struct hs_error *target_refuse_frozen(const struct target_info *info)
{
	struct diagnostics diagnostics = { 0 };

	target_judge_frozen(info, &diagnostics);
	return diagnostics_error(&diagnostics);
}

void target_info_deinit(struct target_info *info)
{
	free(info->name);
	free(info->executable);
	*info = (struct target_info){ 0 };
}
