// SPDX-License-Identifier: Apache-2.0
// The payload's description of a library that has just been loaded, from its own memory. Input: the memory, from the
// load address on. What the loader guarantees is guaranteed here too: the load segments and what the dynamic section
// points at are mapped.
#include "fuzz.h"

#include "inject/walk/elf_memory.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { AREA = 65536 };

static bool is_possible(const uint8_t *area, uint64_t dynamic)
{
	const Elf64_Ehdr *header = (const void *)area;

	for (size_t i = 0; i < (AREA - dynamic) / sizeof(Elf64_Dyn); i++) {
		const Elf64_Dyn *entry = (const void *)(area + dynamic + i * sizeof(Elf64_Dyn));

		if (entry->d_tag == DT_NULL)
			break;
		if ((entry->d_tag == DT_HASH || entry->d_tag == DT_GNU_HASH || entry->d_tag == DT_SYMTAB ||
		     entry->d_tag == DT_STRTAB) &&
		    entry->d_un.d_ptr - (entry->d_un.d_ptr < (uintptr_t)area ? 0 : (uintptr_t)area) >= AREA)
			return false;
	}
	if (header->e_phoff > HS_PAGE_SIZE || header->e_phoff % 8 || header->e_phnum > 64)
		return true; // refused
	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = (const void *)(area + header->e_phoff + (size_t)i * sizeof(*segment));

		if (segment->p_type == PT_LOAD &&
		    (segment->p_vaddr > AREA || segment->p_memsz > AREA - segment->p_vaddr ||
		     segment->p_filesz > segment->p_memsz))
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *area;
	struct module_record module = { 0 };
	uint16_t dynamic;

	if (!area) {
		// Between pages without access.
		area = mmap(NULL, AREA + 2 * HS_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area == MAP_FAILED || mprotect(area + HS_PAGE_SIZE, AREA, PROT_READ | PROT_WRITE) < 0)
			abort();
		area += HS_PAGE_SIZE;
	}
	if (size < 2 || size > AREA / 2)
		return 0;
	memset(area, 0, AREA);
	memcpy(area, data + 2, size - 2);
	memcpy(&dynamic, data, sizeof(dynamic));
	dynamic = dynamic % (AREA / 2) & 0xfff0;
	if (!is_possible(area, dynamic))
		return 0;
	if (elf_memory_describe((uintptr_t)area, (uintptr_t)area + dynamic, &module)) {
		REACHED();
		REQUIRE(module.start < module.end && module.build_id_size <= sizeof(module.build_id));
		if (module.eh_frame_hdr)
			REQUIRE(module.cfi_low <= module.eh_frame_hdr &&
				module.eh_frame_hdr_size <= module.cfi_high - module.eh_frame_hdr);
	}
	return 0;
}
