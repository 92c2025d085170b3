// SPDX-License-Identifier: Apache-2.0
// Functions that the user adds to those of the table: --allocator 'NAME=KIND [nothrow]'.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_ADDITION_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_ADDITION_H

#include "attach/hook/hook_layout.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { HOOK_ADDITIONS_MAX = 64, HOOK_ADDITION_NAME_SIZE = 128 };

struct hook_addition {
	char name[HOOK_ADDITION_NAME_SIZE]; // as in the symbol table
	struct hook_signature signature;    // of a generic kind
	bool nothrow;                       // the user's word: it neither throws nor is a cancellation point
};

// Each is believed wherever it is.
struct hook_additions {
	const struct hook_addition *items; // borrowed
	size_t count;
};

// Pure. "NAME=KIND", where KIND is a name of the table (it then has the same arguments), or a layout
// (attach/hook/hook_layout.h) other than new and renew. Behind it may stand the word nothrow. HS_ERROR_BAD_DATA says
// what is wrong.
struct hs_error *hook_addition_parse(const char *text, struct hook_addition *ret) HS_MUST_CHECK;

#endif
