// SPDX-License-Identifier: Apache-2.0
// Where a function begins and ends, by what its file says for unwinding.
#ifndef HEAPSNAP_ATTACH_ELF_FUNCTION_SPAN_H
#define HEAPSNAP_ATTACH_ELF_FUNCTION_SPAN_H

#include "attach/elf/elf_view.h"

// Where the function lies whose code `vaddr` is, by the unwind information that .eh_frame_hdr leads to: [*low_ret,
// *high_ret). false = it says nothing of it, or in another form than the usual one (a sorted table of distances of 4
// bytes, and such in the FDEs).
bool elf_view_function(const struct elf_view *view, uint64_t vaddr, uint64_t *low_ret, uint64_t *high_ret);

#endif
