// SPDX-License-Identifier: Apache-2.0
// A pprof profile.proto message as a heap profile: ours, and those of other programs. Pure; the bytes are hostile.
#ifndef HEAPSNAP_PROTO_PPROF_PPROF_DECODER_H
#define HEAPSNAP_PROTO_PPROF_PPROF_DECODER_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

// *ret is owned by the caller (heap_profile_deinit); `data`, uncompressed, is only read and may go. HS_ERROR_BAD_DATA:
// no pprof profile, damaged, several in one, of something else than a heap, or so large that more than 4 GiB of memory
// would be needed; the message goes on after "cannot read FILE: ". HS_ERROR_NO_MEMORY.
//
// Names of functions and files are as the file has them, not made fit to be shown; a 0 byte ends them.
//
// Values. inuse_objects and inuse_space are the live ones, else objects and space (tcmalloc, heapprofd, V8);
// alloc_objects and alloc_space those since attach; other sample types are left. Spaces are in bytes. Negative values
// stay, and make it a difference.
//
// Of ours. All that the file has: values, labels, mappings, locations, functions, lines, time, duration, and what the
// comments say (comment_reader.h). What is lost: the order of locations and functions, those that no stack uses, the
// allocator's innermost frames; is_allocator (false), what a dump knows of modules beyond their mappings; bytes of
// names that are not printable are escapes. The standard errors have been rounded up, and where they would be below one
// interval they are that: then the variance is at most the interval's square, and what assumed errors say (below) where
// that is less.
//
// Of others (is_foreign). Values are estimates when the period is larger than 1 byte; the errors are assumed.
//
// Assumed errors, where a file has none for its stacks. A sampler with the mean interval R that finds a block of s
// bytes with the probability 1 - e^(-s/R) has a variance of at most s R in bytes and about R / s in blocks. So a stack
// has (live bytes) R and (live blocks)^2 R / (live bytes); where the file says the error of all, these are scaled to
// add up to it. Where a file says that all was recorded exactly, there are none (variances of 0).
struct hs_error *pprof_decode(const uint8_t *data, size_t size, struct heap_profile *ret) HS_MUST_CHECK;

#endif
