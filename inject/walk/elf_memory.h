// SPDX-License-Identifier: Apache-2.0
// A loaded ELF object described from its own memory.
#ifndef HEAPSNAP_INJECT_WALK_ELF_MEMORY_H
#define HEAPSNAP_INJECT_WALK_ELF_MEMORY_H

#include "inject/payload.h"

// Fills place, unwind information and build id of an object that the dynamic loader has mapped: `bias` and the address
// of its dynamic section are the loader's. Reads only what the loader must have mapped. false = its headers are not in
// memory.
bool elf_memory_describe(uint64_t bias, uint64_t dynamic, struct module_record *ret) HS_HIDDEN;

#endif
