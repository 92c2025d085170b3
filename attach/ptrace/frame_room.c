// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/frame_room.h"

#include "attach/arch/addresses.h"
#include "attach/arch/sigframe.h"
#include "attach/guard/interrupt.h"
#include "attach/ptrace/carrier_thread.h"
#include "attach/ptrace/libc_stack.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/pagemap.h"
#include "base/proc_status.h"
#include "base/process.h"
#include "inject/abi/limits.h"
#include "inject/abi/page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// How far below what is in use a frame lies, where there is room: if the tool is killed, the stack's owner runs on
// while the frame is still to be read, for some microseconds, or until the carrier gets a processor.
#define DISTANCE UINT64_C(65536)
// How much of a stack is looked at, from its lower end.
enum { PAGES_MAX = 64 };
// How many frames of killed tools are taken away at most; mostly there is one.
enum { LEFT_FRAMES_MAX = 8 };
// The kernel keeps so much free between a stack that grows and the mapping below (stack_guard_gap in mm/mmap.c, the
// default).
#define GROWTH_GAP (UINT64_C(256) * HS_PAGE_SIZE)

struct frame_room frame_room_choose(const enum stack_page *pages, size_t count, uint64_t low, bool needs_gap)
{
	size_t begin = 0, end = 0;
	uint64_t top, distance;

	for (; end < count && pages[end] != STACK_PAGE_USED; end++)
		if (pages[end] == STACK_PAGE_GUARD)
			begin = end + 1;
	while (needs_gap && end > begin && pages[end - 1] == STACK_PAGE_ZERO)
		end--;
	if (end <= begin)
		return (struct frame_room){ 0, 0 };
	low += begin * HS_PAGE_SIZE;
	top = low + (end - begin - needs_gap) * HS_PAGE_SIZE;
	distance = (top - low) / 2;
	return top > low ? (struct frame_room){ low, top - (distance < DISTANCE ? distance : DISTANCE) }
			 : (struct frame_room){ 0, 0 };
}

uint64_t frame_room_lowest(const struct proc_maps *maps, const struct proc_map *stack, uint64_t stack_limit)
{
	uint64_t below = stack > maps->items ? stack[-1].end : 0, lowest = below + GROWTH_GAP;

	if (stack_limit < stack->end && stack->end - stack_limit > lowest)
		lowest = stack->end - stack_limit;
	lowest = page_up(lowest);
	return lowest < stack->start ? lowest : stack->start;
}

static bool is_private_memory(const struct proc_map *map)
{
	return map->readable && map->writable && !map->shared && map->inode == 0;
}

// Whether all of [low, high) is private memory.
static bool is_all_private(const struct proc_maps *maps, uint64_t low, uint64_t high)
{
	const struct proc_map *map = proc_maps_find(maps, low), *end = maps->items + maps->count;

	while (map && map < end && map->start <= low && is_private_memory(map)) {
		if (map->end >= high)
			return true;
		low = map->end;
		map++;
	}
	return false;
}

static const struct frozen_thread *main_thread(const struct frozen_process *frozen)
{
	for (size_t i = 0; i < frozen->count; i++) {
		if (frozen->threads[i].tid == frozen->process->pid)
			return &frozen->threads[i];
	}
	return NULL;
}

static const struct proc_map *find_main_stack(const struct proc_maps *maps)
{
	for (size_t i = maps->count; i-- > 0;) {
		if (strcmp(maps->items[i].name, "[stack]") == 0 && is_private_memory(&maps->items[i]))
			return &maps->items[i];
	}
	return NULL;
}

// SIGKILL and SIGSTOP cannot be blocked. glibc keeps 32 and 33 for itself, musl 32 to 34, and their sigfillset leaves
// these out. A thread that cannot be asked counts as blocking all.
static bool blocks_every_signal(const struct frozen_thread *thread)
{
	const uint64_t never_blocked = UINT64_C(1) << (9 - 1) | UINT64_C(1) << (19 - 1) | UINT64_C(7) << (32 - 1);

	uint64_t mask;
	struct hs_error *error = ptrace_get_signal_mask(thread->tid, &mask);

	if (error) {
		hs_error_destroy(error);
		return true;
	}
	return (mask | never_blocked) == UINT64_MAX;
}

