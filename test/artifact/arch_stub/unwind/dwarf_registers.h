// SPDX-License-Identifier: Apache-2.0
// As of aarch64 (AADWARF64, "DWARF register names"; AAPCS64: x19 to x29 are kept). The return address is in x30.
#ifndef HEAPSNAP_UNWIND_ARCH_DWARF_REGISTERS_H
#define HEAPSNAP_UNWIND_ARCH_DWARF_REGISTERS_H

#define HS_CFI_REGISTERS(X)                                                                                            \
	X(X19, 19)                                                                                                     \
	X(X20, 20)                                                                                                     \
	X(X21, 21)                                                                                                     \
	X(X22, 22)                                                                                                     \
	X(X23, 23) X(X24, 24) X(X25, 25) X(X26, 26) X(X27, 27) X(X28, 28) X(FP, 29) X(SP, 31) X(RA, 30)

#endif
