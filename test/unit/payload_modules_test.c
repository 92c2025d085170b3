// SPDX-License-Identifier: Apache-2.0
// How the payload looks up rules in the modules of a process (inject/walk/modules.c): where a module begins and ends,
// what may be read of it, and nothing of one that may be going away.
#include "cfi_image.h"
#include "payload_region.h"

#include "inject/hook/thread_slot.h"
#include "inject/walk/modules.h"
#include "inject/walk/unwind.h"
#include "unwind/arch/known_code.h"

// A module of unwind information, code, and a page without access behind it.
enum { CODE_OFFSET = CODE - BASE, IMAGE_SIZE = 2 * HS_PAGE_SIZE, STACK_WORDS = 1024 };

static struct made_region made;
static uint8_t *image_bytes;
static struct image image;
static struct module_record *module;
static uint64_t stack[STACK_WORDS];

static uint64_t code_at(uint64_t offset) { return (uint64_t)image_bytes + CODE_OFFSET + offset; }

// As the second one of the process, described in full and staying for ever. `program` is the function's own.
static void begin_with(struct bytes program)
{
	payload_region_init(&made, 4);
	memset(stack, 0, sizeof(stack));
	memset(image_bytes, 0x90, IMAGE_SIZE); // nop
	build(&image, USUAL_CIE, BYTES(USUAL_CIE_PROGRAM), program);
	memcpy(image_bytes, image.data, image.size);
	made_module(&made, "/bin/first");
	module = made_module(&made, "/lib/second.so");
	module->start = (uint64_t)image_bytes;
	module->end = module->start + IMAGE_SIZE;
	module->eh_frame_hdr = module->start;
	module->eh_frame_hdr_size = HDR_SIZE;
	module->cfi_low = module->start;
	module->cfi_high = module->start + image.size;
	module->text_low = module->readable_low = code_at(0);
	module->text_high = module->readable_high = module->end;
}

static void begin(void) { begin_with(NO_BYTES); }

static void end(void)
{
	CHECK_EQUAL(made.header->decoders, 0);
	payload_region_deinit(&made);
}

static void has_no_info(void) { module->eh_frame_hdr = 0; }

#define CHECK_RULE_OF(pc, exact, kind, number)                                                                         \
	do {                                                                                                           \
		uint64_t rule_ = modules_decode_rule(pc, exact);                                                       \
                                                                                                                       \
		CHECK_EQUAL(UNWIND_KIND(rule_), kind);                                                                 \
		CHECK_EQUAL(UNWIND_MODULE(rule_), number);                                                             \
	} while (0)

// A return address may be the first byte behind a function, or a module: it belongs to the byte before it.
static void test_places(void)
{
	begin();
	CHECK_RULE_OF(code_at(0), true, UNWIND_SP, 2);
	CHECK_RULE_OF(code_at(0), false, UNWIND_FRAME_POINTER, 2);
	CHECK_RULE_OF(code_at(1), false, UNWIND_SP, 2);
	CHECK_RULE_OF(code_at(CODE_SIZE - 1), true, UNWIND_SP, 2);
	CHECK_RULE_OF(code_at(CODE_SIZE), false, UNWIND_SP, 2);
	CHECK_RULE_OF(code_at(CODE_SIZE), true, UNWIND_FRAME_POINTER, 2);
	CHECK_RULE_OF(module->start, true, UNWIND_FRAME_POINTER, 2);
	CHECK_RULE_OF(module->start, false, UNWIND_FRAME_POINTER, 0);
	CHECK_RULE_OF(module->end, false, UNWIND_FRAME_POINTER, 2);
	CHECK_RULE_OF(module->end, true, UNWIND_FRAME_POINTER, 0);
	module->ready = 0;
	CHECK_RULE_OF(code_at(1), true, UNWIND_FRAME_POINTER, 0);
	module->ready = 1;
	module->unloaded = 3;
	CHECK_RULE_OF(code_at(1), true, UNWIND_FRAME_POINTER, 0);
	end();
}

// Another library may lie where one lay that has gone.
static void test_successor(void)
{
	begin();
	*made_module(&made, "/lib/third.so") = *module;
	module->unloaded = 3;
	CHECK_RULE_OF(code_at(1), true, UNWIND_SP, 3);
	end();
}

