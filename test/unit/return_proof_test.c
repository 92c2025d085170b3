// SPDX-License-Identifier: Apache-2.0
// Functions that users add, of a live process: which are proved to be left by nothing but their return, which are
// watched, which are refused. The build gives the paths of the variants of return_proof_child.c as CHILD_*.
#include "attach/elf/import_names.h"
#include "attach/elf/libc.h"
#include "attach/hook/hook_plan.h"
#include "attach/hook/linkage_slots.h"
#include "attach/hook/quiet_names.h"
#include "check.h"
#include "live_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome { PROVED, WATCHED, REFUSED, REFUSED_ABOVE, LACKING };

static enum outcome outcome_of(const struct live_target *target, const char *text)
{
	struct hook_addition addition;
	struct hook_goals goals = { .state = UINT64_C(0x700000000000) };
	enum outcome outcome = LACKING;
	struct hook_plan plan;
	struct hs_error *error = hook_addition_parse(text, &addition);

	CHECK(error == NULL);
	if (error)
		return LACKING;
	for (unsigned i = 0; i < HOOK_KIND_COUNT; i++)
		goals.entries[i] = UINT64_C(0x600000000000) + i * 64;
	error = hook_plan_make(&target->modules, &target->maps, &target->memory,
			       &(struct hook_additions){ &addition, 1 }, &goals, &(struct diagnostics){ 0 }, &plan);
	if (error) {
		if (strstr(error->message, "add the word nothrow"))
			outcome = REFUSED;
		else if (strstr(error->message, "asks for its return address"))
			outcome = REFUSED_ABOVE;
		else
			fprintf(stderr, "%s: %s\n", text, error->message);
	}
	for (size_t i = 0; i < plan.count && !error; i++) {
		const struct hook_record *record = &plan.hooks[i].record;

		if (strcmp(record->name, addition.name) == 0 && record->kind != HOOK_exit_point &&
		    record->verdict == VERDICT_ok)
			outcome = record->kind == HOOK_watched ? WATCHED : PROVED;
	}
	hs_error_destroy(error);
	hook_plan_deinit(&plan);
	return outcome;
}

static void check_outcome(const struct live_target *target, const char *what, const char *text, enum outcome expected)
{
	static const char *const outcomes[] = { "proved", "watched", "refused", "refused for what is above its frame",
						"not there" };
	enum outcome outcome = outcome_of(target, text);

	if (outcome != expected)
		fprintf(stderr, "%s: %s is %s, not %s\n", what, text, outcomes[outcome], outcomes[expected]);
	CHECK(outcome == expected);
}

static const struct {
	const char *text;
	enum outcome outcome;
} cases[] = {
	{ "calm=alloc(size)", PROVED },
	{ "ends=alloc(size)", PROVED },
	{ "maps=alloc(size)", PROVED },
	{ "mallocs=alloc(size)", PROVED },
	{ "recurses=alloc(size)", PROVED },
	{ "by_pointer_argument=alloc(size,*block)", PROVED },
	{ "reads=alloc(size)", WATCHED },
	{ "reads=alloc(size) nothrow", WATCHED },
	{ "helper_reads=alloc(size)", WATCHED },
	{ "sorts=alloc(size)", WATCHED },
	{ "by_pointer=alloc(size)", WATCHED },
	{ "calls_kernel=alloc(size)", WATCHED },
	{ "thunks=alloc(size)", WATCHED },
	{ "traps=alloc(size)", WATCHED },
	// What they look for is not there in a frame of the payload.
	{ "asks_caller=alloc(size)", WATCHED },
	{ "eight=alloc(size)", WATCHED },
	{ "varied=alloc(size)", WATCHED },
	{ "calls_eight=alloc(size)", PROVED },
	{ "eight=realloc(size,block)", REFUSED_ABOVE },
	{ "eight=realloc(size,block) nothrow", REFUSED_ABOVE },
	{ "jumps_to_eight=alloc(size)", REFUSED_ABOVE },
	{ "jumps_to_eight=alloc(size) nothrow", REFUSED_ABOVE },
	{ "jumps_and_asks=alloc(size) nothrow", REFUSED_ABOVE },
	{ "jumps=alloc(size)", REFUSED },
	{ "jumps=alloc(size) nothrow", PROVED },
	// What a watched function cannot tell at its return.
	{ "reads=string(_)", REFUSED },
	{ "reads=realloc(size,block)", REFUSED },
	{ "reads=resize(size,block)", REFUSED },
	{ "reads=realloc(size,block) nothrow", PROVED },
	{ "reads_and_puts=alloc(size,*block)", REFUSED },
	{ "reads_and_puts=alloc(size,*block) nothrow", PROVED },
	// No frame is below these.
	{ "reads=free(block)", PROVED },
	{ "jumps=freeall(_)", PROVED },
};

static void check_child(const char *program, enum outcome copying)
{
	struct live_child child = live_child_start(program);
	struct live_target target;

	if (live_target_open(child.pid, &target)) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			check_outcome(&target, program, cases[i].text, cases[i].outcome);
		check_outcome(&target, program, "copies=alloc(size)", copying);
	}
	live_target_close(&target);
	live_child_stop(&child);
}

