// SPDX-License-Identifier: Apache-2.0
// A profile into a file, in the format that is asked for or that its name says.
#ifndef HEAPSNAP_LIB_PROFILE_WRITER_H
#define HEAPSNAP_LIB_PROFILE_WRITER_H

#include "base/error.h"
#include "lib/profile_format.h"
#include "proto/output_file.h"
#include "views/profile_view.h"
#include "views/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_point; // proto/page/page.h

struct profile_writer {
	struct output_file file;
	enum profile_format format; // all but pprof need names
};

struct profile_writing {
	const struct heap_profile *profile;
	const struct named_profile *named; // of the same; NULL: nothing but pprof can be written, which hides no frame
	const char *compared_with;         // of a difference: what was taken off; NULL = it is none
	bool errors;                       // label each stack with its number of samples and its standard errors
	const struct verdict *verdict;     // a page's; NULL = none
	const struct page_point *series;   // likewise
	size_t series_count;
};

// *ret is the caller's until it is discarded; `path` NULL: nothing is to be written. Errors as of
// output_file_create; HS_ERROR_REFUSED: this program has no page.
struct hs_error *profile_writer_open(const char *path, enum profile_format format,
				     struct profile_writer *ret) HS_MUST_CHECK;
// Afterwards only discard is left to do. *size_ret: bytes of the file. HS_ERROR_REFUSED: the format has no negative
// values, which a difference has.
struct hs_error *profile_writer_write(struct profile_writer *writer, const struct profile_writing *what,
				      uint64_t *size_ret) HS_MUST_CHECK;
// Safe after writing, and on a zeroed struct.
void profile_writer_discard(struct profile_writer *writer);

#endif
