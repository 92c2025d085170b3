// SPDX-License-Identifier: Apache-2.0
// Where the reading of a stack ends, on this process's own memory, with and without what pagemap tells.
#include "attach/ptrace/stack_reader.h"
#include "check.h"
#include "error_check.h"
#include "held_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4, GUARD_INSTALL = 102 };

static void test_spans(void)
{
	static const char text[] = "1000-9000 rw-p 00000000 00:00 0 \n"
				   "20000-28000 ---p 00000000 00:00 0 \n"
				   "30000-38000 rw-p 00000000 00:00 0 [stack]\n";
	const struct {
		uint64_t sp, control_block, low, high;
		bool is_proven;
	} cases[] = {
		{ 0x2008, 0x8000, 0x2008, 0x8000, true },    // a thread of the C library: its block is at the end
		{ 0x200c, 0x8004, 0x2008, 0x8000, true },    // whole words
		{ 0x2008, 0x1800, 0x2008, 0x9000, false },   // the block lies below: another stack
		{ 0x2008, 0x30000, 0x2008, 0x9000, false },  // elsewhere
		{ 0x31000, 0x2000, 0x31000, 0x38000, true }, // the main thread
		{ 0x21000, 0, 0x21000, 0x21000, false },     // cannot be read
		{ 0x10000, 0, 0x10000, 0x10000, false },     // nothing is there
	};
	struct proc_maps maps;

	must(proc_maps_parse(text, sizeof(text) - 1, &maps));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct user_regs_struct registers = { .rsp = cases[i].sp, .fs_base = cases[i].control_block };
		struct stack_span span = stack_span_of(&registers, &maps);

		CHECK_EQUAL(span.low, cases[i].low);
		CHECK_EQUAL(span.high, cases[i].high);
		CHECK_EQUAL(span.is_proven, cases[i].is_proven);
	}
	proc_maps_deinit(&maps);
}

// Pages: written, never written, written, and the last one as `guard` makes it.
static void test_end(struct target_memory memory, bool with_pagemap, bool shared, int guard)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	bool is_known, stops_early = shared && with_pagemap;
	char *copy = malloc(PAGES * PAGE);
	struct proc_maps maps;
	struct stack_reader reader = { &memory, &maps };
	size_t size;

	memset(pages, 1, PAGE);
	memset(pages + 2 * PAGE, 3, 2 * PAGE);
	if (guard == GUARD_INSTALL && madvise(pages + 3 * PAGE, PAGE, GUARD_INSTALL) != 0) {
		CHECK_LEFT_OUT("this kernel has no MADV_GUARD_INSTALL");
		guard = 0;
	}
	must(proc_maps_read(held_process(getpid()), &maps));
	CHECK(memory.pagemap >= 0);
	if (!with_pagemap)
		memory.pagemap = -1;
	must(stack_reader_copy(&reader, (uint64_t)pages + 8, copy, PAGES * PAGE - 8, &size, &is_known));
	CHECK_EQUAL(size, (size_t)(stops_early ? PAGE : guard ? 3 * PAGE : 4 * PAGE) - 8);
	CHECK_EQUAL(is_known, !stops_early);
	CHECK_EQUAL(copy[0], 1);
	CHECK_EQUAL(copy[PAGE - 9], 1);
	if (!stops_early) {
		CHECK_EQUAL(copy[PAGE - 8], 0);
		CHECK_EQUAL(copy[2 * PAGE - 8], 3);
		CHECK_EQUAL(copy[3 * PAGE - 9], 3);
	}
	proc_maps_deinit(&maps);
	free(copy);
	munmap(pages, PAGES * PAGE);
}

// The last page of a mapping was never written; behind it is nothing, or pages that nobody may read. pagemap says the
// same of all of them.
static void test_end_of_mapping(const struct target_memory *memory, bool unmapped)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *copy = malloc(PAGES * PAGE);
	struct proc_maps maps;
	struct stack_reader reader = { memory, &maps };
	bool is_known;
	size_t size;

	pages[0] = 1;
	if (unmapped)
		munmap(pages + 2 * PAGE, 2 * PAGE);
	else
		mprotect(pages + 2 * PAGE, 2 * PAGE, PROT_NONE);
	must(proc_maps_read(held_process(getpid()), &maps));
	for (int from = 0; from < 2; from++) {
		must(stack_reader_copy(&reader, (uint64_t)pages + (uint64_t)from * PAGE, copy,
				       (size_t)(PAGES - from) * PAGE, &size, &is_known));
		CHECK_EQUAL(size, (2 - from) * PAGE);
		CHECK(is_known);
	}
	proc_maps_deinit(&maps);
	free(copy);
	munmap(pages, (size_t)(unmapped ? 2 : PAGES) * PAGE);
}

int main(void)
{
	struct target_memory memory;

	test_spans();
	must(target_memory_open(held_process(getpid()), &memory));
	for (int with_pagemap = 0; with_pagemap < 2; with_pagemap++) {
		for (int shared = 0; shared < 2; shared++)
			test_end(memory, with_pagemap, shared, 0);
		test_end(memory, with_pagemap, false, GUARD_INSTALL);
	}
	test_end_of_mapping(&memory, true);
	test_end_of_mapping(&memory, false);
	target_memory_close(&memory);
	return CHECK_RESULT();
}
