// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/gadget_code.h"

#define CODE(...)                                                                                                      \
	{                                                                                                              \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })                             \
	}

const struct arch_code arch_syscall_gadgets[] = {
	CODE(0x0f, 0x05, 0xc3), // syscall; ret
	{ NULL, 0 },
};

const struct arch_code arch_sigreturn_gadgets[] = {
	CODE(0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05), // mov $15,%rax; syscall
	CODE(0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05),             // mov $15,%eax; syscall
	{ NULL, 0 },
};

const struct arch_code arch_pop_gadgets[] = {
	CODE(0x58, 0xc3), // pop %rax; ret
	{ NULL, 0 },
};

const struct arch_code arch_leave_gadgets[] = {
	CODE(0xc9, 0xc3),                   // leave; ret
	CODE(0x48, 0x89, 0xec, 0x5d, 0xc3), // mov %rbp,%rsp; pop %rbp; ret
	{ NULL, 0 },
};

const uint8_t arch_entry_code[ARCH_ENTRY_CODE_SIZE] = {
	0x0f, 0x05, 0xc3, 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc9, 0xc3,
};
