// SPDX-License-Identifier: Apache-2.0
// The registers that call frame information speaks of and a walk needs: those that a called function keeps, the stack
// pointer and the return address. Source: System V ABI x86-64 psABI, figures 3.4 (who keeps what) and 3.36 (numbers).
#ifndef HEAPSNAP_UNWIND_ARCH_DWARF_REGISTERS_H
#define HEAPSNAP_UNWIND_ARCH_DWARF_REGISTERS_H

// X(name, DWARF's number). Every architecture has FP, the frame pointer (rbp), SP, the stack pointer (rsp), and RA, the
// column of the return address; the other names are its own. At most 32.
#define HS_CFI_REGISTERS(X) X(RBX, 3) X(FP, 6) X(R12, 12) X(R13, 13) X(R14, 14) X(R15, 15) X(SP, 7) X(RA, 16)

#endif