// A module whose file has no .eh_frame_hdr: the tool has made a table of the same kind.
static void test_search_table(void)
{
	int32_t *pairs;

	begin();
	has_no_info();
	CHECK_RULE_OF(code_at(1), true, UNWIND_FRAME_POINTER, 2);
	module->search_page = made_pages(&made, 1);
	module->search_count = 1;
	pairs = (int32_t *)made_table(&made, module->search_page);
	pairs[0] = CODE_OFFSET;
	pairs[1] = (int32_t)image.fde;
	CHECK_RULE_OF(code_at(1), true, UNWIND_SP, 2);
	CHECK_RULE_OF(code_at(CODE_SIZE), true, UNWIND_FRAME_POINTER, 2);
	end();
}

// Unwind information that cannot be used is not the same as none.
static void test_bad_info(void)
{
	begin();
	module->cfi_high = module->cfi_low + image.fde + 4; // in the middle of the function's
	CHECK_RULE_OF(code_at(1), true, UNWIND_BAD, 2);
	end();
}

enum how { STAYS, STAYS_BUSY, GOES, GOES_BUSY, HOW_MANY };

// Of a module that may be unloaded nothing is read while the loader unloads one: the memory may be gone already. Of one
// that stays it is.
static void make(enum how how)
{
	begin();
	made.header->loader_busy = how == STAYS_BUSY || how == GOES_BUSY;
	if (how == GOES || how == GOES_BUSY)
		module->flags |= MODULE_CAN_UNLOAD;
	if (how == GOES_BUSY)
		CHECK(mprotect(image_bytes, IMAGE_SIZE, PROT_NONE) == 0);
}

static void unmake(void)
{
	CHECK(mprotect(image_bytes, IMAGE_SIZE, PROT_READ | PROT_WRITE) == 0);
	end();
}

static struct memory_span span(void)
{
	return (struct memory_span){ (const uint8_t *)stack, (uint64_t)stack, sizeof(stack) };
}

static struct full_registers registers_at(uint64_t pc, unsigned word, unsigned frame)
{
	struct full_registers registers = { .known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_FP, .pc_is_exact = true };

	registers.value[CFI_RA] = pc;
	registers.value[CFI_SP] = (uint64_t)&stack[word];
	registers.value[CFI_FP] = (uint64_t)&stack[frame];
	return registers;
}

static void test_going(void)
{
	for (enum how how = STAYS; how < HOW_MANY; how++) {
		struct full_registers registers;
		struct memory_span all = span();
		uint32_t number, cut = 0;
		bool is_guess = false;
		enum step_result result;

		make(how);
		if (how == GOES_BUSY)
			CHECK_EQUAL(modules_decode_rule(code_at(1), true), 0);
		else
			CHECK_RULE_OF(code_at(1), true, UNWIND_SP, 2);
		if (how != GOES_BUSY)
			image_bytes[CODE_OFFSET + 15] = 0xe8;
		CHECK_EQUAL(modules_follows_call(code_at(20)), how != GOES_BUSY);
		registers = registers_at(code_at(1), 3, 10);
		stack[3] = code_at(20);
		result = modules_step_full(&all, &registers, &number, &is_guess, &cut);
		CHECK_EQUAL(number, 2);
		CHECK_EQUAL(result, how == GOES_BUSY ? STEP_BAD : STEP_OK);
		CHECK_EQUAL(cut, how == GOES_BUSY ? CUT_loader_busy + 1 : 0);
		CHECK(!is_guess);
		CHECK_EQUAL(registers.value[CFI_RA], how == GOES_BUSY ? code_at(1) : code_at(20));
		unmake();
	}
}

