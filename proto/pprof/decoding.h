// SPDX-License-Identifier: Apache-2.0
// What the files of the decoder share.
#ifndef HEAPSNAP_PROTO_PPROF_DECODING_H
#define HEAPSNAP_PROTO_PPROF_DECODING_H

#include "base/byte_cursor.h"
#include "base/error.h"
#include "proto/pprof/comment_reader.h"
#include "proto/pprof/id_table.h"
#include "proto/pprof/message_reader.h"
#include "proto/pprof/sample_kinds.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stdint.h>

struct decoder {
	struct byte_cursor data;
	struct heap_profile *profile; // with room for all that was counted
	struct pprof_counts counts;
	struct message_numbers header, period_type;
	struct byte_cursor *strings; // owned
	uint32_t string_count;
	uint32_t *label_text_of; // owned; of each string its number among the texts of labels, + 1; 0 = none
	struct sample_kinds kinds;
	struct id_table mappings, functions, locations;
	size_t label_text_room;
	uint64_t texts_left; // bytes
	struct comment_reader comments;
	bool is_ours;
	bool samples_have_errors; // in labels
};

// One of the profile's messages that is numbers alone. HS_ERROR_BAD_DATA.
struct hs_error *decoder_numbers(const struct wire_field *field, uint32_t known,
				 struct message_numbers *ret) HS_MUST_CHECK;

// HS_ERROR_BAD_DATA: there is no such string. *ret may be NULL.
struct hs_error *decoder_text(const struct decoder *decoder, uint64_t index, struct byte_cursor *ret) HS_MUST_CHECK;

// Takes bytes of memory from what the texts may have. HS_ERROR_BAD_DATA: they become too many.
struct hs_error *decoder_charge(struct decoder *decoder, uint64_t size) HS_MUST_CHECK;

// A copy, which ends at its first 0 byte. *ret is owned by the caller. HS_ERROR_BAD_DATA: there is no such string, or
// the copies become too many; HS_ERROR_NO_MEMORY.
struct hs_error *decoder_copy_text(struct decoder *decoder, uint64_t index, char **ret) HS_MUST_CHECK;

// Errors for what refers to something that is not there, and for an id that is 0 or there twice; the caller owns them.
struct hs_error *decoder_refuse_reference(const char *what, uint64_t id) HS_MUST_CHECK;
struct hs_error *decoder_refuse_id(const char *what, uint64_t id) HS_MUST_CHECK;

// message_take, into a struct decoder, for the profile's fields, in the order in which they have to be called. Each
// takes its own fields: mappings, functions and comments; locations with their lines; samples.
// HS_ERROR_BAD_DATA, HS_ERROR_NO_MEMORY.
struct hs_error *decoder_take_named(const struct wire_field *field, void *into) HS_MUST_CHECK;
struct hs_error *decoder_take_location(const struct wire_field *field, void *into) HS_MUST_CHECK;
struct hs_error *decoder_take_sample(const struct wire_field *field, void *into) HS_MUST_CHECK;

#endif
