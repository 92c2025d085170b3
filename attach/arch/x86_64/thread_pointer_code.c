// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/thread_pointer_code.h"

#include "inject/abi/payload_header.h"

#include <asm/hwcap2.h>
#include <string.h>
#include <sys/auxv.h>

bool thread_pointer_code_is_allowed(void) { return getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE; }

// Intel SDM volume 2. The load: 64 REX.W+R 8B /r, with ModRM mod 0, rm 4; SIB 25, disp32 0. RDFSBASE: F3 REX.W+B 0F AE
// /0, mod 3. 2E in front of it (a segment override that 64-bit mode ignores) makes it one instruction of the same
// length.
bool thread_pointer_code_replace(uint8_t *code)
{
	static const uint8_t tail[] = { 0x25, 0, 0, 0, 0 };
	uint8_t rex = code[1], modrm = code[3];

	if (code[0] != 0x64 || (rex & 0xfb) != 0x48 || code[2] != 0x8b || (modrm & 0xc7) != 0x04 ||
	    memcmp(code + 4, tail, sizeof(tail)) != 0)
		return false;
	memset(code, 0x2e, 4);
	code[4] = 0xf3;
	code[5] = rex & 4 ? 0x49 : 0x48;
	code[6] = 0x0f;
	code[7] = 0xae;
	code[8] = (uint8_t)(0xc0 | (modrm >> 3 & 7));
	return true;
}

bool thread_pointer_code_replace_in_image(uint8_t *image, size_t size)
{
	struct payload_header header;

	memcpy(&header, image, sizeof(header));
	if (header.thread_pointer_reads_end > size || header.thread_pointer_reads > header.thread_pointer_reads_end)
		return false;
	for (uint64_t at = header.thread_pointer_reads; at + sizeof(int32_t) <= header.thread_pointer_reads_end;
	     at += sizeof(int32_t)) {
		int32_t distance;
		int64_t place;

		memcpy(&distance, image + at, sizeof(distance));
		place = (int64_t)at + distance;
		if (place < 0 || (uint64_t)place + THREAD_POINTER_CODE_SIZE > size ||
		    !thread_pointer_code_replace(image + place))
			return false;
	}
	return true;
}

void thread_pointer_code_replace_in_fast_path(uint8_t *code, size_t size)
{
	for (size_t i = 0; i + THREAD_POINTER_CODE_SIZE <= size; i++)
		if (thread_pointer_code_replace(code + i))
			return;
}
