// SPDX-License-Identifier: Apache-2.0
// Functions of the target's that the user names besides the known ones.
#ifndef HEAPSNAP_LIB_USER_ALLOCATORS_H
#define HEAPSNAP_LIB_USER_ALLOCATORS_H

#include "base/error.h"

#include <stddef.h>

enum { HS_USER_ALLOCATORS_MAX = 64 };

// Each is "NAME=KIND" or "NAME=KIND nothrow", see --allocator in heapsnap-attach(1).
struct hs_user_allocators {
	const char *const *items; // borrowed, the texts too
	size_t count;             // at most HS_USER_ALLOCATORS_MAX
};

// Pure. Whether one of them can be understood; HS_ERROR_BAD_DATA says what is wrong.
struct hs_error *hs_user_allocator_check(const char *text) HS_MUST_CHECK;

#endif
