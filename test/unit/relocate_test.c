// SPDX-License-Identifier: Apache-2.0
// Each case shows its disassembly. Those of glibc 2.36 are the first instructions of Debian 12's libc.so.6.
#include "attach/arch/code_step.h"
#include "attach/arch/island_code.h"
#include "attach/arch/relocate.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FROM UINT64_C(0x7f0000001000) // where the code runs
#define TO   UINT64_C(0x7f0000000000) // where the copy will run: everything moves by -0x1000

static void relocate_at(const uint8_t *code, size_t code_size, size_t function_size, uint64_t from, uint64_t to,
			struct relocation_result *ret)
{
	arch_relocate(&(struct relocation_request){ .code = code,
						    .code_size = code_size,
						    .address = from,
						    .trampoline = to,
						    .function_start = from,
						    .function_code = code,
						    .function_size = function_size,
						    .jump_size = HS_JUMP_SIZE },
		      ret);
}

static void check_bytes(int line, const struct relocation_result *result, size_t covered, const uint8_t *expected,
			size_t size)
{
	if (result->verdict != VERDICT_ok || result->covered != covered || result->size != size ||
	    memcmp(result->bytes, expected, size) != 0) {
		fprintf(stderr, "line %d: verdict %d, covered %zu, bytes", line, result->verdict, result->covered);
		for (size_t i = 0; i < result->size; i++)
			fprintf(stderr, " %02x", result->bytes[i]);
		fprintf(stderr, "\n");
	}
	CHECK_EQUAL(result->verdict, VERDICT_ok);
	CHECK_EQUAL(result->covered, covered);
	CHECK_EQUAL(result->size, size);
	CHECK(memcmp(result->bytes, expected, size) == 0);
}

#define BYTES(...)                                                                                                     \
	(const uint8_t[]) { __VA_ARGS__ }

// The whole array is the function.
#define RELOCATES(code, covered_bytes, expected)                                                                       \
	do {                                                                                                           \
		struct relocation_result result_;                                                                      \
		relocate_at(code, sizeof(code), sizeof(code), FROM, TO, &result_);                                     \
		check_bytes(__LINE__, &result_, covered_bytes, expected, sizeof(expected));                            \
	} while (0)

#define REFUSES(code, function_size, expected_verdict)                                                                 \
	do {                                                                                                           \
		struct relocation_result result_;                                                                      \
		relocate_at(code, sizeof(code), function_size, FROM, TO, &result_);                                    \
		CHECK_EQUAL(result_.verdict, expected_verdict);                                                        \
	} while (0)

