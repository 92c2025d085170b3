// SPDX-License-Identifier: Apache-2.0
// The memory that a C library has given to one of its threads as a stack, by the thread's control block. Pure. No table
// of versions and offsets: words of the block count when they fit each other and the thread pointer. The payload finds
// by this where a thread's frames may lie (inject/hook/thread_slot.c), the tool where those of signals may
// (attach/ptrace/libc_stack.h).
#ifndef HEAPSNAP_INJECT_ABI_LIBC_BLOCK_H
#define HEAPSNAP_INJECT_ABI_LIBC_BLOCK_H

#include "inject/abi/limits.h"
#include "inject/abi/live_table.h"

#include <stddef.h>
#include <stdint.h>

#define HS_STACK_MIN 2048u // bytes
#define HS_STACK_MAX (UINT64_C(1) << 40)
#define HS_ABOVE_STACK_MAX                                                                                             \
	65536u // bytes between a stack's end and the end of the thread's control block and static TLS

struct stack_range {
	uint64_t low, high; // [low, high), without the guard; the control block lies at or above high
};

static inline int libc_block_may_be_stack(uint64_t start, uint64_t size)
{
	return start >= 65536 && start < UINT64_C(1) << HS_ADDRESS_BITS && size >= HS_STACK_MIN && size <= HS_STACK_MAX;
}

// Both: whether such words begin at `words`, of which `count` can be read. A guard that cannot be read is taken for
// none.

// stackblock, stackblock_size, guardsize of glibc's struct pthread (nptl/descr.h), one after the other since 2004:
// start and size of the memory at whose upper end the block lies. The guard is a part of it, and 0 for memory that the
// program itself gave.
static inline int libc_block_glibc(const uint64_t *words, size_t count, uint64_t thread_pointer,
				   struct stack_range *ret)
{
	uint64_t start, size, guard;

	if (count < 2)
		return 0;
	start = words[0], size = words[1], guard = count > 2 ? words[2] : 0;
	if (!libc_block_may_be_stack(start, size) || start >= thread_pointer || start + size <= thread_pointer ||
	    start + size - thread_pointer > HS_ABOVE_STACK_MAX)
		return 0;
	if (guard % HS_PAGE_SIZE != 0 || guard >= thread_pointer - start)
		return 0;
	*ret = (struct stack_range){ start + guard, thread_pointer };
	return 1;
}

// map_base, map_size, stack (its end), stack_size, guard_size of musl's struct pthread (src/internal/pthread_impl.h).
// map_base and guard_size are 0 for memory that the program gave, where that had room for the block; where it had not,
// only the block is in the mapped memory. The stack's size is counted without the guard.
static inline int libc_block_musl(const uint64_t *words, size_t count, uint64_t thread_pointer, struct stack_range *ret)
{
	uint64_t start, mapped, end, size, guard;
	int is_mapped, is_given;

	if (count < 4)
		return 0;
	start = words[0], mapped = words[1], end = words[2], size = words[3], guard = count > 4 ? words[4] : 0;
	is_mapped = start && !((start | mapped | guard) & (HS_PAGE_SIZE - 1)) && start < thread_pointer &&
		    thread_pointer - start < mapped;
	is_given = !start && mapped >= size && mapped - size <= HS_ABOVE_STACK_MAX && end <= thread_pointer &&
		   thread_pointer - end <= HS_ABOVE_STACK_MAX;
	if ((!is_mapped && !is_given) || size > end || !libc_block_may_be_stack(end - size, size))
		return 0;
	// Memory of its own has guard and stack below the block; a given stack is elsewhere.
	if (is_mapped && end > start && end <= thread_pointer && (guard >= end - start || end - size < start + guard))
		return 0;
	*ret = (struct stack_range){ end - size, end };
	return 1;
}

#endif
