// SPDX-License-Identifier: Apache-2.0
// How a function's arguments are read, written like a prototype. The grammar:
//
//   layout:    verb '(' argument { ',' argument } ')'     at most six arguments, spaces are allowed
//   verb:      alloc     makes a block, the result; null when there is none
//              string    makes a block that holds a string, and needs no more
//              realloc   makes a block in place of another; on failure the old one stays
//              reallocf  the same; on failure the old one is given back
//              resize    changes a block in place; the result is its usable size
//              free      gives a block back
//              chain     gives a list of blocks back, of which each holds the next one's address
//              freeall   gives all blocks of an arena, a heap or a pool back, which is only counted
//              new       makes a block, or calls a new-handler, or throws
//              renew     makes a block in place of another, or calls a new-handler, or throws
//   argument:  size      bytes of the (new) block; for free, of the block given back
//              count     so many times size
//              block     the (old) block
//              *block    alloc: where the block's address is put; realloc: where the old one is and the new one is put.
//                        The result is then an int, 0 on success
//              extra     resize: bytes beyond size that are welcome; chain: where in a block the next one's address
//                        is, in bytes (absent: 0)
//              _         anything else: an alignment, flags, a pool
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_LAYOUT_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_LAYOUT_H

#include "base/error.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/records.h"

#include <stdbool.h>

struct hook_signature {
	enum hook_kind kind;
	struct hook_layout layout;
};

// Pure. `generic`: never one of the quick kinds, which hand on only the arguments that they know of. HS_ERROR_BAD_DATA
// says what is wrong.
struct hs_error *hook_signature_parse(const char *text, bool generic, struct hook_signature *ret) HS_MUST_CHECK;

// Pure. The kind that reads the same layout and keeps the registers that the function does not change.
enum hook_kind hook_kind_generic(enum hook_kind kind);

#endif
