// SPDX-License-Identifier: Apache-2.0
// The numbers of DWARF, as elfutils lists them. Constants only: nothing of libdw is called.
#ifndef HEAPSNAP_SNAPSHOT_DWARF_CONSTANTS_H
#define HEAPSNAP_SNAPSHOT_DWARF_CONSTANTS_H

#include <dwarf.h>

#endif
