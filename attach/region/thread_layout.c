// SPDX-License-Identifier: Apache-2.0
#include "attach/region/thread_layout.h"

#include "attach/arch/thread_pointer_code.h"
#include "attach/elf/libc_symbols.h"
#include "attach/guard/interrupt.h"
#include "attach/process/thread_ids.h"
#include "attach/ptrace/thread_pointers.h"
#include "attach/region/region_fill.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

static bool is_id_of(const struct frozen_process *frozen, const struct frozen_thread *thread, uint32_t value)
{
	return value && (value == (uint32_t)thread->tid || value == thread_id_inside(frozen->process, thread->tid));
}

// The thread id that the libc keeps must be where its symbols say, in some thread.
static bool tid_offset_holds(uint64_t offset, const struct target_memory *memory, const struct frozen_process *frozen)
{
	for (size_t i = 0; i < frozen->count; i++) {
		const struct frozen_thread *thread = &frozen->threads[i];
		struct hs_error *error;
		uint32_t tid = 0;

		if (!registers_thread_pointer(&thread->registers))
			continue;
		error = target_memory_read(memory, registers_thread_pointer(&thread->registers) + offset, &tid,
					   sizeof(tid));
		if (!error && is_id_of(frozen, thread, tid))
			return true;
		hs_error_destroy(error);
	}
	return false;
}

// The one place in the control block that holds the id of each thread. 0 = none, or more than one.
static uint64_t search_tid_offset(uint64_t tcb_size, const struct target_memory *memory,
				  const struct frozen_process *frozen)
{
	uint32_t words[MUSL_TCB_SIZE / 4];
	uint64_t candidates = (UINT64_C(1) << (MUSL_TCB_SIZE / 4)) - 1; // a bit for each word
	size_t looked_at = 0;

	if (tcb_size != sizeof(words))
		return 0;
	for (size_t i = 0; i < frozen->count; i++) {
		const struct frozen_thread *thread = &frozen->threads[i];
		struct hs_error *error;
		uint64_t first;

		if (!registers_thread_pointer(&thread->registers))
			continue; // not yet set up
		error = target_memory_read(memory, registers_thread_pointer(&thread->registers), words, sizeof(words));
		hs_error_destroy(error);
		memcpy(&first, words, sizeof(first));
		if (error || first != registers_thread_pointer(&thread->registers))
			continue; // not one of the libc's
		for (unsigned j = 0; j < sizeof(words) / 4; j++)
			if (!is_id_of(frozen, thread, words[j]))
				candidates &= ~(UINT64_C(1) << j);
		looked_at++;
	}
	if (!looked_at || !candidates || candidates & (candidates - 1))
		return 0;
	return (uint64_t)__builtin_ctzll(candidates) * 4;
}

static uint64_t find_tid_offset(const struct module_list *modules, const struct target_memory *memory,
				const struct frozen_process *frozen)
{
	uint64_t offset = 0;

	if (modules->libc == LIBC_musl)
		offset = search_tid_offset(modules->tcb_size, memory, frozen);
	else if (modules->libc == LIBC_glibc && tid_offset_holds(modules->tid_offset, memory, frozen))
		offset = modules->tid_offset;
	if (!offset)
		hs_verbose(
			"thread ids are not found in the libc's control blocks; threads are told apart by the blocks only");
	return offset;
}

// Whether the libc's control block is there: its first word is its own address, and all of it can be read.
static bool has_control_block(const struct target_memory *memory, uint64_t thread_pointer, uint64_t size)
{
	uint64_t words[512];
	struct hs_error *error;

	size = size < sizeof(words[0]) ? sizeof(words[0]) : size;
	if (!thread_pointer || thread_pointer % 8 || size > sizeof(words))
		return false;
	error = target_memory_read(memory, thread_pointer, words, size);
	hs_error_destroy(error);
	return !error && words[0] == thread_pointer;
}

static struct hs_error *refuse_shared(const struct frozen_process *frozen, size_t one)
{
	size_t other = one + 1;

	while (other < frozen->count - 1 && registers_thread_pointer(&frozen->threads[other].registers) !=
						    registers_thread_pointer(&frozen->threads[one].registers))
		other++;
	return hs_error_create(
		HS_ERROR_REFUSED,
		"threads %d and %d of process %d have the same thread pointer: their allocations cannot be told apart",
		frozen->threads[one].tid, frozen->threads[other].tid, frozen->process->pid);
}

struct hs_error *thread_layout_check(const struct target_memory *memory, const struct frozen_process *frozen)
{
	struct thread_pointers pointers;
	struct hs_error *error = thread_pointers_list(frozen, &pointers);

	if (error)
		return error;
	for (size_t i = 0; i < frozen->count && !error; i++) {
		uint64_t pointer = registers_thread_pointer(&frozen->threads[i].registers);

		error = interrupt_check();
		if (error)
			break;
		if (pointer && thread_pointers_users(&pointers, pointer) > 1)
			error = refuse_shared(frozen, i);
		else if (!thread_pointer_code_is_allowed() && !has_control_block(memory, pointer, 0))
			error = hs_error_create(
				HS_ERROR_REFUSED,
				"thread %d of process %d has no thread pointer of a C library, and without " ARCH_SAFE_THREAD_POINTER
				" the payload would fault in it",
				frozen->threads[i].tid, frozen->process->pid);
	}
	thread_pointers_deinit(&pointers);
	return error;
}

struct hs_error *thread_layout_count_unseen(enum libc_kind libc, const struct frozen_process *frozen, size_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < frozen->count; i++)
		*ret += !registers_thread_pointer(&frozen->threads[i].registers);
	if (libc != LIBC_unknown || *ret < frozen->count)
		return NULL;
	return hs_error_create(
		HS_ERROR_REFUSED,
		"no thread of process %d has a thread pointer, by which heapsnap knows threads: nothing that it allocates can "
		"be recorded; if it has only just begun, try again",
		frozen->process->pid);
}

void thread_layout_configure(const struct target_info *target, const struct proc_maps *maps,
			     const struct module_list *modules, const struct target_memory *memory,
			     const struct frozen_process *frozen, struct payload_config *config)
{
	config->libc = (uint64_t)modules->libc;
	config->tcb_size = modules->tcb_size;
	config->tid_offset = find_tid_offset(modules, memory, frozen);
	for (size_t i = 0; i < frozen->count; i++) {
		const struct frozen_thread *thread = &frozen->threads[i];
		uint32_t inside;

		if (thread->tid != frozen->process->pid)
			continue;
		inside = thread_id_inside(frozen->process, thread->tid);
		if (has_control_block(memory, registers_thread_pointer(&thread->registers), modules->tcb_size))
			config->main_thread_pointer = registers_thread_pointer(&thread->registers);
		config->main_tid = inside ? inside : (uint32_t)thread->tid;
		config->main_stack_start = target->stack_start;
		region_main_stack(maps, target->stack_limit, &config->main_stack_low, &config->main_stack_high);
	}
}
