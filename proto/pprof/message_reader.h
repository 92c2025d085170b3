// SPDX-License-Identifier: Apache-2.0
// Messages of a pprof profile, read field by field without a tree of them. Pure.
#ifndef HEAPSNAP_PROTO_PPROF_MESSAGE_READER_H
#define HEAPSNAP_PROTO_PPROF_MESSAGE_READER_H

#include "base/error.h"
#include "proto/pprof/wire_reader.h"

#include <stdint.h>

// Given each field of a message in the order of its bytes. What it does not know it leaves.
typedef struct hs_error *message_take(const struct wire_field *field, void *into);

// HS_ERROR_BAD_DATA: no message; and the errors of `take`, with which it ends.
struct hs_error *message_read(struct byte_cursor message, message_take *take, void *into) HS_MUST_CHECK;

// The error for bytes that are no message of the kind that they must be; the caller owns it.
struct hs_error *message_error(void) HS_MUST_CHECK;

// Most messages of pprof are numbers alone, a field each.
enum { MESSAGE_NUMBERS = 16 };

struct message_numbers {
	uint32_t known;               // bit i: field i is a number
	uint64_t of[MESSAGE_NUMBERS]; // by field; 0 = not there. Of one that is there twice, the last
};

// A message_take for one of them; `into` is a struct message_numbers. HS_ERROR_BAD_DATA: a known field is no number.
struct hs_error *message_take_number(const struct wire_field *field, void *into) HS_MUST_CHECK;

// The messages' fields that are numbers.
enum {
	PPROF_PROFILE_NUMBERS = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 14 | 1 << 15,
	PPROF_VALUE_TYPE_NUMBERS = 1 << 1 | 1 << 2,
	PPROF_LABEL_NUMBERS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4,
	PPROF_MAPPING_NUMBERS = 0x7fe, // 1 to 10
	PPROF_LOCATION_NUMBERS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5,
	PPROF_LINE_NUMBERS = 1 << 1 | 1 << 2 | 1 << 3,
	PPROF_FUNCTION_NUMBERS = 0x3e, // 1 to 5
};

// What a profile holds, as its messages say; each at most as many as it has bytes.
struct pprof_counts {
	uint64_t sample_types, samples, frames, mappings, locations, lines, functions, strings;
};

// Looks at all messages of a profile but those that hold numbers alone. Of the profile's own fields each has the type
// that it must have, afterwards. HS_ERROR_BAD_DATA.
struct hs_error *pprof_count(struct byte_cursor profile, struct pprof_counts *ret) HS_MUST_CHECK;

#endif