static void test_glibc_prologues(void)
{
	struct relocation_result result;
	// malloc: 41 54     push %r12
	//         55        push %rbp
	//         53        push %rbx
	//         48 89 fb  mov  %rdi,%rbx
	//         c3        ret (stands for the rest)
	static const uint8_t code_malloc[] = { 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0xc3 };

	RELOCATES(code_malloc, 7, BYTES(0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0xe9, 0xfb, 0x0f, 0x00, 0x00));
	relocate_at(code_malloc, sizeof(code_malloc), sizeof(code_malloc), FROM, TO, &result);
	CHECK_EQUAL(result.instruction_count, 4);
	CHECK(memcmp(result.from, BYTES(0, 2, 3, 4), 4) == 0);
	CHECK(memcmp(result.to, BYTES(0, 2, 3, 4), 4) == 0);
	CHECK_EQUAL(result.reach_low, FROM);
	CHECK_EQUAL(result.reach_high, FROM + 7);

	// free: 48 85 ff           test %rdi,%rdi
	//       0f 84 bf 00 00 00  je   +0xbf
	RELOCATES(BYTES(0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0x00, 0x00, 0x00, 0xc3), 9,
		  BYTES(0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0x10, 0x00, 0x00, 0xe9, 0xfb, 0x0f, 0x00, 0x00));

	// posix_memalign: 80 3d 01 02 14 00 00  cmpb $0,0x140201(%rip)
	RELOCATES(BYTES(0x80, 0x3d, 0x01, 0x02, 0x14, 0x00, 0x00, 0x41, 0x54, 0xc3), 7,
		  BYTES(0x80, 0x3d, 0x01, 0x12, 0x14, 0x00, 0x00, 0xe9, 0xfb, 0x0f, 0x00, 0x00));
	relocate_at(BYTES(0x80, 0x3d, 0x01, 0x02, 0x14, 0x00, 0x00, 0xc3), 8, 8, FROM, TO, &result);
	CHECK_EQUAL(result.reach_high, FROM + 7 + 0x140201);

	// calloc: 41 55     push %r13
	//         48 89 f8  mov  %rdi,%rax
	RELOCATES(BYTES(0x41, 0x55, 0x48, 0x89, 0xf8, 0x41, 0x54, 0xc3), 5,
		  BYTES(0x41, 0x55, 0x48, 0x89, 0xf8, 0xe9, 0xfb, 0x0f, 0x00, 0x00));

	// realloc: 41 57  push %r15
	//          41 56  push %r14
	//          41 55  push %r13
	RELOCATES(BYTES(0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xc3), 6,
		  BYTES(0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xe9, 0xfb, 0x0f, 0x00, 0x00));

	// reallocarray: 48 89 f0  mov %rsi,%rax
	//               48 f7 e2  mul %rdx
	//               70 05     jo  +5 (not covered; leads behind)
	RELOCATES(BYTES(0x48, 0x89, 0xf0, 0x48, 0xf7, 0xe2, 0x70, 0x05, 0xe9, 0, 0, 0, 0, 0xc3), 6,
		  BYTES(0x48, 0x89, 0xf0, 0x48, 0xf7, 0xe2, 0xe9, 0xfb, 0x0f, 0x00, 0x00));

	// jemalloc malloc: 48 81 ff 00 10 00 00  cmp $0x1000,%rdi
	RELOCATES(BYTES(0x48, 0x81, 0xff, 0x00, 0x10, 0x00, 0x00, 0x0f, 0x87, 0x93, 0, 0, 0, 0xc3), 7,
		  BYTES(0x48, 0x81, 0xff, 0x00, 0x10, 0x00, 0x00, 0xe9, 0xfb, 0x0f, 0x00, 0x00));
}

