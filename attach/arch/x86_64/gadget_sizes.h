// SPDX-License-Identifier: Apache-2.0
// Sizes of what attach/arch/gadget_code.h names, bytes.
#ifndef HEAPSNAP_ATTACH_ARCH_GADGET_SIZES_H
#define HEAPSNAP_ATTACH_ARCH_GADGET_SIZES_H

#define ARCH_ENTRY_CODE_SIZE        12
#define ARCH_ENTRY_SIGRETURN_OFFSET 3
#define ARCH_ENTRY_LEAVE_OFFSET     10

#endif
