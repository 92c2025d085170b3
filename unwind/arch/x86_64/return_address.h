// SPDX-License-Identifier: Apache-2.0
// Where a frame has its return address.
#ifndef HEAPSNAP_UNWIND_ARCH_RETURN_ADDRESS_H
#define HEAPSNAP_UNWIND_ARCH_RETURN_ADDRESS_H

// In a frame that has saved its caller's frame pointer `frame_pointer_slot` words below the canonical frame address (0
// = it has not), the return address is so many words below that address. 0 = it is in no place that follows from this,
// and such a row does not pack. Here the call itself pushes it, always.
#define RETURN_ADDRESS_SLOT(frame_pointer_slot) 1

#endif