// A function that is called, and is not in memory what its file says, proves nothing.
static void check_changed(const char *program)
{
	struct live_child child = live_child_start(program);
	struct live_target target;
	struct elf_symbol symbol;
	char path[64];
	const char nop = (char)0x90;
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", child.pid);
	memory = open(path, O_RDWR);
	if (live_target_open(child.pid, &target) && memory >= 0) {
		const struct module *module = &target.modules.items[0];

		CHECK(elf_view_find_symbol(&module->elf, "calm", &symbol));
		check_outcome(&target, "unchanged", "by_pointer_argument=alloc(size,*block)", PROVED);
		CHECK_EQUAL(pwrite(memory, &nop, 1, (off_t)(module->load_bias + symbol.value + symbol.size - 1)), 1);
		check_outcome(&target, "changed", "by_pointer_argument=alloc(size,*block)", REFUSED);
		check_outcome(&target, "changed", "recurses=alloc(size)", PROVED);
	}
	close(memory);
	live_target_close(&target);
	live_child_stop(&child);
}

static uint64_t address_of(const struct live_target *target, size_t module, const char *name)
{
	struct elf_symbol symbol = { 0 };

	CHECK(elf_view_find_symbol(&target->modules.items[module].elf, name, &symbol));
	return target->modules.items[module].load_bias + symbol.value;
}

// What a slot holds counts, not its name.
static void check_slots(const char *program)
{
	struct live_child child = live_child_start(program);
	struct live_target target;
	struct libc_info libc;
	struct imports imports;
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", child.pid);
	memory = open(path, O_RDWR);
	if (live_target_open(child.pid, &target) && memory >= 0) {
		static const char *const names[] = { "mmap", "memcpy" };
		static const char *const texts[] = { "maps=alloc(size)", "copies=alloc(size)" };
		uint64_t bias = target.modules.items[0].load_bias;

		libc_identify(&target.modules, &libc);
		imports_read(&target.modules.items[0].elf, &imports);
		for (size_t i = 0; i < 2; i++) {
			const struct {
				const char *what;
				uint64_t word;
				enum outcome outcome;
			} words[] = {
				{ "a function of the program that reads", address_of(&target, 0, "helper_reads"),
				  WATCHED },
				{ "a function of the program", address_of(&target, 0, "calm"), PROVED },
				{ "the middle of a slot's way to the loader", 0, WATCHED },
				{ "read of the C library", address_of(&target, libc.module, "read"), WATCHED },
				{ "another quiet one", address_of(&target, libc.module, "getpid"), WATCHED },
				{ "a function in no module", 4096, WATCHED },
				{ "mmap of the C library", address_of(&target, libc.module, "mmap"),
				  i == 0 ? PROVED : WATCHED },
				{ "malloc", address_of(&target, libc.module, "malloc"), PROVED },
			};
			const struct import *import = NULL;
			uint64_t initial;

			for (size_t j = 0; j < imports.count; j++)
				if (strcmp(imports.items[j].name, names[i]) == 0)
					import = &imports.items[j];
			CHECK(import != NULL);
			if (!import)
				continue;
			CHECK_EQUAL(pread(memory, &initial, sizeof(initial), (off_t)(bias + import->vaddr)),
				    sizeof(initial));
			check_outcome(&target, "not bound", texts[i], PROVED);
			for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++) {
				uint64_t word = words[j].word ? words[j].word : initial + 1;

				CHECK_EQUAL(pwrite(memory, &word, sizeof(word), (off_t)(bias + import->vaddr)),
					    sizeof(word));
				check_outcome(&target, words[j].what, texts[i], words[j].outcome);
			}
		}
		imports_deinit(&imports);
	}
	close(memory);
	live_target_close(&target);
	live_child_stop(&child);
}

static bool count_questions(uint64_t address, const void *context)
{
	(void)address;
	++**(unsigned *const *)context;
	return false;
}

// What is said of a slot costs a walk through all symbols, and large functions call through it hundreds of times.
static void check_once(const char *program)
{
	struct live_child child = live_child_start(program);
	struct live_target target;

	if (live_target_open(child.pid, &target)) {
		const struct module *module = &target.modules.items[0];
		unsigned questions = 0, before;
		unsigned *const context = &questions;
		struct linkage_slots slots;
		struct imports imports;

		imports_read(&module->elf, &imports);
		linkage_slots_init(&target.modules, &target.memory, count_questions, &context, &slots);
		for (size_t i = 0; i < imports.count; i++)
			linkage_slots_find(&slots, module, module->load_bias + imports.items[i].vaddr);
		before = questions;
		CHECK(before > 0);
		for (size_t i = 0; i < imports.count; i++)
			linkage_slots_find(&slots, module, module->load_bias + imports.items[i].vaddr);
		CHECK_EQUAL(questions, before);
		CHECK_EQUAL(linkage_slots_find(&slots, module, module->load_bias).outcome, OUTCOME_unknown);
		linkage_slots_deinit(&slots);
		imports_deinit(&imports);
	}
	live_target_close(&target);
	live_child_stop(&child);
}

