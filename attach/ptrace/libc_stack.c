// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/libc_stack.h"

#include "attach/arch/addresses.h"
#include "attach/process/thread_ids.h"
#include "inject/abi/limits.h"

#include <string.h>

#define STACK_MIN       2048u // bytes
#define STACK_MAX       (UINT64_C(1) << 40)
#define ABOVE_STACK_MAX 65536u // bytes between a stack's end and the end of the thread's control block and static TLS

// More than a control block has: glibc's struct pthread is of 2304 bytes, musl's of 200. The thread's id stands in the
// first 1024 of each.
enum { BLOCK_SIZE = 3072, ID_WITHIN = 1024 };

static bool is_range(uint64_t start, uint64_t size)
{
	return start >= 65536 && start < ARCH_USER_END && size >= STACK_MIN && size <= STACK_MAX;
}

// stackblock, stackblock_size, guardsize, reported_guardsize of glibc's struct pthread (nptl/descr.h), one after the
// other since 2004. The guard is a part of the block, and 0 for memory that the program itself gave.
static bool find_glibc(const uint64_t *words, uint64_t thread_pointer, struct stack_range *ret)
{
	uint64_t start = words[0], size = words[1], guard = words[2];

	if (!is_range(start, size) || start >= thread_pointer || start + size <= thread_pointer ||
	    start + size - thread_pointer > ABOVE_STACK_MAX)
		return false;
	if (guard % HS_PAGE_SIZE != 0 || guard >= thread_pointer - start)
		return false;
	*ret = (struct stack_range){ start + guard, thread_pointer };
	return true;
}

// map_base, map_size, stack (its end), stack_size, guard_size of musl's struct pthread (src/internal/pthread_impl.h).
// map_base and guard_size are 0 for memory that the program gave, where that had room for the block. The stack's size
// is counted without the guard.
static bool find_musl(const uint64_t *words, uint64_t thread_pointer, struct stack_range *ret)
{
	uint64_t start = words[0], mapped = words[1], end = words[2], size = words[3], guard = words[4];
	bool is_mapped = start && !((start | mapped | guard) & (HS_PAGE_SIZE - 1)) && start < thread_pointer &&
			 thread_pointer - start < mapped;
	bool is_given = !start && mapped >= size && mapped - size <= ABOVE_STACK_MAX && end <= thread_pointer &&
			thread_pointer - end <= ABOVE_STACK_MAX;

	if ((!is_mapped && !is_given) || size > end || !is_range(end - size, size))
		return false;
	// Memory of its own has guard and stack below the block; a given stack is elsewhere.
	if (is_mapped && end > start && end <= thread_pointer && (guard >= end - start || end - size < start + guard))
		return false;
	*ret = (struct stack_range){ end - size, end };
	return true;
}

bool libc_stack_find(const uint64_t *words, size_t count, uint64_t thread_pointer, struct stack_range *ret)
{
	for (size_t i = 0; i + 4 < count; i++) {
		if (find_musl(words + i, thread_pointer, ret) || find_glibc(words + i, thread_pointer, ret))
			return true;
	}
	return false;
}

static bool has_id(const uint64_t *words, size_t size, uint32_t tid, uint32_t tid_inside)
{
	for (size_t offset = 0; offset + sizeof(uint32_t) <= size && offset < ID_WITHIN; offset += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, (const uint8_t *)words + offset, sizeof(word));
		if (word == tid || (word && word == tid_inside))
			return true;
	}
	return false;
}

// As much of the block as can be read, in bytes: it may lie at a page's end.
static size_t read_block(const struct target_memory *memory, uint64_t address, uint64_t *words)
{
	size_t first = (size_t)(HS_PAGE_SIZE - address % HS_PAGE_SIZE), size = first < BLOCK_SIZE ? first : BLOCK_SIZE;
	struct hs_error *error;

	if (address % sizeof(uint64_t) != 0)
		return 0;
	error = target_memory_read(memory, address, words, size);
	if (error) {
		hs_error_destroy(error);
		return 0;
	}
	if (size == BLOCK_SIZE)
		return size;
	error = target_memory_read(memory, address + size, (uint8_t *)words + size, BLOCK_SIZE - size);
	if (!error)
		return BLOCK_SIZE;
	hs_error_destroy(error);
	return size;
}

bool libc_stack_read(const struct frozen_process *frozen, const struct frozen_thread *thread,
		     const struct target_memory *memory, struct stack_range *ret)
{
	uint64_t words[BLOCK_SIZE / sizeof(uint64_t)], thread_pointer = registers_thread_pointer(&thread->registers);
	size_t size;

	if (!thread_pointer || thread_pointer >= ARCH_USER_END)
		return false;
	for (size_t i = 0; i < frozen->count; i++) {
		if (frozen->threads[i].tid != thread->tid &&
		    registers_thread_pointer(&frozen->threads[i].registers) == thread_pointer)
			return false;
	}
	size = read_block(memory, thread_pointer, words);
	return has_id(words, size, (uint32_t)thread->tid, thread_id_inside(frozen->process, thread->tid)) &&
	       libc_stack_find(words, size / sizeof(uint64_t), thread_pointer, ret);
}
