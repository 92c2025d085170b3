// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <libunwind-ptrace.h>

static unw_addr_space_t space;

bool reference_reset(void)
{
	if (space)
		unw_destroy_addr_space(space);
	space = unw_create_addr_space(&_UPT_accessors, 0);
	return space && unw_set_caching_policy(space, UNW_CACHE_GLOBAL) == 0;
}

static uint64_t read_register(unw_cursor_t *cursor, unw_regnum_t number)
{
	unw_word_t value;

	return unw_get_reg(cursor, number, &value) == 0 ? value : 0;
}

static void read_frame(unw_cursor_t *cursor, struct reference_frame *ret)
{
	ret->pc = read_register(cursor, UNW_X86_64_RIP);
	ret->sp = read_register(cursor, UNW_X86_64_RSP);
	ret->rbx = read_register(cursor, UNW_X86_64_RBX);
	ret->rbp = read_register(cursor, UNW_X86_64_RBP);
	ret->r12 = read_register(cursor, UNW_X86_64_R12);
	ret->r13 = read_register(cursor, UNW_X86_64_R13);
	ret->r14 = read_register(cursor, UNW_X86_64_R14);
	ret->r15 = read_register(cursor, UNW_X86_64_R15);
}

void reference_walk(pid_t tid, struct reference_stack *ret)
{
	void *context = _UPT_create(tid);
	unw_cursor_t cursor;

	ret->count = 0;
	ret->end = context ? unw_init_remote(&cursor, space, context) : -UNW_ENOMEM;
	if (ret->end == 0)
		ret->end = 1;
	while (ret->end > 0 && ret->count < REFERENCE_FRAMES_MAX) {
		struct reference_frame *frame = &ret->frames[ret->count++];

		read_frame(&cursor, frame);
		// True of the frame that the signal interrupted, not of the handler's return trampoline.
		frame->pc_is_exact = ret->count == 1 || unw_is_signal_frame(&cursor) > 0;
		ret->end = unw_step(&cursor);
	}
	if (context)
		_UPT_destroy(context);
}

const char *reference_error(int end)
{
	return end < 0 ? unw_strerror(end) : end == 0 ? "it says that the stack ends" : "there are more frames";
}
