// SPDX-License-Identifier: Apache-2.0
// As of aarch64, without a body.
#ifndef HEAPSNAP_INJECT_ARCH_HANDLER_FRAME_H
#define HEAPSNAP_INJECT_ARCH_HANDLER_FRAME_H

#include "unwind/freestanding.h"

bool arch_has_signal_frame(uint64_t low, uint64_t high);

#endif
