// SPDX-License-Identifier: Apache-2.0
// The file format of speedscope (https://www.speedscope.app/file-format-schema.json): four profiles of all stacks, by
// live bytes, live blocks, allocated bytes and allocated blocks. Of pprof files speedscope shows neither inlined
// functions nor code without a name.
#ifndef HEAPSNAP_PROTO_STACKS_SPEEDSCOPE_JSON_H
#define HEAPSNAP_PROTO_STACKS_SPEEDSCOPE_JSON_H

#include "base/error.h"
#include "views/named_profile.h"

#include <stdio.h>

// Writes to `file`, whose own errors are for the caller to see. Values that are not above 0 are left out. Code without
// a name is "module+0x1234", a stack without frames "[stack unknown]". HS_ERROR_NO_MEMORY.
struct hs_error *speedscope_json_write(const struct named_profile *named, FILE *file) HS_MUST_CHECK;

#endif
