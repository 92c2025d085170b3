// SPDX-License-Identifier: Apache-2.0
// Which registers instructions change, and functions of this program with all that they call.
#include "check.h"
#include "held_process.h"

#include "attach/arch/register_writes.h"
#include "attach/hook/register_change.h"

#include <unistd.h>

enum {
	RAX = 1,
	RCX = 2,
	RDX = 4,
	RBX = 8,
	RSP = 16,
	RBP = 32,
	RSI = 64,
	RDI = 128,
	R8 = 256,
	R9 = 512,
	R10 = 1024,
	R11 = 2048
};

struct expected {
	uint8_t code[8];
	uint16_t general, pushed;
	bool has_vectors;
};

static void test_instructions(void)
{
	static const struct expected all[] = {
		{ { 0x90 }, 0, 0, false },                           // nop
		{ { 0x06 }, 0, 0, false },                           // none in 64-bit mode
		{ { 0x48, 0x89, 0xc8 }, RAX, 0, false },             // mov %rcx, %rax
		{ { 0xb1, 0x01 }, RCX, 0, false },                   // mov $1, %cl
		{ { 0xb6, 0x01 }, RDX, 0, false },                   // mov $1, %dh
		{ { 0x45, 0x31, 0xc9 }, R9, 0, false },              // xor %r9d, %r9d
		{ { 0x48, 0x39, 0xc8 }, 0, 0, false },               // cmp %rcx, %rax
		{ { 0x48, 0x89, 0x08 }, 0, 0, false },               // mov %rcx, (%rax)
		{ { 0x48, 0xf7, 0xe1 }, RAX | RDX, 0, false },       // mul %rcx
		{ { 0xf3, 0x48, 0xab }, RCX | RDI, 0, false },       // rep stos
		{ { 0x0f, 0xa2 }, RAX | RBX | RCX | RDX, 0, false }, // cpuid
		{ { 0x0f, 0x05 }, RCX | R11, 0, false },             // syscall
		{ { 0x48, 0x0f, 0x44, 0xf1 }, RSI, 0, false },       // cmove %rcx, %rsi: perhaps
		{ { 0x41, 0x50 }, RSP, R8, false },                  // push %r8
		{ { 0x5a }, RDX | RSP, 0, false },                   // pop %rdx
		{ { 0xf0, 0x49, 0x0f, 0xb1, 0x0a }, RAX, 0, false }, // lock cmpxchg %rcx, (%r10)
		{ { 0x66, 0x0f, 0xef, 0xc0 }, 0, 0, true },          // pxor %xmm0, %xmm0
		{ { 0x66, 0x48, 0x0f, 0x7e, 0xc1 }, RCX, 0, true },  // movq %xmm0, %rcx
		{ { 0xc5, 0xf8, 0x77 }, 0, 0, true },                // vzeroupper
		{ { 0xd9, 0xee }, 0, 0, true },                      // fldz
		{ { 0x0f, 0xae, 0x08 }, 0, 0, true },                // fxrstor (%rax)
		{ { 0xc5, 0xf8, 0x92, 0xc8 }, 0, 0, true },          // kmovw %eax, %k1
		{ { 0x0f, 0xae, 0x10 }, 0, 0, true },                // ldmxcsr (%rax)
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct register_writes writes;

		register_writes_decode(all[i].code, sizeof(all[i].code), &writes);
		if ((writes.general & ~(all[i].general & RSP)) != (all[i].general & ~RSP) ||
		    writes.has_vectors != all[i].has_vectors)
			fprintf(stderr, "instruction %zu: general %x, vectors %d\n", i, writes.general,
				writes.has_vectors);
		CHECK_EQUAL(writes.general & ~RSP, all[i].general & ~RSP);
		CHECK_EQUAL(writes.pushed, all[i].pushed);
		CHECK_EQUAL(writes.has_vectors, all[i].has_vectors);
	}
}

