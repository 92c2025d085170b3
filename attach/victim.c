// SPDX-License-Identifier: Apache-2.0
#include "attach/victim.h"

#include "attach/arch.h"
#include "attach/ptrace_call.h"
#include "attach/target_access.h"
#include "base/cleanup.h"
#include "base/proc_file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// How far below the main thread's stack pointer another thread's frame lies, where there is room: if the tool is killed, the
// main thread runs on while the frame is still to be read, for some microseconds.
#define MAIN_STACK_DISTANCE 65536

static bool is_private_memory(const struct proc_map *map)
{
	return map && map->readable && map->writable && !map->shared && map->inode == 0;
}

static const struct frozen_thread *main_thread(const struct frozen_process *process)
{
	for (size_t i = 0; i < process->count; i++) {
		if (process->threads[i].tid == process->pid)
			return &process->threads[i];
	}
	return NULL;
}

static const struct proc_map *main_stack(const struct frozen_process *process, const struct proc_maps *maps)
{
	const struct frozen_thread *thread = main_thread(process);
	const struct proc_map *map = thread ? proc_maps_find(maps, thread->registers.rsp) : NULL;

	return map && is_private_memory(map) && strcmp(map->name, "[stack]") == 0 ? map : NULL;
}

static struct frame_room make_room(uint64_t low, uint64_t top)
{
	return top > low ? (struct frame_room){ low, top } : (struct frame_room){ 0, 0 };
}

struct frame_room frame_room_find(const struct frozen_process *process, const struct frozen_thread *thread,
				  const struct proc_maps *maps)
{
	const struct user_regs_struct *registers = &thread->registers;
	const struct proc_map *own = proc_maps_find(maps, registers->rsp), *main_map = main_stack(process, maps);
	bool has_control_block;

	if (thread->tid == process->pid && main_map)
		return make_room(main_map->start, registers->rsp - ARCH_RED_ZONE);
	// glibc and musl put the control block at the top of a thread's stack.
	has_control_block = is_private_memory(own) && registers->fs_base > registers->rsp && registers->fs_base < own->end;
	if (has_control_block && own > maps->items) {
		const struct proc_map *below = own - 1;

		if (below->end == own->start && !below->readable && !below->writable)
			return make_room(own->start, registers->rsp - ARCH_RED_ZONE);
	}
	if (main_map) {
		uint64_t top = main_thread(process)->registers.rsp - ARCH_RED_ZONE;
		uint64_t unused = top > main_map->start ? top - main_map->start : 0;

		return make_room(main_map->start,
				 top - (unused / 2 < MAIN_STACK_DISTANCE ? unused / 2 : MAIN_STACK_DISTANCE));
	}
	if (has_control_block)
		return make_room(own->start, registers->rsp - ARCH_RED_ZONE);
	return (struct frame_room){ 0, 0 };
}

// in_rseq_cs in kernel/rseq.c: start <= pc < start + size, as unsigned difference.
uint64_t rseq_resume_address(const struct rseq_section *section, uint64_t pc)
{
	return pc - section->start < section->size ? section->abort : pc;
}

const char *victim_obstacle(pid_t tid)
{
	if (ptrace_has_shadow_stack(tid))
		return "it runs with a user shadow stack";
	if (ptrace_has_syscall_dispatch(tid))
		return "its system calls are redirected (PR_SET_SYSCALL_USER_DISPATCH)";
	return NULL;
}

struct hs_error *victim_seccomp(pid_t pid, pid_t tid, unsigned *mode_ret, enum seccomp_effect *effect_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct seccomp_filters filters;
	struct hs_error *error;

	*mode_ret = 0;
	*effect_ret = SECCOMP_EFFECT_NONE;
	error = hs_read_task_file(pid, tid, "status", &text, NULL);
	if (error)
		return error;
	*mode_ret = (unsigned)status_number(text, "Seccomp:", 10, 0);
	if (*mode_ret != 2)
		return NULL;
	error = seccomp_filters_read(tid, &filters);
	if (error)
		return error;
	*effect_ret = seccomp_filters_effect(&filters);
	seccomp_filters_deinit(&filters);
	return NULL;
}

struct hs_error *victim_rseq(const struct frozen_thread *thread, const struct target_memory *memory, uint64_t *resume_ret)
{
	struct rseq_section section;
	struct hs_error *error;
	uint64_t area, pointer;

	*resume_ret = thread->registers.rip;
	error = ptrace_get_rseq(thread->tid, &area);
	if (error || area == 0)
		return error;
	// struct rseq: cpu_id_start, cpu_id, then the address of the current section, which the kernel clears late
	error = target_memory_read(memory, area + 8, &pointer, sizeof(pointer));
	if (error || pointer == 0)
		return error;
	error = target_memory_read(memory, pointer, &section, sizeof(section));
	if (error) {
		// A stale pointer into an unloaded library: the kernel would look at it too, and kill; not in a section then.
		hs_error_destroy(error);
		return NULL;
	}
	*resume_ret = rseq_resume_address(&section, thread->registers.rip);
	return NULL;
}
