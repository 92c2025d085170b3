// SPDX-License-Identifier: Apache-2.0
// As of aarch64: a frame record is the frame pointer and, in the word above it, the return address (AAPCS64).
#ifndef HEAPSNAP_UNWIND_ARCH_RETURN_ADDRESS_H
#define HEAPSNAP_UNWIND_ARCH_RETURN_ADDRESS_H

#define RETURN_ADDRESS_SLOT(frame_pointer_slot) ((frame_pointer_slot) ? (frame_pointer_slot)-1 : 0)

#endif
