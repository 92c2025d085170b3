// SPDX-License-Identifier: Apache-2.0
// Functions that are watched from their start to each of their exit points: drafts made by hand, of code in this
// process's memory.
#include "check.h"
#include "held_process.h"

#include "attach/hook/hook_draft.h"
#include "attach/hook/watched_functions.h"

#include <unistd.h>

enum { WAYS = 4 };

// 53              push %rbx
// 48 83 ec 10     sub $16,%rsp
// e8 00 10 00 00  call
// 48 83 c4 10     add $16,%rsp
// 5b c3           pop %rbx; ret
// 90 90           nop; nop: a function of 16 bytes, and padding; its exit point takes 6 of its own bytes
static const _Alignas(16) uint8_t roomy[32] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0xe8, 0x00, 0x10, 0x00, 0x00,
						0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3, 0x90, 0x90, 0x90, 0x90 };
// push %rbp; mov %rsp,%rbp; call; leave; ret; nopl 0(%rax,%rax,1), to where the next function would be aligned. Its way
// out needs the padding.
static const _Alignas(16) uint8_t tight[32] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0x00, 0x10, 0x00,
						0x00, 0xc9, 0xc3, 0x0f, 0x1f, 0x44, 0x00, 0x00 };

struct made {
	struct hook_candidate candidate;
	struct module module;
	struct draft draft;
};

// `file` is what its file has; `there` what the target has.
static void make(const uint8_t *file, const uint8_t *there, size_t size, struct made *ret)
{
	*ret = (struct made){ .candidate = { .vaddr = (uint64_t)there,
					     .size = size,
					     .next = UINT64_MAX,
					     .signature.layout.flags = HS_LAYOUT_COMPANION } };
	ret->draft = (struct draft){
		.candidate = &ret->candidate,
		.module = &ret->module,
		.request = { .code = file,
			     .code_size = 32,
			     .address = (uint64_t)there,
			     .trampoline = (uint64_t)there,
			     .function_start = (uint64_t)there,
			     .function_code = file,
			     .function_size = size,
			     .jump_size = HS_JUMP_SIZE },
		.hook.record.verdict = VERDICT_unproven,
		.hook.relocation.covered = 5,
	};
}

static size_t find(struct made *made, struct draft *ways)
{
	struct target_memory memory;
	size_t count;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	count = watched_find(&made->draft, 1, &memory, ways, WAYS);
	target_memory_close(&memory);
	CHECK_EQUAL(made->draft.may_be_watched, count > 0);
	return count;
}

// Every byte of the function counts, and of what is behind it only that which the exit point takes.
static void test_changed(void)
{
	for (size_t at = 0; at < 24; at++) {
		struct draft ways[WAYS];
		struct made made;
		_Alignas(16) uint8_t there[32];

		memcpy(there, roomy, sizeof(there));
		there[at] ^= 1;
		make(roomy, there, 16, &made);
		CHECK_EQUAL(find(&made, ways), at < 16 ? 0 : 1);
		memcpy(there, tight, sizeof(there));
		there[at] ^= 1;
		make(tight, there, 11, &made);
		CHECK_EQUAL(find(&made, ways), at < 16 ? 0 : 1);
	}
}

// What looks like padding may be the next function.
static void test_next(void)
{
	static const uint64_t nexts[] = { 11, 13, 15, 16, 32 };

	for (size_t i = 0; i < sizeof(nexts) / sizeof(nexts[0]); i++) {
		struct draft ways[WAYS];
		struct made made;

		make(tight, tight, 11, &made);
		made.candidate.next = made.candidate.vaddr + nexts[i];
		CHECK_EQUAL(find(&made, ways), nexts[i] < 16 ? 0 : 1);
		make(roomy, roomy, 16, &made);
		made.candidate.next = made.candidate.vaddr + 16;
		CHECK_EQUAL(find(&made, ways), 1);
		CHECK_EQUAL(ways[0].hook.record.address, (uint64_t)roomy + 10);
		CHECK_EQUAL(ways[0].hook.record.kind, HOOK_exit_point);
		CHECK(ways[0].owner == &made.draft);
	}
}

