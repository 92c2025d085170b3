// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_forward.h"

#include "attach/arch/code_step.h"
#include "attach/hook/exit_points.h"

#include <string.h>

struct question {
	const struct forward_code *function;
	const struct target_memory *memory;
	bool (*is_hooked)(uint64_t address, const void *context);
	const void *context;
	bool yes;
};

// The word that the loader has put into a slot of the module; 0 = unknown.
static uint64_t read_slot(const struct question *question, uint64_t slot)
{
	const struct module *module = question->function->module;
	uint64_t word;
	struct hs_error *error;

	if (slot < module->start || slot > module->end - sizeof(word))
		return 0;
	error = target_memory_read(question->memory, slot, &word, sizeof(word));
	if (!error)
		return word;
	hs_error_destroy(error);
	return 0;
}

static bool visit_stub(const struct code_branch *branch, void *context)
{
	*(struct code_branch *)context = *branch;
	return false;
}

// Where the entry of a procedure linkage table leads; `address` itself when it is something else.
static uint64_t through_stub(const struct question *question, uint64_t address)
{
	enum { STUB_SEEN = 16 };
	const struct module *module = question->function->module;
	const uint8_t *code = elf_view_bytes(&module->elf, address - module->load_bias, STUB_SEEN);
	struct code_branch branch = { 0 };
	uint64_t word;

	if (!code)
		return address;
	arch_scan_branches(code, STUB_SEEN, address, true, visit_stub, &branch);
	word = branch.slot ? read_slot(question, branch.slot) : 0;
	return word ? word : address;
}

static bool visit_branch(const struct code_branch *branch, void *context)
{
	struct question *question = context;
	uint64_t target = branch->slot ? read_slot(question, branch->slot) : through_stub(question, branch->target);

	question->yes = target && question->is_hooked(target, question->context);
	return !question->yes;
}

bool hook_forwards(const struct forward_code *function, bool calls, const struct target_memory *memory,
		   bool (*is_hooked)(uint64_t address, const void *context), const void *context)
{
	struct question question = { function, memory, is_hooked, context, false };

	arch_scan_branches(function->code, function->size, function->address, !calls, visit_branch, &question);
	return question.yes;
}

static bool leads_to_hooked(uint64_t target, uint64_t slot, void *context)
{
	const struct code_branch branch = { target, slot };

	return !visit_branch(&branch, context);
}

bool hook_always_forwards(const struct forward_code *function, const struct target_memory *memory,
			  bool (*is_hooked)(uint64_t address, const void *context), const void *context)
{
	struct question question = { function, memory, is_hooked, context, false };
	const struct whole_function whole = {
		.code = function->code, .size = function->size, .seen = function->size, .address = function->address
	};

	return exit_points_all_pass(&whole, leads_to_hooked, &question);
}