// change_N writes all scratch registers but the Nth; change_9 all of them.
__asm__(".text\n"
	".macro change number\n"
	"change_\\number:\n"
	".if \\number != 0\n xor %eax, %eax\n .endif\n"
	".if \\number != 1\n mov $1, %cl\n .endif\n"
	".if \\number != 2\n xor %edx, %edx\n .endif\n"
	".if \\number != 3\n xor %esi, %esi\n .endif\n"
	".if \\number != 4\n xor %edi, %edi\n .endif\n"
	".if \\number != 5\n xor %r8d, %r8d\n .endif\n"
	".if \\number != 6\n xor %r9d, %r9d\n .endif\n"
	".if \\number != 7\n xor %r10d, %r10d\n .endif\n"
	".if \\number != 8\n xor %r11d, %r11d\n .endif\n"
	"ret\n"
	".globl change_\\number\n"
	".endm\n"
	".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n change \\number\n .endr\n"
	"halves: .cfi_startproc; test %rdi, %rdi; je 1f; call change_0; ret; 1: jmp change_1; .cfi_endproc\n"
	"behind_return: .cfi_startproc; ret; xor %eax, %eax; call getpid@plt; .cfi_endproc\n"
	"calls: .cfi_startproc; sub $8, %rsp; call getpid@plt; add $8, %rsp; ret; .cfi_endproc\n"
	"calls_deep: .cfi_startproc; call halves; call calls; ret; .cfi_endproc\n"
	"jumps: .cfi_startproc; jmp getpid@plt; .cfi_endproc\n"
	"calls_slot: .cfi_startproc; call *getpid@GOTPCREL(%rip); ret; .cfi_endproc\n"
	"calls_pointer: .cfi_startproc; call *%rax; ret; .cfi_endproc\n"
	"calls_memory: .cfi_startproc; call *8(%rax); ret; .cfi_endproc\n"
	"jumps_by_table: .cfi_startproc; jmp *(%rax,%rcx,8); .cfi_endproc\n"
	"profiled: .cfi_startproc; call mcount@plt; ret; .cfi_endproc\n"
	"keeps_all: .cfi_startproc; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; call getpid@plt; pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; ret; .cfi_endproc\n"
	"passes_five: .cfi_startproc; mov %rsp, %rax; mov $1, %edx; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; call getpid@plt; add $40, %rsp; ret; .cfi_endproc\n"
	"aligns: .cfi_startproc; push %rax; call getpid@plt; pop %rcx; ret; .cfi_endproc\n"
	"has_vector: .cfi_startproc; pxor %xmm0, %xmm0; ret; .cfi_endproc\n"
	"calls_vector: .cfi_startproc; call has_vector; ret; .cfi_endproc\n"
	"loops: .cfi_startproc; dec %rcx; jne loops; call loops; ret; .cfi_endproc\n"
	"never_returns: .cfi_startproc; call dies; .cfi_endproc\n"
	"behind_it: .cfi_startproc; xor %r8d, %r8d; call getpid@plt; ret; .cfi_endproc\n"
	"dies: .cfi_startproc; hlt; .cfi_endproc\n"
	"exits: .cfi_startproc; mov $60, %eax; syscall; .cfi_endproc\n"
	"behind_exit: .cfi_startproc; call getpid@plt; ret; .cfi_endproc\n"
	"traps: .cfi_startproc; int3; .cfi_endproc\n"
	"behind_trap: .cfi_startproc; call getpid@plt; ret; .cfi_endproc\n"
	"unknown_extent: call dies; call getpid@plt; ret\n"
	"unknown_saves: push %rcx; call getpid@plt; pop %rcx; ret\n"
	"unknown_start: call getpid@plt; ret\n"
	"keeps_two: .cfi_startproc; push %rsi; push %rdi; call getpid@plt; pop %rdi; pop %rsi; ret; .cfi_endproc\n"
	"calls_keeper: .cfi_startproc; call keeps_two; xor %esi, %esi; ret; .cfi_endproc\n"
	"calls_keepers: .cfi_startproc; call keeps_two; call keeps_three; ret; .cfi_endproc\n"
	"keeps_three: .cfi_startproc; nop; push %rcx; push %rdx; push %r8; call change_9; pop %r8; pop %rdx; pop %rcx; ret; .cfi_endproc\n"
	"twice: .cfi_startproc; call twice_more; ret; .cfi_endproc\n"
	"twice_more: .cfi_startproc; test %rdi, %rdi; je 1f; call twice; 1: jmp change_9; .cfi_endproc\n"
	// More instructions than the search keeps in all, in functions of fewer than it looks at.
	".irp number, 0, 1, 2, 3, 4, 5\n"
	"long_\\number: .cfi_startproc; .rept 8000; nop; .endr; jmp change_9; .cfi_endproc\n"
	".endr\n"
	"late_loops: .cfi_startproc; dec %rcx; jne late_loops; jmp change_9; .cfi_endproc\n"
	"not_code: .byte 0x06\n");