static void test_branches(void)
{
	struct relocation_result result;
	// 85 ff     test %edi,%edi
	// 74 10     je   +0x10  (to 0x14) -> 0f 84 rel32
	// 31 c0     xor  %eax,%eax
	static const uint8_t short_condition[] = { 0x85, 0xff, 0x74, 0x10, 0x31, 0xc0, 0xc3 };

	relocate_at(short_condition, sizeof(short_condition), sizeof(short_condition), FROM, TO, &result);
	// je ends at TO + 8 and must reach FROM + 0x14: 0x1014 - 8
	check_bytes(__LINE__, &result, 6,
		    BYTES(0x85, 0xff, 0x0f, 0x84, 0x0c, 0x10, 0x00, 0x00, 0x31, 0xc0, 0xe9, 0xf7, 0x0f, 0x00, 0x00),
		    15);
	CHECK(memcmp(result.from, BYTES(0, 2, 4), 3) == 0);
	CHECK(memcmp(result.to, BYTES(0, 2, 8), 3) == 0);

	// 0f 85 00 01 00 00  jne +0x100; 75 10 jne +0x10: odd conditions are not their even neighbours
	RELOCATES(BYTES(0x0f, 0x85, 0x00, 0x01, 0x00, 0x00, 0xc3), 6,
		  BYTES(0x0f, 0x85, 0x00, 0x11, 0x00, 0x00, 0xe9, 0xfb, 0x0f, 0x00, 0x00));
	RELOCATES(BYTES(0x75, 0x10, 0x48, 0x89, 0xf8, 0xc3), 5,
		  BYTES(0x0f, 0x85, 0x0c, 0x10, 0x00, 0x00, 0x48, 0x89, 0xf8, 0xe9, 0xf7, 0x0f, 0x00, 0x00));

	// 78 f0        js  -0x10, backwards (to -0xe)
	// 48 89 f8     mov %rdi,%rax
	RELOCATES(BYTES(0x78, 0xf0, 0x48, 0x89, 0xf8, 0xc3), 5,
		  BYTES(0x0f, 0x88, 0xec, 0x0f, 0x00, 0x00, 0x48, 0x89, 0xf8, 0xe9, 0xf7, 0x0f, 0x00, 0x00));

	// e9 00 01 00 00  jmp +0x100: a function that is nothing but a jump; no jump back
	RELOCATES(BYTES(0xe9, 0x00, 0x01, 0x00, 0x00), 5, BYTES(0xe9, 0x00, 0x11, 0x00, 0x00));

	// ff 25 10 00 00 00  jmp *0x10(%rip)
	RELOCATES(BYTES(0xff, 0x25, 0x10, 0x00, 0x00, 0x00), 6, BYTES(0xff, 0x25, 0x10, 0x10, 0x00, 0x00));

	// 48 89 fe  mov %rdi,%rsi
	// eb 10     jmp +0x10
	RELOCATES(BYTES(0x48, 0x89, 0xfe, 0xeb, 0x10), 5, BYTES(0x48, 0x89, 0xfe, 0xe9, 0x0d, 0x10, 0x00, 0x00));

	// 3e 74 10  je,pt +0x10 : the hint is left out
	// 31 c0     xor %eax,%eax
	RELOCATES(BYTES(0x3e, 0x74, 0x10, 0x31, 0xc0, 0xc3), 5,
		  BYTES(0x0f, 0x84, 0x0d, 0x10, 0x00, 0x00, 0x31, 0xc0, 0xe9, 0xf8, 0x0f, 0x00, 0x00));

	// c5 fa 10 05 00 02 00 00  vmovss 0x200(%rip),%xmm0 : RIP-relative behind a VEX prefix
	RELOCATES(BYTES(0xc5, 0xfa, 0x10, 0x05, 0x00, 0x02, 0x00, 0x00, 0xc3), 8,
		  BYTES(0xc5, 0xfa, 0x10, 0x05, 0x00, 0x12, 0x00, 0x00, 0xe9, 0xfb, 0x0f, 0x00, 0x00));

	// 48 c7 05 00 01 00 00 2a 00 00 00  movq $42,0x100(%rip) : an immediate behind the displacement
	RELOCATES(
		BYTES(0x48, 0xc7, 0x05, 0x00, 0x01, 0x00, 0x00, 0x2a, 0x00, 0x00, 0x00, 0xc3), 11,
		BYTES(0x48, 0xc7, 0x05, 0x00, 0x11, 0x00, 0x00, 0x2a, 0x00, 0x00, 0x00, 0xe9, 0xfb, 0x0f, 0x00, 0x00));
}

static void test_refusals(void)
{
	// 31 c0 xor %eax,%eax ; c3 ret, then code
	REFUSES(BYTES(0x31, 0xc0, 0xc3, 0x48, 0x89, 0xf8, 0xc3), 3, VERDICT_too_short);
	// the same inside a function: what follows the ret may be jumped to
	REFUSES(BYTES(0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0xc3), 8, VERDICT_too_short);
	REFUSES(BYTES(0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90),
		16, VERDICT_too_short);
	// 48 89 f8 mov %rdi,%rax, and the function ends (falls into the next)
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x48, 0x89, 0xf8, 0xc3), 3, VERDICT_too_short);
	REFUSES(BYTES(0x48, 0x89, 0xf8), 3, VERDICT_too_short);
	// eb 02 jmp +2, then code of the function
	REFUSES(BYTES(0xeb, 0x02, 0x31, 0xc0, 0x31, 0xc0, 0xc3), 7, VERDICT_too_short);
	// e8 00 01 00 00 call
	REFUSES(BYTES(0xe8, 0x00, 0x01, 0x00, 0x00, 0xc3), 6, VERDICT_not_relocatable);
	// ff d0 call *%rax
	REFUSES(BYTES(0xff, 0xd0, 0x48, 0x89, 0xf8, 0xc3), 6, VERDICT_not_relocatable);
	// e3 10 jrcxz ; e2 10 loop ; c7 f8 xbegin
	REFUSES(BYTES(0xe3, 0x10, 0x48, 0x89, 0xf8, 0xc3), 6, VERDICT_not_relocatable);
	REFUSES(BYTES(0xe2, 0x10, 0x48, 0x89, 0xf8, 0xc3), 6, VERDICT_not_relocatable);
	REFUSES(BYTES(0xc7, 0xf8, 0x10, 0x00, 0x00, 0x00, 0xc3), 7, VERDICT_not_relocatable);
	// 66 e9 jmp with an operand size prefix: 16 bits on some processors
	REFUSES(BYTES(0x66, 0xe9, 0x10, 0x00, 0x00, 0x00, 0xc3), 7, VERDICT_not_relocatable);
	// 67 8b 05 mov 0x100(%eip),%eax
	REFUSES(BYTES(0x67, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0xc3), 8, VERDICT_not_relocatable);
	// cc int3: a debugger's breakpoint
	REFUSES(BYTES(0xcc, 0x48, 0x89, 0xf8, 0x31, 0xc0, 0xc3), 7, VERDICT_not_relocatable);
	// 06 is no instruction in 64-bit mode; 0f ff ... neither here
	REFUSES(BYTES(0x06, 0x48, 0x89, 0xf8, 0x31, 0xc0, 0xc3), 7, VERDICT_not_decodable);
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x06, 0x31, 0xc0, 0xc3), 7, VERDICT_not_decodable);
	// undecodable a little later: a short branch could hide there
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x06, 0xc3), 7, VERDICT_not_decodable);
}

