// SPDX-License-Identifier: Apache-2.0
// Regions of ABI version 14, heapsnap 0.1. Frozen: nothing here changes when the present layout does.
#ifndef HEAPSNAP_ATTACH_REGION_LAYOUT_14_H
#define HEAPSNAP_ATTACH_REGION_LAYOUT_14_H

#include "attach/region/region_layout.h"

extern const struct region_layout region_layout_14;

#endif