// A return address that only a frame pointer leads to is one where a call stands before it.
static void test_follows_call(void)
{
	static const uint8_t calls[][7] = { { 0x90, 0x90, 0xe8, 1, 2, 3, 4 },
					    { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 },
					    { 0xff, 0x94, 0x24, 0, 1, 0, 0 } };

	begin();
	CHECK(!modules_follows_call(code_at(50)));
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		memcpy(image_bytes + CODE_OFFSET + 43, calls[i], 7);
		CHECK(modules_follows_call(code_at(50)));
	}
	// The bytes that are read are all in the code that can be.
	module->readable_low = code_at(43);
	CHECK(modules_follows_call(code_at(50)));
	module->readable_low = code_at(44);
	CHECK(!modules_follows_call(code_at(50)));
	module->readable_low = code_at(0);
	module->readable_high = code_at(50);
	CHECK(modules_follows_call(code_at(50)));
	module->readable_high = code_at(49);
	CHECK(!modules_follows_call(code_at(50)));
	module->readable_low = module->readable_high = 0; // none can
	CHECK(!modules_follows_call(code_at(50)));
	// Outside of all modules.
	CHECK(!modules_follows_call(0x1000));
	CHECK(!modules_follows_call(0));
	end();
}

// The code that signal handlers return to, of a libc without unwind information for it. It is looked for as far as the
// code goes.
static void test_signal_return(void)
{
	static const uint8_t returns[][ARCH_SIGRETURN_SIZE] = { { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 },
								{ 0xb8, 15, 0, 0, 0, 0x0f, 0x05, 0x90, 0x90 } };
	enum { LAST = IMAGE_SIZE - CODE_OFFSET - ARCH_SIGRETURN_SIZE };

	for (unsigned i = 0; i < sizeof(returns) / sizeof(returns[0]); i++) {
		begin();
		has_no_info();
		memcpy(image_bytes + CODE_OFFSET + 100, returns[i], ARCH_SIGRETURN_SIZE);
		memcpy(image_bytes + CODE_OFFSET + LAST, returns[i], ARCH_SIGRETURN_SIZE);
		CHECK_RULE_OF(code_at(100), false, UNWIND_SIGNAL, 2);
		CHECK_RULE_OF(code_at(101), false, UNWIND_FRAME_POINTER, 2);
		CHECK_RULE_OF(code_at(LAST), false, UNWIND_SIGNAL, 2);
		CHECK_RULE_OF(code_at(LAST) + 1, false, UNWIND_FRAME_POINTER, 2);
		CHECK_RULE_OF(code_at(LAST) + ARCH_SIGRETURN_SIZE, false, UNWIND_FRAME_POINTER, 2);
		module->readable_low = module->readable_high = 0;
		CHECK_RULE_OF(code_at(100), false, UNWIND_FRAME_POINTER, 2);
		end();
	}
}

