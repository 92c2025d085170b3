// SPDX-License-Identifier: Apache-2.0
// To read a profile that was written before, by heapsnap or by another program.
#ifndef HEAPSNAP_LIB_READ_PROFILE_H
#define HEAPSNAP_LIB_READ_PROFILE_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

// A pprof file, compressed or not; "-" = standard input. *ret is the caller's (heap_profile_deinit). HS_ERROR_SYSTEM,
// HS_ERROR_REFUSED, HS_ERROR_TIMEOUT, HS_ERROR_BAD_DATA: the message says "cannot read <path>: " and why.
struct hs_error *hs_read_profile(const char *path, struct heap_profile *ret) HS_MUST_CHECK;

#endif
