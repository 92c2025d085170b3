// SPDX-License-Identifier: Apache-2.0
// Modules that cannot be read, and the slots for malloc of this very process.
#include "attach/elf/libc.h"
#include "attach/hook/unread_allocator.h"
#include "check.h"
#include "live_child.h"

static struct live_target target;
static size_t libc_index;

enum outcome { PASSES, IS_USED, MAY_BE_USED };

static enum outcome outcome_of(struct unread_module *unread, size_t count, size_t used)
{
	struct module_list modules = target.modules;
	enum outcome outcome = PASSES;
	struct hs_error *error;

	modules.unread = unread;
	modules.unread_count = count;
	error = unread_allocator_refuse(&modules, used, &target.memory);
	if (error)
		outcome = strstr(error->message, " may allocate by ")                                   ? MAY_BE_USED
			  : strstr(error->message, " allocates by ") && error->code == HS_ERROR_REFUSED ? IS_USED
													: PASSES;
	CHECK(!error || (strstr(error->message, "unread.so") && strstr(error->message, "gone")));
	hs_error_destroy(error);
	return outcome;
}

int main(void)
{
	static char path[] = "unread.so", reason[] = "gone";
	struct unread_module elsewhere = { path, reason, 1, 2, false, 0 }, of_libc = elsewhere;
	struct libc_info libc;
	struct elf_symbol symbol;
	size_t order, lone = 0;

	free(malloc(1));
	if (!live_target_open(getpid(), &target))
		return 1;
	libc_identify(&target.modules, &libc);
	libc_index = libc.module;
	order = target.modules.items[libc_index].link_order;
	CHECK(elf_view_find_symbol(&target.modules.items[libc_index].elf, "malloc", &symbol));
	of_libc.start = target.modules.items[libc_index].start;
	of_libc.end = target.modules.items[libc_index].end;
	for (size_t i = 0; i < target.modules.count; i++)
		if (target.modules.items[i].is_vdso)
			lone = i;
	CHECK(lone != 0);

	CHECK_EQUAL(outcome_of(NULL, 0, libc_index), PASSES);
	CHECK_EQUAL(outcome_of(NULL, 0, HOOK_ANY_MODULE), PASSES);
	// A slot leads there, whatever the order.
	CHECK_EQUAL(outcome_of(&of_libc, 1, libc_index), IS_USED);
	CHECK_EQUAL(outcome_of((struct unread_module[]){ elsewhere, of_libc }, 2, HOOK_ANY_MODULE), IS_USED);
	// A slot leads to the module that is read.
	CHECK_EQUAL(outcome_of(&elsewhere, 1, libc_index), PASSES);
	// None leads to the module that seems to be used: then the order decides.
	target.modules.items[lone].link_order = order;
	CHECK_EQUAL(outcome_of(&elsewhere, 1, lone), MAY_BE_USED);
	elsewhere.link_order = order - 1;
	CHECK_EQUAL(outcome_of(&elsewhere, 1, lone), MAY_BE_USED);
	elsewhere.link_order = order + 1;
	CHECK_EQUAL(outcome_of(&elsewhere, 1, lone), PASSES);
	CHECK_EQUAL(outcome_of(&elsewhere, 1, HOOK_ANY_MODULE), MAY_BE_USED);
	live_target_close(&target);
	return CHECK_RESULT();
}
