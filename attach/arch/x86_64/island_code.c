// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/island_code.h"

#include <string.h>

// lea -23(%rip),%r11 (the start of this island) ; jmp *(%r11) (its field `entry`).
static const uint8_t stub[] = { 0x4c, 0x8d, 0x1d, 0xe9, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23 };
// mov %r11,-120(%rsp) ; lea -28(%rip),%r11 ; jmp *(%r11).
static const uint8_t keeping_stub[] = { 0x4c, 0x89, 0x5c, 0x24, 0x88, 0x4c, 0x8d, 0x1d,
					0xe4, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23 };

bool arch_island_has_stub(const struct hook_island *island)
{
	bool keeps = memcmp(island->stub, keeping_stub, sizeof(keeping_stub)) == 0;

	if (island->kind >= HOOK_KIND_COUNT) // of a later version
		return keeps || memcmp(island->stub, stub, sizeof(stub)) == 0;
	if (hook_kind_keeps_registers((enum hook_kind)island->kind))
		return keeps;
	return memcmp(island->stub, stub, sizeof(stub)) == 0;
}

void arch_fill_island(uint64_t entry, uint32_t hook_index, enum hook_kind kind,
		      const struct relocation_result *relocation, struct hook_island *ret)
{
	_Static_assert(HS_ISLAND_STUB_OFFSET + 7 == 23 && HS_ISLAND_STUB_OFFSET + 12 == 28,
		       "the displacement leads back over the stub's offset and what stands in it up to the lea's end");
	_Static_assert(sizeof(stub) <= sizeof(ret->stub) && sizeof(keeping_stub) <= sizeof(ret->stub),
		       "the stub has room");
	_Static_assert(offsetof(struct hook_island, entry) == 0, "jmp *(%r11)");
	*ret = (struct hook_island){ .entry = entry, .hook_index = hook_index, .kind = kind };
	ret->begin = HS_ISLAND_STUB_OFFSET;
	memset(ret->stub, 0xcc, sizeof(ret->stub));
	memset(ret->inline_fast_path, 0xcc, sizeof(ret->inline_fast_path));
	memset(ret->trampoline, 0xcc, sizeof(ret->trampoline));
	if (hook_kind_keeps_registers(kind))
		memcpy(ret->stub, keeping_stub, sizeof(keeping_stub));
	else
		memcpy(ret->stub, stub, sizeof(stub));
	memcpy(ret->trampoline, relocation->bytes, relocation->size);
}
