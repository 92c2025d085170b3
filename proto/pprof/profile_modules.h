// SPDX-License-Identifier: Apache-2.0
// The modules of a profile that was read from a file, which has mappings alone. Pure.
#ifndef HEAPSNAP_PROTO_PPROF_PROFILE_MODULES_H
#define HEAPSNAP_PROTO_PPROF_PROFILE_MODULES_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

// Makes profile->modules of the mappings, and gives each location the one of its mapping. The mappings of one file are
// one module as far as they have one load bias: that of a mapping is start - file_offset, so that address - load_bias
// is the place in the file, which in nearly every file is the virtual address of code. Mappings without a file
// (anonymous, made by the kernel) have none. The first mapping's is the main module.
// HS_ERROR_NO_MEMORY. pre: there are no modules
struct hs_error *profile_modules_make(struct heap_profile *profile) HS_MUST_CHECK;

#endif
