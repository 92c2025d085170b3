// SPDX-License-Identifier: Apache-2.0
// Modules that cannot be read, and the slots for malloc of this very process.
#include "attach/hook/unread_allocator.h"
#include "check.h"
#include "live_child.h"

#include <dlfcn.h>

static struct live_target target;

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
	struct unread_module elsewhere = { path, reason, 1, 2, false, 0 }, of_used = elsewhere;
	const uint64_t address =
		(uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc"); // the C library's, or a sanitizer's
	size_t order, used = 0, lone = 0;

	if (!live_target_open(getpid(), &target))
		return 1;
	for (size_t i = 0; i < target.modules.count; i++)
		if (address >= target.modules.items[i].text_low && address < target.modules.items[i].text_high)
			used = i;
	order = target.modules.items[used].link_order;
	CHECK(address && order);
	of_used.start = target.modules.items[used].start;
	of_used.end = target.modules.items[used].end;
	for (size_t i = 0; i < target.modules.count; i++)
		if (target.modules.items[i].is_vdso)
			lone = i;
	CHECK(lone != 0);

	CHECK_EQUAL(outcome_of(NULL, 0, used), PASSES);
	CHECK_EQUAL(outcome_of(NULL, 0, HOOK_ANY_MODULE), PASSES);
	// A slot leads there, whatever the order.
	CHECK_EQUAL(outcome_of(&of_used, 1, used), IS_USED);
	CHECK_EQUAL(outcome_of((struct unread_module[]){ elsewhere, of_used }, 2, HOOK_ANY_MODULE), IS_USED);
	// A slot leads to the module that is read.
	CHECK_EQUAL(outcome_of(&elsewhere, 1, used), PASSES);
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
