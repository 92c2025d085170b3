// SPDX-License-Identifier: Apache-2.0
// The instruction that reads the thread pointer, in each register: what it becomes does the same, and nothing else
// becomes it.
#include "check.h"

#include "attach/arch/thread_pointer_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// push rbx, rbp, r12 .. r15; the load into a register; mov from it to rax; pop all; ret
static uint64_t run(uint8_t *place, const uint8_t *code, unsigned reg)
{
	static const uint8_t push[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57 };
	static const uint8_t pop[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3 };
	const uint8_t move[] = { (uint8_t)(0x48 | (reg & 8) >> 1), 0x89, (uint8_t)(0xc0 | (reg & 7) << 3) };
	uint8_t *at = place;
	uint64_t (*function)(void);

	memcpy(at, push, sizeof(push)), at += sizeof(push);
	memcpy(at, code, THREAD_POINTER_CODE_SIZE), at += THREAD_POINTER_CODE_SIZE;
	memcpy(at, move, sizeof(move)), at += sizeof(move);
	memcpy(at, pop, sizeof(pop));
	memcpy(&function, &place, sizeof(function));
	return function();
}

int main(void)
{
	uint8_t *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t pointer = (uint64_t)__builtin_thread_pointer();

	if (place == MAP_FAILED)
		return 1;
	if (!thread_pointer_code_is_allowed())
		CHECK_LEFT_OUT("no FSGSBASE here");
	for (unsigned reg = 0; reg < 16; reg++) {
		const uint8_t load[THREAD_POINTER_CODE_SIZE] = { 0x64, (uint8_t)(0x48 | (reg & 8) >> 1), 0x8b,
								 (uint8_t)(0x04 | (reg & 7) << 3), 0x25 };
		uint8_t code[THREAD_POINTER_CODE_SIZE];

		if (reg == 4) // the stack pointer
			continue;
		CHECK_EQUAL(run(place, load, reg), pointer);
		memcpy(code, load, sizeof(code));
		CHECK(thread_pointer_code_replace(code));
		CHECK(memcmp(code, load, sizeof(code)) != 0);
		if (thread_pointer_code_is_allowed())
			CHECK_EQUAL(run(place, code, reg), pointer);
		CHECK(!thread_pointer_code_replace(code)); // it is no load any more
		for (size_t i = 0; i < sizeof(load); i++) {
			memcpy(code, load, sizeof(code));
			code[i] ^= i == 1 ? 0x02 : i == 3 ? 0x40 : 0x01;
			CHECK(!thread_pointer_code_replace(code));
		}
	}
	munmap(place, 4096);
	return CHECK_RESULT();
}