static void test_branches_inside(void)
{
	struct relocation_result result;
	uint8_t far_table[300] = { 0x48, 0x89, 0xf8, 0x31, 0xc0, 0xc3 };

	// 48 89 f8  mov %rdi,%rax
	// 31 c0     xor %eax,%eax
	// 75 f9     jne -7: to offset 0; -4: to offset 3; -2 + 0: behind the covered bytes
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x75, 0xf9, 0xc3), 8, VERDICT_branch_inside); // see refers_inside()
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x75, 0xfc, 0xc3), 8, VERDICT_branch_inside);
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x75, 0xfe, 0xc3), 8, VERDICT_ok);
	// 0f 85 f7 ff ff ff  jne to offset 2: into the middle of an instruction counts too
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x0f, 0x85, 0xf7, 0xff, 0xff, 0xff, 0xc3), 12,
		VERDICT_branch_inside);
	// e8 f6 ff ff ff  call of the function's own start: a recursive call; of offset 1: no
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xc3), 11, VERDICT_ok);
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xc3), 11, VERDICT_branch_inside);
	// from within the covered bytes: 74 01 je +1, into the mov
	REFUSES(BYTES(0x74, 0x01, 0x48, 0x89, 0xf8, 0xc3), 6, VERDICT_branch_inside);
	// 48 8b 05 f4 ff ff ff  mov -12(%rip),%rax reads the function's first bytes
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x48, 0x8b, 0x05, 0xf4, 0xff, 0xff, 0xff, 0xc3), 13,
		VERDICT_branch_inside);
	// 48 8d 05 f4 ff ff ff  lea of its own address
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x48, 0x8d, 0x05, 0xf4, 0xff, 0xff, 0xff, 0xc3), 13, VERDICT_ok);
	// size unknown: the bytes that are known are looked at
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x75, 0xfc, 0xc3), 0, VERDICT_branch_inside);
	// size unknown, and the known bytes end within an instruction
	REFUSES(BYTES(0x48, 0x89, 0xf8, 0x31, 0xc0, 0x0f, 0x85, 0x00), 0, VERDICT_ok);

	// Data among the code, far away: stepped over, and a branch behind it still seen.
	far_table[200] = 0x06;
	relocate_at(far_table, sizeof(far_table), sizeof(far_table), FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	// jmp rel32 to offset 1
	memcpy(far_table + 201, BYTES(0xe9, 0x33, 0xff, 0xff, 0xff), 5);
	relocate_at(far_table, sizeof(far_table), sizeof(far_table), FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_branch_inside);
	// Branches of other functions' bytes do not count: function_size ends before.
	relocate_at(far_table, sizeof(far_table), 6, FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
}

// A function shorter than the jump, with padding behind it up to where the next one is aligned.
static void test_padding(void)
{
	struct relocation_result result;
	// glibc's _dl_debug_state: c3                                ret
	//                          66 66 2e 0f 1f 84 00 00 00 00 00  data16 cs nopw 0(%rax,%rax,1)
	//                          0f 1f 40 00                       nopl 0(%rax)
	uint8_t code[] = { 0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0, 0x55, 0x53 };

	relocate_at(code, sizeof(code), 1, FROM, TO, &result);
	check_bytes(__LINE__, &result, 12, BYTES(0xc3), 1);
	CHECK_EQUAL(result.instruction_count, 1);
	CHECK(arch_is_bare_return(&result));
	// not at an aligned address: the boundary comes too early, the nops may be a neighbour's
	relocate_at(code, sizeof(code), 1, FROM + 12, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_too_short);
	CHECK(!arch_is_bare_return(&result));
	// behind a landing pad
	relocate_at(code, sizeof(code), 1, FROM + 4, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	// padding that is not seen to its end
	relocate_at(code, 12, 1, FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_too_short);
	// something else before the boundary
	code[12] = 0x55;
	relocate_at(code, sizeof(code), 1, FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_too_short);
	memcpy(code + 12, BYTES(0x55, 0x53, 0x90, 0x90), 4); // instructions to the end
	relocate_at(code, sizeof(code), 1, FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_too_short);
	// int3
	memset(code + 1, 0xcc, 15);
	relocate_at(code, sizeof(code), 1, FROM, TO, &result);
	check_bytes(__LINE__, &result, 5, BYTES(0xc3), 1);
	// size unknown: nobody says that the padding is behind the function
	relocate_at(code, sizeof(code), 0, FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_too_short);
	// 31 c0 xor %eax,%eax ; c3 ret
	memcpy(code, BYTES(0x31, 0xc0, 0xc3), 3);
	relocate_at(code, sizeof(code), 3, FROM, TO, &result);
	check_bytes(__LINE__, &result, 5, BYTES(0x31, 0xc0, 0xc3), 3);
	CHECK(!arch_is_bare_return(&result));
	// c2 08 00 ret $8 is no bare return
	memcpy(code, BYTES(0xc2, 0x08, 0x00), 3);
	relocate_at(code, sizeof(code), 3, FROM, TO, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	CHECK(!arch_is_bare_return(&result));
	// f3 c3 rep ret
	memcpy(code, BYTES(0xf3, 0xc3, 0xcc), 3);
	relocate_at(code, sizeof(code), 2, FROM, TO, &result);
	CHECK(arch_is_bare_return(&result));
}

static void test_reach(void)
{
	// cmpb $0,0x140201(%rip)
	static const uint8_t operand[] = { 0x80, 0x3d, 0x01, 0x02, 0x14, 0x00, 0x00, 0xc3 };
	// push %r15 ; push %r14 ; push %r13
	static const uint8_t plain[] = { 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xc3 };
	// je +0x100
	static const uint8_t branch[] = { 0x0f, 0x84, 0x00, 0x01, 0x00, 0x00, 0xc3 };
	struct relocation_result result;

	relocate_at(operand, sizeof(operand), sizeof(operand), FROM, FROM - 0x7f000000, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	// the operand lies 0x140208 above FROM: just outside
	relocate_at(operand, sizeof(operand), sizeof(operand), FROM, FROM - 0x7ffffff0, &result);
	CHECK_EQUAL(result.verdict, VERDICT_out_of_reach);
	relocate_at(branch, sizeof(branch), sizeof(branch), FROM, FROM + 0x80001000, &result);
	CHECK_EQUAL(result.verdict, VERDICT_out_of_reach);
	// plain code may go anywhere; the way back is then an indirect jump: ff 25 00 00 00 00, address
	relocate_at(plain, sizeof(plain), sizeof(plain), FROM, 0x10000, &result);
	check_bytes(__LINE__, &result, 6,
		    BYTES(0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xff, 0x25, 0, 0, 0, 0, 0x06, 0x10, 0x00, 0x00, 0x00,
			  0x7f, 0, 0),
		    20);
}

static void test_landing_pad_and_island(void)
{
	struct relocation_result result;
	struct hook_island island;
	// f3 0f 1e fa endbr64
	CHECK_EQUAL(arch_landing_pad(BYTES(0xf3, 0x0f, 0x1e, 0xfa, 0xc3), 5), 4);
	CHECK_EQUAL(arch_landing_pad(BYTES(0xf3, 0x0f, 0x1e, 0xfa), 3), 0);
	CHECK_EQUAL(arch_landing_pad(BYTES(0xf3, 0x0f, 0x1e, 0xfb, 0xc3), 5), 0); // endbr32

	// push %r15 ; push %r14 ; push %r13
	relocate_at(BYTES(0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xc3), 7, 7, FROM, TO + HS_ISLAND_TRAMPOLINE_OFFSET,
		    &result);
	arch_fill_island(0x123456789abc, 7, HOOK_malloc, &result, &island);
	CHECK_EQUAL(island.entry, 0x123456789abc);
	CHECK_EQUAL(island.hook_index, 7);
	// 4c 8d 1d e9 ff ff ff  lea -0x17(%rip),%r11 : 16 + 7 - 23 = 0, the start of the island
	// 41 ff 23              jmp *(%r11)
	CHECK(memcmp(island.stub,
		     BYTES(0x4c, 0x8d, 0x1d, 0xe9, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
			   0xcc),
		     16) == 0);
	CHECK(memcmp(island.trampoline, result.bytes, result.size) == 0);
	CHECK_EQUAL(island.trampoline[result.size], 0xcc);
	CHECK_EQUAL(island.trampoline[HS_ISLAND_TRAMPOLINE_SIZE - 1], 0xcc);
}

// Runs originals and their trampolines in this process.
struct playground {
	uint8_t *code;   // functions, executable in this test only
	uint8_t *island; // a page 64 MiB above
};

typedef uint64_t function_of_two(uint64_t, uint64_t);

static void run_case(struct playground *playground, const uint8_t *code, size_t size, size_t offset)
{
	static const uint64_t values[] = { 0, 1, 2, 7, 0x1000, UINT32_MAX, (uint64_t)INT64_MAX, UINT64_MAX };
	uint64_t address = (uint64_t)(uintptr_t)playground->code + offset;
	struct relocation_result result;
	struct hook_island island;
	function_of_two *original, *through_trampoline, *through_stub;
	uint64_t address_of_island = (uint64_t)(uintptr_t)playground->island;
	uint64_t trampoline = address_of_island + HS_ISLAND_TRAMPOLINE_OFFSET;
	uint64_t expected[8][8];

	memcpy(playground->code + offset, code, size);
	relocate_at(playground->code + offset, size, size, address, trampoline, &result);
	CHECK_EQUAL(result.verdict, VERDICT_ok);
	if (result.verdict != VERDICT_ok)
		return;
	arch_fill_island(trampoline, 0, HOOK_malloc, &result, &island);
	memcpy(playground->island, &island, sizeof(island));
	memcpy(&original, &(void *){ playground->code + offset }, sizeof(original));
	memcpy(&through_trampoline, &(void *){ playground->island + HS_ISLAND_TRAMPOLINE_OFFSET }, sizeof(original));
	memcpy(&through_stub, &(void *){ playground->island + HS_ISLAND_STUB_OFFSET }, sizeof(original));
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned j = 0; j < 8; j++) {
			expected[i][j] = original(values[i], values[j]);
			CHECK_EQUAL(through_trampoline(values[i], values[j]), expected[i][j]);
			CHECK_EQUAL(through_stub(values[i], values[j]), expected[i][j]); // its entry is the trampoline
		}
	}
	// With the jump in place the function itself comes by the island.
	int32_t displacement = (int32_t)(address_of_island + HS_ISLAND_STUB_OFFSET - (address + 5));

	playground->code[offset] = 0xe9;
	memcpy(playground->code + offset + 1, &displacement, 4);
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned j = 0; j < 8; j++)
			CHECK_EQUAL(original(values[i], values[j]), expected[i][j]);
	}
}

