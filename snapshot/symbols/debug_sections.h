// SPDX-License-Identifier: Apache-2.0
// The sections of debug information of an ELF file. Private to debug_info.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_SECTIONS_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUG_SECTIONS_H

#include "snapshot/dwarf/sections.h"

#include <libelf.h>

// Those that are compressed are uncompressed, in memory. Valid as long as `elf`; a section that cannot be read is as
// one that is missing.
void debug_sections_read(Elf *elf, struct debug_sections *ret);

#endif