static bool stands_in(const struct frozen_thread *thread, uint64_t low, uint64_t high)
{
	return registers_sp(&thread->registers) > low && registers_sp(&thread->registers) <= high;
}

// What is in use in any case: from the lowest stack pointer in the range on, whosever it is.
static uint64_t lowest_stack_pointer(const struct frozen_process *frozen, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < frozen->count; i++) {
		if (stands_in(&frozen->threads[i], low, high))
			high = registers_sp(&frozen->threads[i].registers);
	}
	return high - low > ARCH_RED_ZONE ? high - ARCH_RED_ZONE : low;
}

static enum stack_page look_at_page(const struct target_memory *memory, uint64_t entry, uint64_t address)
{
	static const uint8_t zeros[HS_PAGE_SIZE];
	uint8_t bytes[HS_PAGE_SIZE];
	struct hs_error *error;

	if (entry & PAGEMAP_GUARD)
		return STACK_PAGE_GUARD;
	if (entry & PAGEMAP_SWAPPED) // to look at it would be to wait for it
		return STACK_PAGE_USED;
	if (!(entry & PAGEMAP_PRESENT))
		return STACK_PAGE_NEVER_USED;
	error = target_memory_read(memory, address, bytes, sizeof(bytes));
	if (error) {
		hs_error_destroy(error);
		return STACK_PAGE_GUARD;
	}
	return memcmp(bytes, zeros, sizeof(zeros)) == 0 ? STACK_PAGE_ZERO : STACK_PAGE_USED;
}

// The entries of the pagemap for `count` pages from `address` on. *is_known_ret: false, a kernel without it.
static struct hs_error *read_pagemap(const struct target_memory *memory, uint64_t address, uint64_t *entries,
				     size_t count, bool *is_known_ret)
{
	*is_known_ret = memory->pagemap >= 0;
	return memory->pagemap >= 0 && count > 0 ? hs_pread_exact(memory->pagemap, entries, count * sizeof(*entries),
								  address / HS_PAGE_SIZE * sizeof(*entries))
						 : NULL;
}

// The pages of [low, high), at most PAGES_MAX, up to the first that is in use. Those below `start` are not there yet.
static struct hs_error *look_at_pages(const struct target_memory *memory, uint64_t low, uint64_t start, uint64_t high,
				      enum stack_page pages[PAGES_MAX], size_t *count_ret)
{
	uint64_t entries[PAGES_MAX] = { 0 };
	size_t count = (size_t)((high - low) / HS_PAGE_SIZE), there;
	struct hs_error *error;
	bool is_known;

	count = count < PAGES_MAX ? count : PAGES_MAX;
	there = (size_t)((start - low) / HS_PAGE_SIZE);
	there = there < count ? there : count;
	error = read_pagemap(memory, start, entries + there, count - there, &is_known);
	*count_ret = 0;
	for (size_t i = 0; i < count && !error; i++) {
		if (!is_known && i >= there) // nothing tells an array of zeros from what was never used
			pages[i] = STACK_PAGE_USED;
		else
			pages[i] = look_at_page(memory, entries[i], low + i * HS_PAGE_SIZE);
		*count_ret = i + 1;
		if (pages[i] == STACK_PAGE_USED)
			break;
	}
	return error;
}

// A stack: its owner (NULL: it has ended); the lowest address that it may ever have, where it begins now, and its end;
// and what is in use in any case.
struct stack {
	const struct frozen_thread *owner;
	uint64_t lowest, start, end, in_use;
};

