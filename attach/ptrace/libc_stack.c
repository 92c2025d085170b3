// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/libc_stack.h"

#include "attach/arch/addresses.h"
#include "attach/process/thread_ids.h"

#include <string.h>

// More than a control block has: glibc's struct pthread is of 2304 bytes, musl's of 200. The thread's id stands in the
// first 1024 of each.
enum { BLOCK_SIZE = 3072, ID_WITHIN = 1024 };
// Words of either that say where a stack is and its guard; less of them is not enough here.
enum { WITH_GUARD = 5 };

bool libc_stack_find(const uint64_t *words, size_t count, uint64_t thread_pointer, struct stack_range *ret)
{
	for (size_t i = 0; i + WITH_GUARD <= count; i++)
		if (libc_block_musl(words + i, WITH_GUARD, thread_pointer, ret) ||
		    libc_block_glibc(words + i, WITH_GUARD, thread_pointer, ret))
			return true;
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