static struct register_search *search;
static struct module_list modules;

static struct register_change of(const char *name)
{
	struct register_change change = { 0 };
	struct elf_symbol symbol;

	if (elf_view_find_symbol(&modules.items[0].elf, name, &symbol))
		register_change_find(search, &modules.items[0], modules.items[0].load_bias + symbol.value, &change);
	else
		CHECK_STRING(name, "");
	return change;
}

static void expect(const char *name, bool all, bool all_general, bool no_vectors)
{
	const struct register_change change = of(name);

	if (change.all != all || change.all_general != all_general || change.no_vectors != no_vectors)
		fprintf(stderr, "%s: %d %d %d\n", name, change.all, change.all_general, change.no_vectors);
	CHECK(change.all == all && change.all_general == all_general && change.no_vectors == no_vectors);
}

static void test_functions(void)
{
	char name[] = "change_0";

	for (; name[7] < '9'; name[7]++)
		expect(name, false, false, true);
	expect(name, false, true, true);
	expect("halves", false, true, true); // one half on each way
	expect("behind_return", false, false, true);
	expect("calls", true, true, false);
	expect("calls_deep", true, true, false);
	expect("jumps", true, true, false);
	expect("calls_slot", true, true, false);
	expect("calls_pointer", false, false, false); // of which the compiler may know whose it is
	expect("calls_memory", false, false, false);
	expect("jumps_by_table", false, false, false);
	expect("profiled", false, false, false); // the compiler does not reckon with that call
	expect("keeps_all", false, false, false);
	expect("keeps_two", false, false, false);
	expect("calls_keeper", false, false, false);
	expect("calls_keepers", false, true, false); // what one keeps the other does not
	expect("keeps_three", false, false, true);
	expect("passes_five", true, true, false);
	expect("never_returns", false, false, true); // behind a call that does not return another function begins
	expect("exits", false, false, true);
	expect("traps", false, false, true);
	expect("unknown_extent", false, false, false);
	expect("unknown_start", true, true, false);
	expect("unknown_saves", false, false, false); // what it pops is not seen
	expect("twice", false, true, true);
	expect("aligns", true, true, false);
	expect("has_vector", false, false, false);
	expect("calls_vector", false, false, false);
	expect("loops", false, false, true);
	expect("not_code", false, false, false);
}

// What was looked at before, and what found no room to be kept.
static void test_many_instructions(void)
{
	char name[] = "long_0";

	for (int round = 0; round < 2; round++)
		for (name[5] = '0'; name[5] < '6'; name[5]++)
			expect(name, false, true, true);
	expect("late_loops", false, true, true);
}

int main(void)
{
	struct target_memory memory;
	struct proc_maps maps;

	CHECK(getpid() > 0);
	test_instructions();
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL &&
	      target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(modules_read(held_process(getpid()), &maps, &memory, &modules) == NULL);
	search = register_search_begin(&memory);
	CHECK(search && modules.count > 0 && modules.items[0].is_main);
	test_functions();
	test_many_instructions();
	register_search_end(search);
	search = NULL;
	expect("calls", false, false, false); // no memory for a search: nothing is seen
	modules_deinit(&modules);
	target_memory_close(&memory);
	proc_maps_deinit(&maps);
	return CHECK_RESULT();
}