// Reads what is there of [address, address + size), both whole pages; the rest of `bytes` stays as it is. False:
// something cannot be looked at, or not at once.
static bool read_present(const struct target_memory *memory, uint64_t address, uint8_t *bytes, size_t size)
{
	enum { PAGES = FRAME_ROOM_SEARCHED / HS_PAGE_SIZE + 1 };
	const size_t count = size / HS_PAGE_SIZE;
	uint64_t entries[PAGES] = { 0 };
	struct hs_error *error;
	bool is_known;

	error = read_pagemap(memory, address, entries, count, &is_known);
	for (size_t i = 0, end; i < count && is_known && !error; i = end) {
		end = i + 1;
		if (entries[i] & (PAGEMAP_SWAPPED | PAGEMAP_GUARD))
			is_known = false;
		if (!(entries[i] & PAGEMAP_PRESENT))
			continue; // in private memory: all zero
		while (end < count && entries[end] & PAGEMAP_PRESENT)
			end++;
		error = target_memory_read(memory, address + i * HS_PAGE_SIZE, bytes + i * HS_PAGE_SIZE,
					   (end - i) * HS_PAGE_SIZE);
	}
	is_known = is_known && !error;
	hs_error_destroy(error);
	return is_known;
}

// Whether a handler may return to a part of the stack that lies below every stack pointer. What cannot be looked at may
// hold its frame.
static bool may_return_below(const struct target_memory *memory, const struct stack *stack)
{
	uint64_t from = page_of(stack->in_use > stack->start ? stack->in_use : stack->start), end = page_up(stack->end);
	HS_CLEANUP_FREE uint8_t *bytes = NULL;

	if (end - from > FRAME_ROOM_SEARCHED)
		return true;
	bytes = calloc(1, (size_t)(end - from));
	return !bytes || !read_present(memory, from, bytes, (size_t)(end - from)) ||
	       sigframe_returns_to(bytes, (size_t)(end - from), stack->lowest, stack->in_use + ARCH_RED_ZONE);
}

// Whether all that is in use of a stack lies above the lowest stack pointer in it.
static bool is_used_above_only(const struct target_memory *memory, const struct stack *stack)
{
	return stack->owner && stands_in(stack->owner, stack->lowest, stack->end) &&
	       !blocks_every_signal(stack->owner) && !may_return_below(memory, stack);
}

