// SPDX-License-Identifier: Apache-2.0
// What the symbols of the C library say of its threads' control blocks. Pure.
#ifndef HEAPSNAP_ATTACH_ELF_LIBC_SYMBOLS_H
#define HEAPSNAP_ATTACH_ELF_LIBC_SYMBOLS_H

#include "attach/elf/modules.h"

// struct pthread of musl begins at the thread pointer and was never shorter; the words that the payload looks at are
// among these. src/internal/pthread_impl.h of 1.0 to 1.2.
#define MUSL_TCB_SIZE 128u

// Fills libc, tid_offset and tcb_size of the list; they stay 0 where the library is unknown.
void libc_symbols_read(struct module_list *modules);

#endif
