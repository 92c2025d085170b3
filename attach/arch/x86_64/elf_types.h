// SPDX-License-Identifier: Apache-2.0
// What ELF calls the architecture and its relocations (psABI, "Relocation Types").
#ifndef HEAPSNAP_ATTACH_ARCH_ELF_TYPES_H
#define HEAPSNAP_ATTACH_ARCH_ELF_TYPES_H

#include <elf.h>

#define ARCH_NAME        "x86-64"
#define ARCH_ELF_MACHINE EM_X86_64

// A word that the dynamic loader fills with a function's address: of the linkage table, and others.
#define ARCH_RELOCATION_JUMP_SLOT R_X86_64_JUMP_SLOT
#define ARCH_RELOCATION_GLOB_DAT  R_X86_64_GLOB_DAT

#endif
