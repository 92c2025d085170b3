// SPDX-License-Identifier: Apache-2.0
// Collapsed stacks, as flamegraph.pl and what came after it read them: a line for each stack, root first.
//
//   _start;main;shop::Server::handle();shop::Cache::put(int) 14901
//
// A semicolon in a name becomes a colon, what no terminal should get an escape (base/printable.h). A reader takes a
// number at the end of a line for the value, and one before that for a second value: of a name that ends with a blank
// and a number, the blank becomes an underscore. Code without a name is "module+0x1234", a stack without frames
// "[stack unknown]". Lines without a semicolon come last: Perfetto tells the format by the first three.
#ifndef HEAPSNAP_PROTO_STACKS_COLLAPSED_H
#define HEAPSNAP_PROTO_STACKS_COLLAPSED_H

#include "base/error.h"
#include "views/named_profile.h"

#include <stdio.h>

// Writes to `file`, whose own errors are for the caller to see. Values are live bytes; stacks without any are left out,
// and those below 0, which the format does not have. A stack may have several lines: readers add them up.
// HS_ERROR_NO_MEMORY.
struct hs_error *collapsed_write(const struct named_profile *named, FILE *file) HS_MUST_CHECK;

#endif
