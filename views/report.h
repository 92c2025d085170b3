// SPDX-License-Identifier: Apache-2.0
// The rows of a profile: by function, line, file or module, or by what a sample says of its blocks. Pure.
//
// Estimates keep their error bars: a row's variances are the sums of those of its stacks.
#ifndef HEAPSNAP_VIEWS_REPORT_H
#define HEAPSNAP_VIEWS_REPORT_H

#include "views/place_groups.h"
#include "views/values.h"

// Something that a sample may say of its blocks: thread, class of size, class of age.
#define ATTRIBUTE_ABSENT UINT32_MAX
struct sample_attribute {
	const char *name; // for messages: "thread"
	// A small number for each value; ATTRIBUTE_ABSENT where the sample does not say.
	uint32_t (*value)(const struct heap_profile *profile, const struct profile_sample *sample);
	// What a value is called; *ret is owned by the caller.
	struct hs_error *(*text)(const struct heap_profile *profile, uint32_t value, char **ret);
	bool is_scale; // values are more and less of something: size, age
};

struct report_options {
	enum place_unit unit;
	const struct sample_attribute *attribute; // not NULL: rows by this, and `unit` says nothing
	// False: rows are the innermost places. True: all places; order and shares go by the cumulative values.
	bool is_cumulative;
	enum values_order order;
	bool in_scale;      // of an attribute that is a scale: rows from the least value up; `order` says which ones
	size_t limit;       // the most rows; 0 = all
	double share_least; // of the sum over all stacks without signs, 0 to 1: rows with less are among the others
	unsigned hidden;    // classes of frames that are left out of stacks (frame_class_bit)
	const bool *kept;   // of the profile's samples, as stack_filter_apply says; NULL = all
};

struct report_row {
	struct group_text text;       // of an attribute: its name only
	struct profile_values values; // of the stacks whose innermost place it is; of an attribute, of all that have it
	// Of the stacks with it anywhere, each counted once, however often it is there. These overlap, and have no sum.
	struct profile_values cumulative;
	bool has_cumulative;
	bool is_absent; // of an attribute: the samples that do not say
	uint32_t group; // the attribute's value; else arbitrary, another one for each row
	double size;    // what it is ordered by, without its sign; bytes, blocks or calls
};

struct report {
	struct report_row *rows; // in order, most first; by names: A first; in a scale: the least value first
	size_t count;
	struct profile_values others; // of the rows that are left out: `values` of all rows and this are `total`
	size_t others_count;          // how many; 0 = none
	struct profile_values total;  // of all stacks that were kept
	size_t stack_count;           // as many
	struct place_groups groups;   // what the rows' texts are of
	char **texts;                 // owned: names of an attribute's values
	size_t text_count;
};

// *ret is owned by the caller; `named` must live as long. HS_ERROR_NOT_FOUND: no sample says anything of that
// attribute; HS_ERROR_NO_MEMORY.
struct hs_error *report_make(const struct named_profile *named, const struct report_options *options,
			     struct report *ret) HS_MUST_CHECK;
void report_deinit(struct report *report);

#endif