// Where [stack] may grow to, by the target's own limits.
static struct hs_error *find_lowest(const struct process *process, const struct proc_maps *maps,
				    const struct proc_map *stack, uint64_t *ret)
{
	const uint64_t growth = PAGES_MAX * HS_PAGE_SIZE;
	HS_CLEANUP_FREE char *limits = NULL;
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_file(process, "limits", &limits, NULL);
	uint64_t locked, size;

	if (!error)
		error = process_read_live_file(process, "status", &status, NULL);
	if (error)
		return error;
	size = proc_status_number(status, "VmSize:", 10, 0) * 1024;
	locked = proc_status_number(status, "VmLck:", 10, 0) * 1024;
	*ret = stack->start;
	if (size + growth <= proc_limits_soft(limits, "Max address space") &&
	    (!locked || locked + growth <= proc_limits_soft(limits, "Max locked memory")))
		*ret = frame_room_lowest(maps, stack, proc_limits_soft(limits, "Max stack size"));
	return NULL;
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

// The state that a frame brings back may lead to a second one, of a tool killed before: so no frame goes while some
// thread needs any.
static struct hs_error *ask_who_returns(struct frame_search *search)
{
	const struct frozen_process *frozen = search->frozen;
	struct hs_error *error = NULL;

	for (size_t i = 0; i < frozen->count && !search->knows_who_returns && !search->any_returns && !error; i++) {
		error = interrupt_check();
		search->any_returns = !error && carrier_is_on_its_way(&frozen->threads[i], search->memory);
	}
	search->knows_who_returns = !error;
	return error;
}

// The lowest page in use may be so by nothing but a frame that a killed tool has left, and every thread is home. Then
// that is taken away, which would else stand in the way of the next, and those of many killed tools would use up the
// stack.
static struct hs_error *clear_left_frame(struct frame_search *search, uint64_t page, uint64_t high, bool *cleared_ret)
{
	const struct target_memory *memory = search->memory;
	static const uint8_t zeros[HS_SIGFRAME_MAX + HS_SIGFRAME_WORDS_BELOW];
	uint8_t bytes[HS_SIGFRAME_MAX + 2 * HS_PAGE_SIZE] = { 0 };
	size_t size = high - page < sizeof(bytes) ? (size_t)(high - page) : sizeof(bytes), begin, end, rest;
	struct hs_error *error = NULL;

	_Static_assert(sizeof(bytes) % HS_PAGE_SIZE == 0, "whole pages, as `page` and `high` are");
	*cleared_ret = false;
	// Above the frame the stack may never have been used; some kernels give it each page that is read.
	if (!read_present(memory, page, bytes, size))
		error = target_memory_read(memory, page, bytes, size);
	if (!error && sigframe_find(bytes, size, page, &begin, &end) && end - begin <= sizeof(zeros)) {
		rest = (size_t)(page_up(end) - end);
		rest = rest < size - end ? rest : size - end;
		if (!all_zero(bytes, begin) || !all_zero(bytes + end, rest))
			return NULL;
		error = ask_who_returns(search);
		if (error || search->any_returns)
			return error;
		error = target_memory_write(memory, page + begin, zeros, end - begin, 0);
		*cleared_ret = !error;
	}
	hs_error_destroy(error);
	return NULL;
}

// The lower end of a stack, from `low` up to what is in use in any case: rooms that there are with the gap, and
// without.
struct part {
	uint64_t low;
	struct frame_room with_gap, without_gap;
};

static struct hs_error *look_at_part(struct frame_search *search, const struct stack *stack, struct part *part)
{
	uint64_t low = page_up(part->low), high = page_of(stack->in_use);
	enum stack_page pages[PAGES_MAX];
	struct hs_error *error = NULL;
	bool cleared = true;
	size_t count;

	part->with_gap = part->without_gap = (struct frame_room){ 0, 0 };
	if (high <= low)
		return NULL;
	for (int i = 0; i < LEFT_FRAMES_MAX && cleared && !error; i++) {
		cleared = false;
		error = interrupt_check();
		if (!error)
			error = look_at_pages(search->memory, low, stack->start > low ? stack->start : low, high, pages,
					      &count);
		if (!error && count > 0 && pages[count - 1] == STACK_PAGE_USED)
			error = clear_left_frame(search, low + (count - 1) * HS_PAGE_SIZE, high, &cleared);
	}
	if (error)
		return error;
	part->with_gap = frame_room_choose(pages, count, low, true);
	part->without_gap = frame_room_choose(pages, count, low, false);
	return NULL;
}

static uint64_t size_of(const struct frame_room *room) { return room->top - room->low; }

static struct hs_error *too_small(const struct frame_search *search, const char *whose, uint64_t proven,
				  uint64_t at_best)
{
	// A frame that some thread returns through goes when it is home.
	bool for_good = at_best < search->size && !search->any_returns;

	return hs_error_create(for_good ? HS_ERROR_REFUSED_FOR_GOOD : HS_ERROR_REFUSED,
			       "only %" PRIu64 " bytes of %s are proven unused; %" PRIu64 " are needed", proven, whose,
			       search->size);
}

// The first part that has room: with the gap; or without it, where that is enough.
static struct hs_error *choose_in(struct frame_search *search, const struct stack *stack, const char *whose,
				  struct part *parts, size_t count, struct frame_room *ret)
{
	uint64_t proven = 0, at_best = 0;
	bool is_known = false, is_enough = false; // of the stack: asked once, if it comes to that

	for (size_t i = 0; i < count; i++) {
		struct part *part = &parts[i];
		struct hs_error *error = look_at_part(search, stack, part);

		if (error)
			return error;
		if (size_of(&part->with_gap) >= search->size) {
			*ret = part->with_gap;
			return NULL;
		}
		if (size_of(&part->without_gap) >= search->size) {
			is_enough = is_known ? is_enough : is_used_above_only(search->memory, stack);
			is_known = true;
			if (is_enough) {
				*ret = part->without_gap;
				return NULL;
			}
		}
		proven = size_of(&part->with_gap) > proven ? size_of(&part->with_gap) : proven;
		at_best = size_of(&part->without_gap) > at_best ? size_of(&part->without_gap) : at_best;
	}
	return too_small(search, whose, proven, at_best);
}

static struct hs_error *find_on_main_stack(struct frame_search *search, struct frame_room *ret)
{
	const struct frozen_process *frozen = search->frozen;
	const struct proc_map *map = find_main_stack(search->maps);
	uint64_t lowest, growing, in_use;
	struct hs_error *error;

	*ret = (struct frame_room){ 0, 0 };
	if (!map)
		return hs_error_create(HS_ERROR_REFUSED_FOR_GOOD, "the process has no [stack]");
	error = find_lowest(frozen->process, search->maps, map, &lowest);
	if (error)
		return error;
	// A stack pointer may be below what is there already: the owner has made room, and written nothing yet.
	in_use = lowest_stack_pointer(frozen, lowest, map->end);
	growing = in_use < map->start ? in_use : map->start;
	growing = growing - lowest > PAGES_MAX / 2 * HS_PAGE_SIZE ? growing - PAGES_MAX / 2 * HS_PAGE_SIZE : lowest;

	const struct stack stack = { main_thread(frozen), lowest, map->start, map->end, in_use };
	struct part parts[] = { { .low = map->start }, { .low = growing } };

	return choose_in(search, &stack, "the main thread's stack, as far as it may grow", parts, 2, ret);
}

struct hs_error *frame_room_on_main_stack(struct frame_search *search, struct frame_room *ret)
{
	if (!search->knows_main_stack)
		search->no_main_stack = find_on_main_stack(search, &search->main_stack);
	search->knows_main_stack = true;
	*ret = search->main_stack;
	if (!search->no_main_stack)
		return NULL;
	return hs_error_create(search->no_main_stack->code, "%s", search->no_main_stack->message);
}

bool frame_room_lacks_main_stack(const struct frame_search *search) { return search->no_main_stack != NULL; }

void frame_search_deinit(struct frame_search *search)
{
	hs_error_destroy(search->no_main_stack);
	*search = (struct frame_search){ 0 };
}

struct hs_error *frame_room_on_own_stack(struct frame_search *search, const struct frozen_thread *thread,
					 struct frame_room *ret)
{
	struct stack_range range;

	*ret = (struct frame_room){ 0, 0 };
	if (thread->tid == search->frozen->process->pid)
		return frame_room_on_main_stack(search, ret);
	if (!libc_stack_read(search->frozen, thread, search->memory, &range))
		return hs_error_create(HS_ERROR_REFUSED, "no control block of a libc names its stack");
	if (!is_all_private(search->maps, range.low, range.high))
		return hs_error_create(HS_ERROR_REFUSED, "the stack that its control block names is no private memory");

	const struct stack stack = { thread, range.low, range.low, range.high,
				     lowest_stack_pointer(search->frozen, range.low, range.high) };
	struct part part = { .low = range.low };

	return choose_in(search, &stack, "its stack", &part, 1, ret);
}

struct hs_error *frame_room_write(const struct target_memory *memory, uint64_t address, const void *data, size_t size,
				  pid_t stopped_tid)
{
	static const int resources[] = { RLIMIT_STACK, RLIMIT_AS, RLIMIT_MEMLOCK };
	enum { COUNT = sizeof(resources) / sizeof(resources[0]) };
	struct rlimit before[COUNT];
	struct hs_error *error;

	// acct_stack_growth and may_expand_vm in the kernel's mm/ look at the limits of whoever writes.
	for (int i = 0; i < COUNT; i++) {
		struct rlimit wide;

		if (getrlimit((__rlimit_resource_t)resources[i], &before[i]) != 0)
			return hs_error_system(errno, "cannot read the tool's own limits");
		wide = (struct rlimit){ before[i].rlim_max, before[i].rlim_max };
		(void)setrlimit((__rlimit_resource_t)resources[i], &wide);
	}
	error = target_memory_write(memory, address, data, size, stopped_tid);
	for (int i = 0; i < COUNT; i++)
		(void)setrlimit((__rlimit_resource_t)resources[i], &before[i]);
	return error;
}
