// SPDX-License-Identifier: Apache-2.0
// Whether a file is one that a new profile may replace, by its first bytes. Pure.
#ifndef HEAPSNAP_PROTO_KNOWN_PROFILE_H
#define HEAPSNAP_PROTO_KNOWN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

enum { KNOWN_PROFILE_BYTES = 4096 }; // that are enough

// `size` bytes, all of the file or KNOWN_PROFILE_BYTES of it at least. True: it is empty; or it begins as a pprof
// profile does, whoever has made it, compressed by gzip or not; or it is a page of heapsnap's. A gzip of anything else
// is no profile.
bool profile_is_known(const void *beginning, size_t size);

#endif
