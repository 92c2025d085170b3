// SPDX-License-Identifier: Apache-2.0
// Whether a file is one that a new profile may replace, by its first bytes. Pure.
#ifndef HEAPSNAP_PROTO_KNOWN_PROFILE_H
#define HEAPSNAP_PROTO_KNOWN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

enum { KNOWN_PROFILE_BYTES = 16384 }; // that are enough

// `size` bytes, all of the file or KNOWN_PROFILE_BYTES of it at least. True: it is empty; it begins as a pprof profile
// does, whoever has made it, compressed by gzip or not; it is a page, a JSON profile or a speedscope profile of
// heapsnap's; or all its lines that stand whole among the bytes are collapsed stacks, whoever has made them, the first
// one of two frames or more: of one frame alone, any words before a number would pass for it. A gzip of anything else
// than pprof is no profile.
bool profile_is_known(const void *beginning, size_t size);

// What bytes that are no pprof profile are instead: "a JSON profile of heapsnap's", "a page (HTML)", "collapsed stacks"
// and the like, which heapsnap writes and does not read. NULL = nothing that is known here.
const char *profile_other_format(const void *beginning, size_t size);

#endif