static void test_running(void)
{
	struct playground playground;
	uint8_t *memory = mmap(NULL, 128 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(memory != MAP_FAILED);
	if (memory == MAP_FAILED)
		return;
	playground = (struct playground){ memory, memory + (64 << 20) };
	memcpy(memory + 0x800, &(uint64_t){ 0x1122334455667788 }, 8); // data of the cases

	// push %r12 ; push %rbp ; push %rbx ; mov %rdi,%rbx ; lea (%rbx,%rsi),%rax ; pop %rbx ; pop %rbp ; pop %r12 ;
	// ret
	run_case(&playground,
		 BYTES(0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x04, 0x33, 0x5b, 0x5d, 0x41, 0x5c, 0xc3),
		 16, 0x100);
	// test %rdi,%rdi ; je (near) to 0xd ; mov %rdi,%rax ; ret ; 0xd: mov %rsi,%rax ; ret
	run_case(&playground,
		 BYTES(0x48, 0x85, 0xff, 0x0f, 0x84, 0x04, 0, 0, 0, 0x48, 0x89, 0xf8, 0xc3, 0x48, 0x89, 0xf0, 0xc3), 17,
		 0x200);
	// test %edi,%edi ; je (short) to 8 ; mov %edi,%eax ; ... : a rewritten short branch
	// 0: test %edi,%edi ; 2: je 9 ; 4: mov %rdi,%rax ; 7: inc... ret ; 9: mov %rsi,%rax ; c: ret
	run_case(&playground, BYTES(0x85, 0xff, 0x74, 0x05, 0x48, 0x89, 0xf8, 0xc3, 0x90, 0x48, 0x89, 0xf0, 0xc3), 13,
		 0x300);
	// cmpb $0x88,0x800-0x407(%rip) ; sete %al ; movzbl %al,%eax ; add %rdi,%rax ; ret
	run_case(&playground,
		 BYTES(0x80, 0x3d, 0xf9, 0x03, 0, 0, 0x88, 0x0f, 0x94, 0xc0, 0x0f, 0xb6, 0xc0, 0x48, 0x01, 0xf8, 0xc3),
		 17, 0x400);
	// mov %rsi,%rax ; mul %rdi ; jo 0xc ; add $1... : mov %rsi,%rax ; mul %rdi ; jo +1 ; ret ; xor %eax,%eax ; ret
	run_case(&playground, BYTES(0x48, 0x89, 0xf0, 0x48, 0xf7, 0xe7, 0x70, 0x01, 0xc3, 0x31, 0xc0, 0xc3), 12, 0x500);
	// jo cannot be taken first: js (short) covered and taken both ways
	// 0: test %rdi,%rdi ; 3: js 9 ; 5: mov %rdi,%rax ; 8: ret ; 9: mov %rsi,%rax ; neg %rax ; ret
	run_case(&playground,
		 BYTES(0x48, 0x85, 0xff, 0x78, 0x04, 0x48, 0x89, 0xf8, 0xc3, 0x48, 0x89, 0xf0, 0x48, 0xf7, 0xd8, 0xc3),
		 16, 0x600);
	// 0: test %rdi,%rdi ; 3: jne (short) 9 ; 5: mov %rdi,%rax ; 8: ret ; 9: mov %rsi,%rax ; neg %rax ; ret
	run_case(&playground,
		 BYTES(0x48, 0x85, 0xff, 0x75, 0x04, 0x48, 0x89, 0xf8, 0xc3, 0x48, 0x89, 0xf0, 0x48, 0xf7, 0xd8, 0xc3),
		 16, 0x680);
	// mov 0x800-0x707(%rip),%rax ; xor %rdi,%rax ; ret
	run_case(&playground, BYTES(0x48, 0x8b, 0x05, 0xf9, 0x00, 0, 0, 0x48, 0x31, 0xf8, 0xc3), 11, 0x700);
	munmap(memory, 128 << 20);
}

// Whatever the bytes are: nothing is read outside of them (the sanitizers see it) and what is accepted holds together.
static void test_random_bytes(void)
{
	uint64_t state = 88172645463325252u; // xorshift64: the same bytes in every run

	for (unsigned i = 0; i < 100000; i++) {
		size_t size = 1 + i % 40;
		uint8_t *code = malloc(size);
		struct relocation_result result;

		for (size_t j = 0; j < size; j++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			// Many short instructions and branches among them.
			code[j] = (state >> 40 & 1) ? (uint8_t)state : (uint8_t)(0x50 | (state & 0x3f));
		}
		relocate_at(code, size, i % 3 ? size - (state & 7) % size : 0, FROM, TO, &result);
		if (result.verdict == VERDICT_ok)
			CHECK(result.size <= sizeof(result.bytes) && result.size > 0 &&
			      result.covered >= HS_JUMP_SIZE && result.covered <= size &&
			      result.instruction_count <= 5);
		free(code);
	}
}

int main(void)
{
	test_random_bytes();
	test_glibc_prologues();
	test_branches();
	test_refusals();
	test_branches_inside();
	test_padding();
	test_reach();
	test_landing_pad_and_island();
	test_running();
	return CHECK_RESULT();
}
