// SPDX-License-Identifier: Apache-2.0
// While a target stands still nothing is read that somebody else may have to provide: no file is opened or read but
// those of /proc, and no page of the target's memory is asked for that a file is behind. What was refused is kept until
// the next standstill (standstill.h), so that it can be read between the two.
#ifndef HEAPSNAP_ATTACH_GUARD_REFUSED_READS_H
#define HEAPSNAP_ATTACH_GUARD_REFUSED_READS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads are refused from here on, and what was refused before is forgotten. Called by standstill_begin and _end.
void refused_reads_begin(void);
void refused_reads_end(void);

// Asked before a file of the target is opened or read. HS_ERROR_REFUSED while it stands still; the caller does without,
// or fails.
struct hs_error *refused_reads_file(void) HS_MUST_CHECK;
// The error for a page of the target's memory that whoever provides its file would have to be asked for (FUSE, NFS):
// HS_ERROR_REFUSED, or HS_ERROR_FAULT of one that could not be had when it was asked for: behind the end of its file,
// say.
struct hs_error *refused_reads_page(uint64_t address) HS_MUST_CHECK;
// It stays so for the command.
void refused_reads_page_is_unobtainable(uint64_t address);

// The pages that were refused since the last standstill began, as far as there is room for them.
size_t refused_reads_pages(const uint64_t **ret);
// Whether a file or a page was refused since then: then let the target go, read it, and try again.
bool refused_reads_any(void);
// The error of that refusal.
struct hs_error *refused_reads_error(void) HS_MUST_CHECK;

#endif