// A function and its exit points are hooked together or not at all.
static void test_settle(void)
{
	struct draft owners[3] = { 0 }, ways[WAYS] = {
		{ .owner = &owners[0] }, { .owner = &owners[0] }, { .owner = &owners[1] }, { .owner = &owners[2] }
	};

	ways[1].hook.record.verdict = VERDICT_out_of_reach;
	owners[1].hook.record.verdict = VERDICT_changed;
	watched_settle(ways, WAYS);
	CHECK_EQUAL(owners[0].hook.record.verdict, VERDICT_out_of_reach);
	CHECK_EQUAL(ways[0].hook.record.verdict, VERDICT_out_of_reach);
	CHECK_EQUAL(ways[2].hook.record.verdict, VERDICT_changed);
	CHECK_EQUAL(owners[2].hook.record.verdict, VERDICT_ok);
	CHECK_EQUAL(ways[3].hook.record.verdict, VERDICT_ok);
}

// Which of a user's functions can be watched: those whose result is the block.
static void test_wanted(void)
{
	static const struct {
		enum hook_verdict verdict;
		struct hook_signature signature;
		bool is_wanted;
	} cases[] = {
		{ VERDICT_may_unwind, { HOOK_allocate, { .size = 2 } }, true },
		{ VERDICT_may_unwind, { HOOK_allocate, { .count = 1, .size = 2 } }, true },
		{ VERDICT_leaves_by_jump, { HOOK_allocate, { .size = 1 } }, true },
		{ VERDICT_ok, { HOOK_allocate, { .size = 1 } }, false },
		{ VERDICT_may_unwind, { HOOK_allocate, { .where = 1, .size = 2 } }, false },
		{ VERDICT_may_unwind, { HOOK_allocate, { .flags = HS_LAYOUT_STRING } }, false },
		{ VERDICT_may_unwind, { HOOK_reallocate, { .block = 1, .size = 2 } }, false },
		{ VERDICT_may_unwind, { HOOK_resize, { .block = 1, .size = 2 } }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hook_candidate candidate = { .added = true, .signature = cases[i].signature };
		struct draft draft = { .candidate = &candidate, .hook.record.verdict = cases[i].verdict };

		CHECK_EQUAL(watched_is_wanted(&draft), cases[i].is_wanted);
	}
}

// An operator of the same module that cannot be watched, because a delete cannot be hooked, does not stop a user's
// function.
static void test_added_beside_operators(void)
{
	struct hook_candidate candidates[3] = {
		{ .added = true, .signature = { HOOK_allocate, { .size = 1 } }, .verdict = VERDICT_may_unwind },
		{ .signature = { HOOK_new, { .size = 1, .flags = HS_LAYOUT_COMPANION } }, .verdict = VERDICT_unproven },
		{ .signature = { HOOK_free, { .block = 1 } }, .verdict = VERDICT_unproven },
	};
	struct draft drafts[3] = {
		{ .candidate = &candidates[0], .may_be_watched = true, .hook.record.verdict = VERDICT_may_unwind },
		{ .candidate = &candidates[1], .may_be_watched = true, .hook.record.verdict = VERDICT_unproven },
		{ .candidate = &candidates[2],
		  .code_verdict = VERDICT_too_short,
		  .hook.record.verdict = VERDICT_unproven },
	};

	watched_decide(drafts, 3, NULL, 0);
	CHECK_EQUAL(drafts[0].hook.record.verdict, VERDICT_ok);
	CHECK_EQUAL(drafts[0].hook.record.kind, HOOK_watched);
	CHECK_EQUAL(drafts[1].hook.record.verdict, VERDICT_unproven);
	// Nor does it bring deletes with it, which its blocks are not given to.
	drafts[0].hook.record.verdict = VERDICT_may_unwind;
	drafts[1].may_be_watched = false;
	drafts[2].code_verdict = VERDICT_ok;
	watched_decide(drafts, 3, NULL, 0);
	CHECK_EQUAL(drafts[0].hook.record.verdict, VERDICT_ok);
	CHECK_EQUAL(drafts[2].hook.record.verdict, VERDICT_unproven);
}

int main(void)
{
	test_wanted();
	test_added_beside_operators();
	test_changed();
	test_next();
	test_settle();
	return CHECK_RESULT();
}
