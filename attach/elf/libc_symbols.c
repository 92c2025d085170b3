// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/libc_symbols.h"

#include <string.h>

// What the symbols of one module say.
struct libc_search {
	const struct elf_view *elf;
	uint64_t tid_offset, tcb_size; // glibc
	// musl's loader looks these two up by name; of a static program's three all must be there.
	bool has_dls2b, has_dls3, has_init_tp, has_copy_tls, has_tsd_size;
};

static void take_glibc_symbol(const struct elf_symbol *symbol, struct libc_search *search)
{
	const uint8_t *bytes;

	if (strcmp(symbol->name, "_thread_db_pthread_tid") == 0) {
		// DESC of glibc's nptl_db: size in bits, number of elements, offset in bytes.
		uint32_t field[3];

		bytes = elf_view_bytes(search->elf, symbol->value, sizeof(field));
		if (bytes) {
			memcpy(field, bytes, sizeof(field));
			if (field[0] == 32 && field[1] == 1)
				search->tid_offset = field[2];
		}
	} else if (strcmp(symbol->name, "_thread_db_sizeof_pthread") == 0) {
		uint32_t size;

		bytes = elf_view_bytes(search->elf, symbol->value, sizeof(size));
		if (bytes) {
			memcpy(&size, bytes, sizeof(size));
			search->tcb_size = size;
		}
	}
}

static bool take_symbol(const struct elf_symbol *symbol, void *context)
{
	struct libc_search *search = context;

	if (symbol->name[0] != '_' || symbol->name[1] != '_') {
		if (symbol->type == STT_OBJECT && strncmp(symbol->name, "_thread_db_", 11) == 0)
			take_glibc_symbol(symbol, search);
		return true;
	}
	search->has_dls2b |= symbol->dynamic && strcmp(symbol->name, "__dls2b") == 0;
	search->has_dls3 |= symbol->dynamic && strcmp(symbol->name, "__dls3") == 0;
	search->has_init_tp |= strcmp(symbol->name, "__init_tp") == 0;
	search->has_copy_tls |= strcmp(symbol->name, "__copy_tls") == 0;
	search->has_tsd_size |= strcmp(symbol->name, "__pthread_tsd_size") == 0;
	return true;
}

void libc_symbols_read(struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct libc_search search = { .elf = &modules->items[i].elf };

		if (modules->items[i].is_vdso)
			continue;
		hs_error_destroy(elf_view_symbols(search.elf, take_symbol, &search));
		// Both must come from one libc and agree; else neither is believed.
		if (search.tid_offset && search.tcb_size >= 4 && search.tid_offset <= search.tcb_size - 4) {
			modules->libc = LIBC_glibc;
			modules->tid_offset = search.tid_offset;
			modules->tcb_size = search.tcb_size;
			return;
		}
		if ((modules->items[i].is_loader && search.has_dls2b && search.has_dls3) ||
		    (modules->items[i].is_main && search.has_init_tp && search.has_copy_tls && search.has_tsd_size)) {
			modules->libc = LIBC_musl; // the id is looked for in real threads
			modules->tcb_size = MUSL_TCB_SIZE;
			return;
		}
	}
}
