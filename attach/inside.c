// SPDX-License-Identifier: Apache-2.0
#include "attach/inside.h"

#include "base/cleanup.h"
#include "base/log.h"

#include <libunwind-ptrace.h>

// A hook's frames down to its call of the original fit in this.
enum { FRAMES_MAX = 4096, CHUNK = 65536, HOOK_FRAMES_SIZE = 1024 };

static bool in_ranges(uint64_t address, const struct region_part *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (address >= ranges[i].offset && address - ranges[i].offset < ranges[i].size)
			return true;
	return false;
}

// Whether a word of [start, end) points into the ranges.
static struct hs_error *words_point_inside(uint64_t start, uint64_t end, const struct target_memory *memory,
					   const struct region_part *ranges, size_t range_count, bool *ret)
{
	HS_CLEANUP_FREE uint64_t *words = malloc(CHUNK);

	*ret = false;
	if (!words)
		return &hs_error_no_memory;
	while (start < end) {
		size_t size = end - start < CHUNK ? end - start : CHUNK;
		struct hs_error *error = target_memory_read(memory, start, words, size);

		if (error)
			return error;
		for (size_t i = 0; i < size / sizeof(*words); i++) {
			if (in_ranges(words[i], ranges, range_count)) {
				*ret = true;
				return NULL;
			}
		}
		start += size;
	}
	return NULL;
}

static bool is_code(const struct proc_maps *maps, uint64_t pc)
{
	const struct proc_map *map = proc_maps_find(maps, pc);

	return map && map->executable;
}

// Walks the thread. *complete_ret: the walk ended where stacks end, having met nothing but code, so what it did not meet is not live.
// pre: the thread's registers are its own (no remote call is open in it), because libunwind reads those of the stopped thread.
static bool walk_meets(pid_t tid, const struct proc_maps *maps, const struct region_part *ranges, size_t range_count,
		       bool *complete_ret)
{
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
	void *context = space ? _UPT_create(tid) : NULL;
	unw_cursor_t cursor;
	bool met = false;

	*complete_ret = false;
	if (context && unw_init_remote(&cursor, space, context) == 0) {
		for (unsigned i = 0; i < FRAMES_MAX; i++) {
			unw_word_t pc;
			int step;

			if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0)
				break;
			if (in_ranges(pc, ranges, range_count)) {
				met = true;
				break;
			}
			if (!is_code(maps, pc))
				break;
			step = unw_step(&cursor);
			if (step == 0)
				*complete_ret = true;
			if (step <= 0)
				break;
		}
	}
	if (context)
		_UPT_destroy(context);
	if (space)
		unw_destroy_addr_space(space);
	return met;
}

struct hs_error *inside_check(const struct frozen_thread *thread, uint64_t guard, const struct proc_maps *maps,
			      const struct target_memory *memory, const struct region_part *ranges, size_t range_count, bool *inside_ret)
{
	uint64_t sp = thread->registers.rsp & ~UINT64_C(7);
	const struct proc_map *stack = proc_maps_find(maps, sp);
	const struct proc_map *guard_map = guard % 8 == 0 ? proc_maps_find(maps, guard) : NULL;
	struct hs_error *error = NULL;
	bool points = false, complete, runs;

	*inside_ret = true;
	if (in_ranges(thread->registers.rip, ranges, range_count))
		return NULL;
	if (guard_map && guard_map != stack && guard_map->readable && guard - guard_map->start >= HOOK_FRAMES_SIZE)
		error = words_point_inside(guard - HOOK_FRAMES_SIZE, guard, memory, ranges, range_count, &points);
	if (error || points)
		return error;
	// The red zone below the stack pointer holds no return address.
	if (stack)
		error = words_point_inside(sp, stack->end, memory, ranges, range_count, &points);
	if (error)
		return error;
	// The hook itself says that it runs: a second opinion, for the walk may err. (Left over after a longjmp out of a hook, it delays
	// the end of the detach until the thread has returned from where it is.)
	runs = stack && guard > sp && guard < stack->end;
	*inside_ret = points && (runs || walk_meets(thread->tid, maps, ranges, range_count, &complete) || !complete);
	if (points)
		hs_verbose("thread %d has words on its stack that point into the payload: %s", thread->tid,
			   *inside_ret ? "inside" : "left over");
	return NULL;
}
