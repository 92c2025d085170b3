// SPDX-License-Identifier: Apache-2.0
#include "proto/pprof/message_reader.h"

struct hs_error *message_error(void)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "it is no pprof profile, or it is damaged or cut short; write or "
						  "fetch the file again");
}

struct hs_error *message_read(struct byte_cursor message, message_take *take, void *into)
{
	for (;;) {
		struct hs_error *error = NULL;
		struct wire_field field;

		switch (wire_next(&message, &field)) {
		case WIRE_END:
			return NULL;
		case WIRE_BAD:
			return message_error();
		case WIRE_FIELD:
			error = take(&field, into);
		}
		if (error)
			return error;
	}
}

struct hs_error *message_take_number(const struct wire_field *field, void *into)
{
	struct message_numbers *numbers = into;

	if (field->number >= MESSAGE_NUMBERS || !(numbers->known & 1u << field->number))
		return NULL;
	if (field->type != WIRE_VARINT)
		return message_error();
	numbers->of[field->number] = field->value;
	return NULL;
}

static struct hs_error *count_frames(const struct wire_field *field, void *into)
{
	struct pprof_counts *counts = into;

	if (field->number > 3)
		return NULL;
	if (field->type != WIRE_BYTES && (field->type != WIRE_VARINT || field->number == 3))
		return message_error();
	if (field->number == 1)
		counts->frames += wire_count(field);
	return NULL;
}

static struct hs_error *count_lines(const struct wire_field *field, void *into)
{
	struct pprof_counts *counts = into;

	if (field->number != 4)
		return NULL;
	counts->lines++;
	return field->type == WIRE_BYTES ? NULL : message_error();
}

// Of a field of the profile's that is a message or a string, and there as often as one likes.
static struct hs_error *count_repeated(const struct wire_field *field, struct pprof_counts *counts)
{
	if (field->type != WIRE_BYTES)
		return message_error();
	switch (field->number) {
	case 1:
		counts->sample_types++;
		return NULL;
	case 2:
		counts->samples++;
		return message_read(field->bytes, count_frames, counts);
	case 3:
		counts->mappings++;
		return NULL;
	case 4:
		counts->locations++;
		return message_read(field->bytes, count_lines, counts);
	case 5:
		counts->functions++;
		return NULL;
	default:
		counts->strings++;
		return NULL;
	}
}

static struct hs_error *count(const struct wire_field *field, void *into)
{
	if (field->number <= 6)
		return count_repeated(field, into);
	if (field->number == 11)
		return field->type == WIRE_BYTES ? NULL : message_error();
	if (field->number == 13)
		return field->type == WIRE_BYTES || field->type == WIRE_VARINT ? NULL : message_error();
	if (field->number < MESSAGE_NUMBERS && PPROF_PROFILE_NUMBERS & 1u << field->number)
		return field->type == WIRE_VARINT ? NULL : message_error();
	return NULL;
}

struct hs_error *pprof_count(struct byte_cursor profile, struct pprof_counts *ret)
{
	*ret = (struct pprof_counts){ 0 };
	return message_read(profile, count, ret);
}
