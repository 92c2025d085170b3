// SPDX-License-Identifier: Apache-2.0
// As of aarch64.
#ifndef HEAPSNAP_ATTACH_ARCH_ELF_TYPES_H
#define HEAPSNAP_ATTACH_ARCH_ELF_TYPES_H

#include <elf.h>

#define ARCH_NAME                 "aarch64"
#define ARCH_ELF_MACHINE          EM_AARCH64
#define ARCH_RELOCATION_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define ARCH_RELOCATION_GLOB_DAT  R_AARCH64_GLOB_DAT

#endif
