// SPDX-License-Identifier: Apache-2.0
// A function that ends with a jump to wherever a variable says cannot be watched: with the user's word (`nothrow`) it
// runs below a frame of the payload's.
#ifndef TARGETS_JUMP_OUT_H
#define TARGETS_JUMP_OUT_H

__attribute__((noipa)) static void *give_back(void *block) { return block; }

static void *(*volatile jump_out)(void *) = give_back; // return jump_out(block);

#endif