// A frame without unwind information, in the middle of a walk with all registers: by its frame pointer, to what may be
// no caller.
static void test_step_without_info(void)
{
	static const struct {
		uint64_t caller; // offset in the code; 0 = the outermost frame
		bool knows_rbp;
		enum step_result result;
		uint32_t cut;
	} cases[] = {
		{ 50, true, STEP_OK, 0 },
		{ 50, false, STEP_BAD, CUT_no_unwind_info + 1 },
		{ 0, true, STEP_END, 0 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct full_registers registers;
		struct memory_span all = span();
		uint32_t number, cut = 0;
		bool is_guess = false;

		begin();
		has_no_info();
		registers = registers_at(code_at(200), 4, 10);
		registers.known |= 1u << CFI_RBX;
		if (!cases[i].knows_rbp)
			registers.known &= ~(1u << CFI_FP);
		stack[10] = (uint64_t)&stack[20];
		stack[11] = cases[i].caller ? code_at(cases[i].caller) : 0;
		CHECK_EQUAL(modules_step_full(&all, &registers, &number, &is_guess, &cut), cases[i].result);
		CHECK_EQUAL(number, 2);
		CHECK(is_guess);
		CHECK_EQUAL(cut, cases[i].cut);
		if (cases[i].result == STEP_OK) {
			CHECK_EQUAL(registers.value[CFI_RA], code_at(50));
			CHECK_EQUAL(registers.value[CFI_SP], (uint64_t)&stack[12]);
			CHECK_EQUAL(registers.value[CFI_FP], (uint64_t)&stack[20]);
			// What else the frame has saved nobody knows.
			CHECK_EQUAL(registers.known, 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_FP);
			CHECK(!registers.pc_is_exact);
		}
		end();
	}
}

// A walk goes by a frame pointer only to what may be a caller: what merely looks like an address ends it, and that is
// counted.
static void test_walk(void)
{
	struct entry_frame *entry = (struct entry_frame *)&stack[2];

	for (unsigned follows_call = 0; follows_call <= 1; follows_call++) {
		const struct stack_node *inner, *outer;
		struct thread_slot *slot;

		begin();
		has_no_info();
		slot = thread_slot_claim(arch_thread_pointer());
		slot->shared.stack_low = (uint64_t)stack;
		slot->shared.stack_high = (uint64_t)(stack + STACK_WORDS);
		entry->return_address = code_at(60);
		entry->fp = (uint64_t)&stack[20];
		stack[20] = (uint64_t)&stack[30];
		stack[21] = code_at(50); // stack[31] is 0: there the stack ends
		if (follows_call)
			image_bytes[CODE_OFFSET + 45] = 0xe8;
		inner = made_ref(&made, unwind_to_node(slot, entry));
		outer = made_ref(&made, inner->parent);
		CHECK_EQUAL(inner->frame, made_frame(code_at(60), 2));
		CHECK_EQUAL(outer->parent, 0);
		if (follows_call)
			CHECK_EQUAL(outer->frame, made_frame(code_at(50), 2));
		else
			CHECK_EQUAL(outer->frame >> HS_FRAME_MODULE_SHIFT & HS_FRAME_CUT, HS_FRAME_CUT);
		CHECK_EQUAL(slot->shared.cut_counters[CUT_no_unwind_info], !follows_call);
		CHECK_EQUAL(slot->shared.counters[COUNTER_stack_cuts], !follows_call);
		end();
	}
}

// Code made at run time, of which nothing is known and nothing may be read, calls code of a module that has no unwind
// information, as what V8 makes calls its builtins. The chain of frame pointers goes through it only where it comes to
// a call of a module further out.
#define MADE     UINT64_C(0x70000000a120)
#define CALL     1 // behind a call, in the function with unwind information
#define NO_CALL  2
#define IN_STACK 3
#define LOW      UINT64_C(0x123)
enum { CHAIN_MAX = HS_DEPTH_MAX + 2, CALL_OFFSET = 50, INNER_OFFSET = CODE_SIZE + 50, SLOW_OFFSET = 30, CHAIN_AT = 20 };

struct chain {
	bool from_made;                   // the innermost frame is such code
	uint32_t made;                    // so many frames of it come first
	uint64_t pcs[3];                  // then these; 0 = the stack's end
	uint32_t frames;                  // found, with the innermost one
	uint32_t cut;                     // enum cut_reason + 1; 0 = complete
	enum { FINE, BACK, BEYOND } link; // where the last frame pointer but one leads
};

static uint64_t chain_pc(uint64_t pc)
{
	return pc == CALL       ? code_at(CALL_OFFSET)
	       : pc == NO_CALL  ? code_at(CALL_OFFSET + 20)
	       : pc == IN_STACK ? (uint64_t)&stack[STACK_WORDS - 1]
				: pc;
}

// Lays the chain out, and returns the program counters that a walk may find. `full`: the chain begins behind a frame
// that needs a walk with all registers.
static void lay_chain(const struct chain *chain, bool full, struct entry_frame *entry, uint64_t *pcs)
{
	uint64_t *sp = &entry->return_address + 1;
	uint32_t count = 0, at = CHAIN_AT;

	if (full)
		*pcs++ = code_at(SLOW_OFFSET);
	pcs[count++] = chain->from_made ? MADE : code_at(INNER_OFFSET);
	for (uint32_t i = 0; i < chain->made; i++)
		pcs[count++] = MADE + 16 * i;
	for (uint32_t i = 0; i < 3 && chain->pcs[i]; i++)
		pcs[count++] = chain_pc(chain->pcs[i]);
	entry->return_address = full ? code_at(SLOW_OFFSET) : pcs[0];
	entry->fp = full ? 0 : (uint64_t)&stack[at];
	sp[0] = pcs[0];
	sp[2] = (uint64_t)&stack[at];
	for (uint32_t i = 1; i < count; i++, at += 3) {
		stack[at] = (uint64_t)&stack[at + 3];
		stack[at + 1] = pcs[i];
	}
	if (chain->link != FINE)
		stack[at - 6] = (uint64_t)stack + (chain->link == BACK ? (CHAIN_AT - 3) * 8 : sizeof(stack) + 8);
}

static void check_chain(const struct chain *chain, bool full)
{
	struct entry_frame *entry = (struct entry_frame *)&stack[2];
	struct thread_slot *slot = thread_slot_claim(arch_thread_pointer());
	uint64_t pcs[1 + CHAIN_MAX];
	const struct stack_node *node;
	uint32_t found = 0, reference;

	slot->shared.stack_low = (uint64_t)stack;
	slot->shared.stack_high = (uint64_t)(stack + STACK_WORDS);
	image_bytes[CODE_OFFSET + CALL_OFFSET - 5] = 0xe8;
	lay_chain(chain, full, entry, pcs);
	for (reference = unwind_to_node(slot, entry); reference; reference = node->parent) {
		node = made_ref(&made, reference);
		if (node->frame >> HS_FRAME_MODULE_SHIFT & HS_FRAME_CUT)
			break;
		CHECK_EQUAL(node->frame & HS_FRAME_PC_MASK, pcs[found]);
		found++;
	}
	CHECK_EQUAL(found, chain->frames + full < HS_DEPTH_MAX ? chain->frames + full : HS_DEPTH_MAX);
	CHECK_EQUAL(slot->shared.counters[COUNTER_slow_walks], full);
	CHECK_EQUAL(reference != 0, chain->cut != 0);
	for (uint32_t i = 0; i < CUT_REASON_COUNT; i++)
		CHECK_EQUAL(slot->shared.cut_counters[i], i + 1 == chain->cut);
}

static void test_made_code(void)
{
	enum { NO_INFO = CUT_no_unwind_info + 1, TOO_DEEP = CUT_depth_limit + 1, MOST = HS_DEPTH_MAX };
	static const struct chain cases[] = {
		{ false, 0, { CALL }, 2, 0, FINE },
		{ false, 0, { NO_CALL }, 1, NO_INFO, FINE },
		{ false, 1, { CALL }, 3, 0, FINE },
		{ false, 5, { CALL }, 7, 0, FINE },
		// between two frames of a module's function, and from there on once more
		{ false, 2, { NO_CALL, CALL }, 1, NO_INFO, FINE },
		// nothing further out is known to have called it: what was a frame pointer is not known either
		{ false, 1, { 0 }, 1, NO_INFO, FINE },
		{ false, 5, { 0 }, 1, NO_INFO, FINE },
		{ false, 1, { LOW, CALL }, 1, NO_INFO, FINE },
		{ false, 0, { IN_STACK, CALL }, 1, NO_INFO, FINE },
		{ false, 2, { CALL }, 1, NO_INFO, BACK },
		{ false, 2, { CALL }, 1, NO_INFO, BEYOND },
		// the look further out has a bound
		{ false, MOST - 1, { CALL }, MOST, TOO_DEEP, FINE },
		{ false, MOST, { CALL }, 1, NO_INFO, FINE },
		// such code calls such code
		{ true, 2, { CALL }, 4, 0, FINE },
		{ true, 2, { NO_CALL }, 3, NO_INFO, FINE },
	};
	// The function keeps rbp above its frame, as no packed rule has it (DW_CFA_offset_extended_sf).
	const struct bytes programs[] = { NO_BYTES, BYTES(0x11, 0x06, 0x7f) };

	for (unsigned full = 0; full < 2; full++)
		for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			begin_with(programs[full]);
			check_chain(&cases[i], full);
			end();
		}
}

int main(void)
{
	image_bytes = mmap(NULL, IMAGE_SIZE + HS_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image_bytes == MAP_FAILED || mprotect(image_bytes, IMAGE_SIZE, PROT_READ | PROT_WRITE) != 0)
		return 1;
	test_places();
	test_successor();
	test_search_table();
	test_bad_info();
	test_going();
	test_follows_call();
	test_signal_return();
	test_step_without_info();
	test_walk();
	test_made_code();
	return CHECK_RESULT();
}
