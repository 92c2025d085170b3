// SPDX-License-Identifier: Apache-2.0
// Which pages of a stack are free for a signal frame, how far [stack] may grow, and whose stack a libc's control block
// names.
#include "attach/arch/sigframe.h"
#include "attach/ptrace/frame_room.h"
#include "attach/ptrace/libc_stack.h"
#include "check.h"
#include "held_process.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOW  UINT64_C(0x7f0000000000)
#define PAGE UINT64_C(4096)

// '.' never used, '0' all zero, '#' used, '|' guard; the lowest page first.
static struct frame_room choose(const char *text, bool needs_gap)
{
	enum stack_page pages[128];
	size_t count = strlen(text);

	for (size_t i = 0; i < count; i++)
		pages[i] = text[i] == '.'   ? STACK_PAGE_NEVER_USED
			   : text[i] == '0' ? STACK_PAGE_ZERO
			   : text[i] == '|' ? STACK_PAGE_GUARD
					    : STACK_PAGE_USED;
	return frame_room_choose(pages, count, LOW, needs_gap);
}

static void test_choose(void)
{
	static const struct {
		const char *pages;
		bool needs_gap;
		unsigned low, top; // half pages from LOW; 0 and 0 = none
	} cases[] = {
		{ "", false, 0, 0 },         { "####", false, 0, 0 },
		{ "#...", false, 0, 0 },     // what is above something in use may be in use
		{ "....####", false, 0, 4 }, // half of it is distance
		{ "....#..#", false, 0, 4 }, { "0000####", false, 0, 4 }, // zeros below a stack pointer are free
		{ "0000####", true, 0, 0 }, // and may be an array where no stack pointer is known
		{ "..00####", true, 0, 1 }, // the page below them is left as the gap
		{ "00.0####", true, 0, 2 }, // zeros below a page that was never there are no array
		{ "....####", true, 0, 3 },  { ".0..", true, 0, 3 },
		{ "|...####", false, 2, 5 }, // a guard at the lower end
		{ ".|..####", false, 4, 6 }, { "...|####", false, 0, 0 },
		{ "...|####", true, 0, 0 },  { "..|0####", true, 0, 0 },
		{ ".", true, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_room room = choose(cases[i].pages, cases[i].needs_gap);

		if (cases[i].top == 0) {
			CHECK_EQUAL(room.top, 0);
			continue;
		}
		CHECK_EQUAL(room.low - LOW, cases[i].low * PAGE / 2);
		CHECK_EQUAL(room.top - LOW, cases[i].top * PAGE / 2);
	}
	// In a large one, 64 KiB.
	CHECK_EQUAL(choose("................................................................", false).top,
		    LOW + 48 * PAGE);
}

static void test_growth(void)
{
	static const char text[] = "7ff000000000-7ffc00000000 rw-p 00000000 00:00 0 \n"
				   "7ffc00800000-7ffc00900000 rw-p 00000000 00:00 0 [stack]\n";
	struct proc_maps maps;

	if (proc_maps_parse(text, sizeof(text) - 1, &maps))
		exit(1);
	// The limit counts from the upper end; the mapping below keeps 256 pages of distance.
	CHECK_EQUAL(frame_room_lowest(&maps, &maps.items[1], 0x200000), 0x7ffc00700000);
	CHECK_EQUAL(frame_room_lowest(&maps, &maps.items[1], 0x200001), 0x7ffc00700000);
	CHECK_EQUAL(frame_room_lowest(&maps, &maps.items[1], UINT64_MAX), 0x7ffc00100000);
	CHECK_EQUAL(frame_room_lowest(&maps, &maps.items[1], 0x10000), 0x7ffc00800000);
	CHECK_EQUAL(frame_room_lowest(&maps, &maps.items[1], 0), 0x7ffc00800000);
	maps.items[1].start = 0x7ffc00080000;
	CHECK_EQUAL(frame_room_lowest(&maps, &maps.items[1], UINT64_MAX), 0x7ffc00080000);
	maps.items++; // as if nothing were below
	maps.count = 1;
	CHECK_EQUAL(frame_room_lowest(&maps, maps.items, UINT64_MAX), 0x100000);
	maps.items--;
	proc_maps_deinit(&maps);
}

// A control block that two threads have says nothing of either, wherever they stand in the list.
static void test_shared_block(void)
{
	enum { WORDS = 384, AT = 90, FIRST_TID = 0x40000001, THREADS = 3 };
	static _Alignas(4096) uint64_t block[2 * WORDS];
	const uint64_t tp = (uint64_t)block, low = (tp & ~UINT64_C(4095)) - 0x100000;
	struct target_memory memory;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	for (size_t shared = 0; shared <= THREADS; shared++)
		for (size_t asked = 0; asked < THREADS; asked++) {
			struct frozen_thread threads[THREADS] = { 0 };
			const struct frozen_process process = { .process = held_process(FIRST_TID),
								.threads = threads,
								.count = THREADS };
			struct stack_range range = { 0, 0 };
			const uint64_t words[4] = { low, tp - low + 0x1000, 4096, 4096 };
			bool is_shared = shared < THREADS && shared != asked;

			for (size_t i = 0; i < THREADS; i++) {
				threads[i].tid = FIRST_TID + (pid_t)i;
				threads[i].registers.fs_base = i == asked || i == shared ? tp : tp + 0x10000 * (i + 1);
			}
			memset(block, 0, sizeof(block));
			block[0] = block[2] = tp;
			block[20] = (uint64_t)threads[asked].tid;
			memcpy(block + AT, words, sizeof(words));
			CHECK_EQUAL(libc_stack_read(&process, &threads[asked], &memory, &range), !is_shared);
			CHECK_EQUAL(range.low, is_shared ? 0 : low + 4096);
			CHECK_EQUAL(range.high, is_shared ? 0 : tp);
		}
	target_memory_close(&memory);
}

// A frame that a killed tool has left alone in a page is taken away. With a byte of the program's in the same page, at
// any side of it, it stays, and so does that.
static void test_left_frame(void)
{
	enum { PAGES = 64, FRAME_PAGE = 20, FIRST_TID = 0x40000001 };
	static const struct extended_layout layout = { .offset = { [2] = 576 }, .size = { [2] = 256 }, .total = 832 };
	static uint8_t xstate[832];
	static struct sigframe frame;
	struct target_memory memory;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	// where the program's byte is: none, the page's first, right before, right behind, the page's last
	for (int other = -1; other <= 3; other++) {
		uint8_t *stack = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			*page = stack + FRAME_PAGE * PAGE, *byte;
		uint64_t *block = (uint64_t *)(stack + (PAGES - 2) * PAGE), tp = (uint64_t)block;
		struct frozen_thread thread = {
			.tid = FIRST_TID + 1, .registers = { .fs_base = tp, .rsp = tp - 2 * PAGE, .rbp = tp - PAGE }
		};
		const struct frozen_process process = { .process = held_process(FIRST_TID),
							.threads = &thread,
							.count = 1 };
		const uint64_t words[4] = { (uint64_t)stack, (PAGES - 1) * PAGE, PAGE, PAGE };
		const struct sigframe_request request = { .registers = &thread.registers,
							  .extended = xstate,
							  .extended_size = sizeof(xstate),
							  .layout = &layout,
							  .top = (uint64_t)page + PAGE - 300,
							  .restorer = 0x401000 };
		struct frame_room room;
		struct proc_maps maps;
		uint8_t *low, *high;
		size_t left = 0;

		CHECK(sigframe_build(&request, &frame) == NULL);
		memcpy((void *)(uintptr_t)frame.address, frame.bytes, frame.size);
		low = (uint8_t *)(uintptr_t)frame.address - HS_SIGFRAME_WORDS_BELOW;
		high = (uint8_t *)(uintptr_t)frame.address + frame.size;
		CHECK(low > page && high < page + PAGE);
		byte = other == 0 ? page : other == 1 ? low - 1 : other == 2 ? high : page + PAGE - 1;
		if (other >= 0)
			*byte = 1;
		block[0] = block[2] = tp;
		block[20] = FIRST_TID + 1;
		memcpy(block + 90, words, sizeof(words));
		CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
		struct frame_search search = { .frozen = &process, .maps = &maps, .memory = &memory, .size = PAGE };

		hs_error_destroy(frame_room_on_own_stack(&search, &thread, &room));
		frame_search_deinit(&search);
		for (size_t i = 0; i < PAGE; i++)
			left += page[i] != 0;
		CHECK_EQUAL(left > 1, other >= 0); // the frame is there
		CHECK_EQUAL(memcmp((void *)(uintptr_t)frame.address, frame.bytes, frame.size) == 0, other >= 0);
		CHECK(other < 0 || *byte == 1);
		CHECK(room.top <= (uint64_t)page || other < 0); // no room is seen above what is in use
		proc_maps_deinit(&maps);
		munmap(stack, PAGES * PAGE);
	}
	target_memory_close(&memory);
}

static uint64_t signal_mask;

struct hs_error *__wrap_ptrace_get_signal_mask(pid_t tid, uint64_t *ret);

struct hs_error *__wrap_ptrace_get_signal_mask(pid_t tid, uint64_t *ret)
{
	(void)tid;
	*ret = signal_mask;
	return NULL;
}

// Zeros that were given, from a stack's lower end up to the stack pointer, are room where all that is in use is seen to
// lie above that, and nowhere else. Below a page that was never given there is room in any case.
// Longer than 60 lines: a table of cases.
static void test_zeros(void)
{
	enum { PAGES = 1024, ZEROS = 40, FIRST_TID = 0x40000001, NEVER_GIVEN = 8 };
	enum how {
		NO_FRAME,
		LEADS_UP,
		LEADS_DOWN,
		LEADS_DOWN_RETURNING,
		LEADS_TO_THE_SAME,
		LEADS_ELSEWHERE,
		LEADS_DOWN_AT_THE_END,
		TOO_MUCH_TO_SEARCH,
		FEWER_THAN_TOO_MUCH,
		BLOCKS,
		BLOCKS_GLIBC,
		BLOCKS_MUSL,
		STANDS_ELSEWHERE
	};
	static const struct {
		enum how how;
		bool is_room;
	} cases[] = {
		{ NO_FRAME, true },
		{ LEADS_UP, true },
		{ LEADS_DOWN, false },
		{ LEADS_DOWN_RETURNING, false },
		{ LEADS_TO_THE_SAME, true },
		{ LEADS_ELSEWHERE, true },
		{ LEADS_DOWN_AT_THE_END, false },
		{ TOO_MUCH_TO_SEARCH, false },
		{ FEWER_THAN_TOO_MUCH, true },
		{ BLOCKS, false },
		{ BLOCKS_GLIBC, false },
		{ BLOCKS_MUSL, false },
		{ STANDS_ELSEWHERE, false },
	};
	struct target_memory memory;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const bool has_gap = i % 2;
		const enum how how = cases[i / 2].how;
		uint8_t *stack = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		// As much as is searched, from the page of the stack pointer up, the control block's page included; and
		// a page more.
		const size_t above = how == TOO_MUCH_TO_SEARCH    ? FRAME_ROOM_SEARCHED / PAGE + 1
				     : how == FEWER_THAN_TOO_MUCH ? FRAME_ROOM_SEARCHED / PAGE
								  : 20;
		uint8_t *sp = stack + ZEROS * PAGE + 256, *high = stack + (ZEROS + above - 1) * PAGE + 512,
			*frame = sp + 4096 + 8;
		uint64_t *block = (uint64_t *)high, rsp = 0;
		const uint64_t words[4] = { (uint64_t)stack, (ZEROS + above) * PAGE, 0, PAGE };
		struct frozen_thread thread = { .tid = FIRST_TID + 1,
						.registers = { .fs_base = (uint64_t)block, .rsp = (uint64_t)sp } };
		const struct frozen_process process = { .process = held_process(FIRST_TID),
							.threads = &thread,
							.count = 1 };
		struct frame_room room;
		struct proc_maps maps;
		struct hs_error *error;

		madvise(stack, PAGES * PAGE, 15); // MADV_NOHUGEPAGE: pages are given one by one
		for (size_t page = has_gap ? NEVER_GIVEN : 0; page < ZEROS + above; page++)
			*(volatile uint8_t *)(stack + page * PAGE) = 0;
		if (how == LEADS_UP)
			rsp = (uint64_t)frame + 2000;
		else if (how == LEADS_TO_THE_SAME)
			rsp = (uint64_t)sp;
		else if (how == LEADS_ELSEWHERE)
			rsp = (uint64_t)stack - 8;
		else if (how == LEADS_DOWN_RETURNING) // it has taken the restorer from the stack
			frame = sp - 8;
		else if (how == LEADS_DOWN_AT_THE_END)
			frame = high - HS_SIGFRAME_HEAD_SIZE;
		if (how == LEADS_DOWN || how == LEADS_DOWN_RETURNING || how == LEADS_DOWN_AT_THE_END)
			rsp = (uint64_t)stack + 20 * PAGE;
		if (rsp) {
			const uint16_t cs = 0x33;

			memcpy(frame + HS_SIGFRAME_PC_OFFSET - 8, &rsp, sizeof(rsp));
			memcpy(frame + HS_SIGFRAME_PC_OFFSET + 16, &cs, sizeof(cs));
		}
		if (how == STANDS_ELSEWHERE)
			thread.registers.rsp = (uint64_t)high + 64;
		signal_mask = how == BLOCKS         ? UINT64_MAX
			      : how == BLOCKS_GLIBC ? UINT64_C(0xfffffffe7fffffff)
			      : how == BLOCKS_MUSL  ? UINT64_C(0xfffffffc7fffffff)
						    : 0;
		block[0] = block[2] = (uint64_t)block;
		block[20] = FIRST_TID + 1;
		memcpy(block + 30, words, sizeof(words));
		CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
		struct frame_search search = { .frozen = &process, .maps = &maps, .memory = &memory, .size = 2 * PAGE };

		error = frame_room_on_own_stack(&search, &thread, &room);
		CHECK_EQUAL(error == NULL, has_gap || cases[i / 2].is_room);
		CHECK(error == NULL || error->code == HS_ERROR_REFUSED); // another moment may do
		if (has_gap)
			CHECK(room.low == (uint64_t)stack && room.top > room.low &&
			      room.top < (uint64_t)(stack + NEVER_GIVEN * PAGE));
		else if (!error)
			CHECK(room.low == (uint64_t)stack && room.top > room.low && room.top < (uint64_t)sp - 128);
		hs_error_destroy(error);
		frame_search_deinit(&search);
		proc_maps_deinit(&maps);
		munmap(stack, PAGES * PAGE);
	}
	signal_mask = UINT64_MAX;
	target_memory_close(&memory);
}

int main(void)
{
	signal_mask = UINT64_MAX;
	test_zeros();
	test_left_frame();
	test_shared_block();
	test_choose();
	test_growth();
	return CHECK_RESULT();
}