static bool is_helper(uint64_t address, const void *context)
{
	const struct live_target *target = context;

	for (size_t i = 0; i < target->modules.count; i++) {
		struct elf_symbol symbol;

		if (strstr(target->modules.items[i].path, "return_proof_library") &&
		    elf_view_find_symbol(&target->modules.items[i].elf, "help", &symbol))
			return address == target->modules.items[i].load_bias + symbol.value;
	}
	return false;
}

// The library's own functions are found by a slot that is bound only, allocators too: until then, a library that is
// loaded later may come before it.
static void check_helped(const char *program, enum outcome expected)
{
	struct live_child child = live_child_start(program);
	struct live_target target;

	if (live_target_open(child.pid, &target)) {
		const struct module *module = &target.modules.items[0];
		struct linkage_slots slots;
		struct imports imports;

		check_outcome(&target, program, "helped=alloc(size)", expected);
		imports_read(&module->elf, &imports);
		linkage_slots_init(&target.modules, &target.memory, is_helper, &target, &slots);
		for (size_t i = 0; i < imports.count; i++)
			if (strcmp(imports.items[i].name, "help") == 0)
				CHECK_EQUAL(
					linkage_slots_find(&slots, module, module->load_bias + imports.items[i].vaddr)
						.outcome,
					expected == PROVED ? OUTCOME_returns : OUTCOME_unknown);
		linkage_slots_deinit(&slots);
		imports_deinit(&imports);
	}
	live_target_close(&target);
	live_child_stop(&child);
}

// Slots are somewhere in the writable segment.
static void check_names(const char *program)
{
	struct live_child child = live_child_start(program);
	struct live_target target;
	struct imports imports;
	unsigned found = 0, wrong = 0;

	if (live_target_open(child.pid, &target)) {
		const struct elf_view *elf = &target.modules.items[0].elf;

		imports_read(elf, &imports);
		for (unsigned i = 0; i < elf->header.e_phnum; i++) {
			const Elf64_Phdr *segment = &elf->segments[i];

			for (uint64_t at = segment->p_vaddr; segment->p_type == PT_LOAD && segment->p_flags & PF_W &&
							     at < segment->p_vaddr + segment->p_filesz;
			     at++) {
				const struct import *import = imports_find(&imports, at);

				found += import && strcmp(import->name, "mmap") == 0;
				wrong += import && at % 8 != 0;
			}
		}
		CHECK_EQUAL(found, 1);
		CHECK_EQUAL(wrong, 0);
		CHECK(imports_find(&imports, 0) == NULL && imports_find(&imports, UINT64_MAX) == NULL);
		imports_deinit(&imports);
	}
	live_target_close(&target);
	live_child_stop(&child);
}

static void check_list(void)
{
	static const char *const points[] = { "read",
					      "write",
					      "open",
					      "close",
					      "fsync",
					      "msync",
					      "nanosleep",
					      "usleep",
					      "sleep",
					      "poll",
					      "select",
					      "accept",
					      "connect",
					      "recv",
					      "send",
					      "pthread_cond_wait",
					      "pthread_cond_timedwait",
					      "pthread_join",
					      "pthread_testcancel",
					      "sem_wait",
					      "sigsuspend",
					      "system",
					      "wait",
					      "waitpid",
					      "printf",
					      "fputs",
					      "fopen",
					      "pthread_rwlock_rdlock",
					      "syslog",
					      "pthread_exit",
					      "longjmp",
					      "siglongjmp",
					      "exit",
					      "qsort",
					      "bsearch",
					      "pthread_once",
					      "__assert_fail",
					      "syscall",
					      "dlopen",
					      "_Unwind_RaiseException",
					      "__cxa_throw",
					      "raise",
					      "" };

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		CHECK_EQUAL(quiet_name(points[i]), OUTCOME_unknown);
	CHECK_EQUAL(quiet_name("mmap"), OUTCOME_returns);
	CHECK_EQUAL(quiet_name("abort"), OUTCOME_ends);
}

int main(void)
{
	alarm(400); // before ctest gives up, under the thread sanitizer on a busy machine as well
	signal(SIGPIPE, SIG_IGN);
	check_list();
	check_child(CHILD_LAZY, PROVED);
	check_child(CHILD_NOW, PROVED);
	check_child(CHILD_BESIDE, WATCHED);
	check_child(CHILD_BESIDE_NOW, WATCHED);
	check_helped(CHILD_BESIDE, WATCHED);
	check_helped(CHILD_BESIDE_NOW, PROVED);
	check_slots(CHILD_LAZY);
	check_once(CHILD_LAZY);
	check_once(CHILD_NOW);
	check_changed(CHILD_LAZY);
	check_names(CHILD_LAZY);
	check_names(CHILD_NOW);
	return CHECK_RESULT();
}
