// SPDX-License-Identifier: Apache-2.0
// What the user's names of allocators stand for.
#ifndef HEAPSNAP_LIB_USER_ALLOCATORS_PARSE_H
#define HEAPSNAP_LIB_USER_ALLOCATORS_PARSE_H

#include "attach/hook/hook_addition.h"
#include "lib/user_allocators.h"

// Pure. Fills the buffer; *ret borrows it. HS_ERROR_BAD_DATA: too many, or one that cannot be understood.
struct hs_error *user_allocators_parse(const struct hs_user_allocators *names,
				       struct hook_addition buffer[HS_USER_ALLOCATORS_MAX],
				       struct hook_additions *ret) HS_MUST_CHECK;

#endif
