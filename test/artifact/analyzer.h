// SPDX-License-Identifier: Apache-2.0
// What the static analyzer of clang-tidy cannot see from one file, said to it alone (tidy.py puts this before each file
// that reports errors): the functions that make an error never return NULL. It does not take that from the attribute
// returns_nonnull, and would follow paths on which a function failed and yet reported success.
#ifndef HEAPSNAP_TEST_ARTIFACT_ANALYZER_H
#define HEAPSNAP_TEST_ARTIFACT_ANALYZER_H

#include "base/error.h"

#define HS_NEVER_NULL(call)                                                                                            \
	({                                                                                                             \
		struct hs_error *made = (call);                                                                        \
		if (!made)                                                                                             \
			__builtin_unreachable();                                                                       \
		made;                                                                                                  \
	})
#define hs_error_create(...)     HS_NEVER_NULL((hs_error_create)(__VA_ARGS__))
#define hs_error_system(...)     HS_NEVER_NULL((hs_error_system)(__VA_ARGS__))
#define hs_error_with_errno(...) HS_NEVER_NULL((hs_error_with_errno)(__VA_ARGS__))
#define hs_error_prefix(...)     HS_NEVER_NULL((hs_error_prefix)(__VA_ARGS__))
#define hs_error_fault(...)      HS_NEVER_NULL((hs_error_fault)(__VA_ARGS__))

#endif
