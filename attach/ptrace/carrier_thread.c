// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/carrier_thread.h"

#include "attach/arch/parking.h"
#include "attach/arch/sigframe.h"
#include "attach/arch/syscall.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

// in_rseq_cs in kernel/rseq.c: start <= pc < start + size, as unsigned difference.
uint64_t rseq_resume_address(const struct rseq_section *section, uint64_t pc)
{
	return pc - section->start < section->size ? section->abort : pc;
}

bool carrier_is_in_transfer(const arch_registers *registers)
{
	switch (arch_call_number(registers)) {
	case SYS_read:
	case SYS_pread64:
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_copy_file_range:
	case SYS_getrandom:
		return true;
	default:
		return false;
	}
}

typedef struct hs_error *read_memory(const struct target_memory *memory, uint64_t address, void *buffer, size_t size);

static bool any_is_ours(const uint64_t *places, size_t count, const struct target_memory *memory, read_memory *read)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t head[HS_SIGFRAME_HEAD_SIZE];
		struct hs_error *error = read(memory, places[i], head, sizeof(head));

		hs_error_destroy(error);
		if (!error && sigframe_is_ours(head))
			return true;
	}
	return false;
}

static bool frame_is_at(uint64_t stack, const struct target_memory *memory, read_memory *read)
{
	// Where the frame lies, seen from each place of the way (remote_call.h), with and without a pop gadget.
	const uint64_t places[] = { stack - 8, stack, stack + 8, stack + 16 };

	return any_is_ours(places, sizeof(places) / sizeof(places[0]), memory, read);
}

bool carrier_frame_is_at(uint64_t stack, const struct target_memory *memory)
{
	return frame_is_at(stack, memory, target_memory_read_resident);
}

bool carrier_is_on_its_way(const struct frozen_thread *thread, const struct target_memory *memory)
{
	uint64_t parked[2];

	arch_parked_frames(&thread->registers, parked);
	return frame_is_at(registers_sp(&thread->registers), memory, target_memory_read) ||
	       any_is_ours(parked, sizeof(parked) / sizeof(parked[0]), memory, target_memory_read);
}

const char *carrier_obstacle(pid_t tid)
{
	if (ptrace_has_shadow_stack(tid))
		return "it runs with a user shadow stack";
	if (ptrace_has_syscall_dispatch(tid))
		return "its system calls are redirected (PR_SET_SYSCALL_USER_DISPATCH)";
	return NULL;
}

struct hs_error *carrier_seccomp(const struct process *process, pid_t tid, unsigned *mode_ret,
				 enum seccomp_effect *effect_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct seccomp_filters filters;
	struct hs_error *error;

	*mode_ret = 0;
	*effect_ret = SECCOMP_EFFECT_NONE;
	error = process_read_task_file(process, tid, "status", &text, NULL);
	if (error)
		return error;
	*mode_ret = (unsigned)proc_status_number(text, "Seccomp:", 10, 0);
	if (*mode_ret != 2)
		return NULL;
	error = seccomp_filters_read(tid, &filters);
	if (error)
		return error;
	*effect_ret = seccomp_filters_effect(&filters);
	seccomp_filters_deinit(&filters);
	return NULL;
}

struct hs_error *carrier_rseq(const struct frozen_thread *thread, const struct target_memory *memory,
			      uint64_t *resume_ret)
{
	struct rseq_section section;
	struct hs_error *error;
	uint64_t area, pointer;

	*resume_ret = registers_pc(&thread->registers);
	error = ptrace_get_rseq(thread->tid, &area);
	if (error || area == 0)
		return error;
	// struct rseq: cpu_id_start, cpu_id, then the address of the current section, which the kernel clears late
	error = target_memory_read(memory, area + 8, &pointer, sizeof(pointer));
	if (error || pointer == 0)
		return error;
	error = target_memory_read(memory, pointer, &section, sizeof(section));
	if (error) {
		// A stale pointer into an unloaded library: the kernel would look at it too, and kill; not in a section
		// then.
		hs_error_destroy(error);
		return NULL;
	}
	*resume_ret = rseq_resume_address(&section, registers_pc(&thread->registers));
	return NULL;
}
