// SPDX-License-Identifier: Apache-2.0
#include "views/report.h"

#include "base/array.h"
#include "views/key_table.h"

#include <stdlib.h>
#include <string.h>

// The sums of one group.
struct group_sums {
	struct profile_values values, cumulative;
	uint32_t stamp; // number of the last sample that was counted, + 1: in recursion it comes again
	bool is_innermost;
};

struct reporting {
	const struct named_profile *named;
	const struct report_options *options;
	struct report *result;
	struct group_sums *sums;
	size_t sum_count, sum_room;
	double weight; // of all samples
	size_t row_room;
};

static bool is_kept(const struct report_options *options, size_t sample)
{
	return !options->kept || options->kept[sample];
}

// What belongs to the whole report.
static void count_sample(struct reporting *reporting, const struct profile_values *values)
{
	profile_values_add(&reporting->result->total, values);
	reporting->result->stack_count++;
	reporting->weight += values_weight(values, reporting->options->order);
}

static struct hs_error *add_stacks(struct reporting *reporting)
{
	const struct heap_profile *profile = reporting->named->profile;
	const struct place_groups *groups = &reporting->result->groups;
	struct stack_buffer stack = { 0 };
	struct hs_error *error = NULL;

	for (size_t i = 0; i < profile->sample_count && !error; i++) {
		const struct profile_values *values = &profile->samples[i].values;

		if (!is_kept(reporting->options, i))
			continue;
		error = stack_groups(groups, &profile->samples[i], reporting->options->hidden, &stack);
		if (error)
			break;
		count_sample(reporting, values);
		profile_values_add(&reporting->sums[stack.items[0]].values, values);
		reporting->sums[stack.items[0]].is_innermost = true;
		for (size_t j = 0; j < stack.count; j++) {
			struct group_sums *sums = &reporting->sums[stack.items[j]];

			if (sums->stamp != i + 1)
				profile_values_add(&sums->cumulative, values);
			sums->stamp = (uint32_t)(i + 1);
		}
	}
	stack_buffer_deinit(&stack);
	return error;
}

static struct hs_error *add_row(struct reporting *reporting, const struct report_row *row)
{
	struct report *report = reporting->result;
	struct hs_error *error = ARRAY_RESERVE(report->rows, report->count + 1, &reporting->row_room);

	if (!error)
		report->rows[report->count++] = *row;
	return error;
}

static struct hs_error *rows_of_places(struct reporting *reporting)
{
	struct report *report = reporting->result;
	struct hs_error *error = place_groups_make(reporting->named, reporting->options->unit, &report->groups);

	if (error)
		return error;
	reporting->sums = calloc(report->groups.count, sizeof(*reporting->sums));
	error = reporting->sums ? add_stacks(reporting) : &hs_error_no_memory;
	for (uint32_t i = 0; i < report->groups.count && !error; i++) {
		const struct group_sums *sums = &reporting->sums[i];

		if (!sums->is_innermost && (!sums->stamp || !reporting->options->is_cumulative))
			continue;
		error = add_row(reporting, &(struct report_row){
						   .text = group_text(&report->groups, i),
						   .values = sums->values,
						   .cumulative = sums->cumulative,
						   .has_cumulative = true,
						   .group = i,
					   });
	}
	return error;
}

static bool has_live(const struct profile_values *values)
{
	return values->live_bytes != 0 || values->live_objects != 0;
}

// A row for each value that comes; *said_ret: one of them says something; *has_unsaid_ret: of live blocks nothing is
// said.
static struct hs_error *add_attribute(struct reporting *reporting, struct key_table *values, bool *said_ret,
				      bool *has_unsaid_ret)
{
	const struct heap_profile *profile = reporting->named->profile;
	const struct sample_attribute *attribute = reporting->options->attribute;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const uint32_t value = attribute->value(profile, &profile->samples[i]);
		struct hs_error *error;
		uint32_t row = 0;
		bool is_new = false;

		*said_ret |= value != ATTRIBUTE_ABSENT;
		*has_unsaid_ret |= value == ATTRIBUTE_ABSENT && has_live(&profile->samples[i].values);
		if (!is_kept(reporting->options, i))
			continue;
		// what was freed has no labels, and where rows are of what is live, it has nothing to show
		if (value == ATTRIBUTE_ABSENT && !has_live(&profile->samples[i].values) &&
		    !values_order_is_allocated(reporting->options->order)) {
			count_sample(reporting, &profile->samples[i].values);
			continue;
		}
		error = key_add_number(values, value);
		if (!error)
			error = key_number(values, &row, &is_new);
		if (!error && is_new)
			error = add_row(reporting, &(struct report_row){
							   .text = { "unknown", "", "", "", 0, FRAME_UNKNOWN },
							   .is_absent = value == ATTRIBUTE_ABSENT,
							   .group = value,
						   });
		if (error)
			return error;
		count_sample(reporting, &profile->samples[i].values);
		profile_values_add(&reporting->result->rows[row].values, &profile->samples[i].values);
	}
	return NULL;
}

static struct hs_error *rows_of_attribute(struct reporting *reporting)
{
	const struct sample_attribute *attribute = reporting->options->attribute;
	struct report *report = reporting->result;
	struct key_table values = { 0 };
	bool is_said = false, has_unsaid = false;
	struct hs_error *error = add_attribute(reporting, &values, &is_said, &has_unsaid);

	key_table_deinit(&values);
	if (!error && !is_said && has_unsaid)
		error = hs_error_create(HS_ERROR_NOT_FOUND, "the profile does not say the %s of its blocks",
					attribute->name);
	if (!error) {
		report->texts = calloc(report->count + 1, sizeof(*report->texts));
		error = report->texts ? NULL : &hs_error_no_memory;
	}
	for (size_t i = 0; i < report->count && !error; i++) {
		struct report_row *row = &report->rows[i];

		if (row->is_absent)
			continue;
		error = attribute->text(reporting->named->profile, row->group, &report->texts[report->text_count]);
		if (!error)
			row->text.name = report->texts[report->text_count++];
	}
	return error;
}

static int by_name(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;
	int order = strcmp(a->text.name, b->text.name);

	if (!order)
		order = strcmp(a->text.full_name, b->text.full_name);
	if (!order)
		order = strcmp(a->text.file, b->text.file);
	if (!order)
		order = (a->text.line > b->text.line) - (a->text.line < b->text.line);
	return order ? order : (a->group > b->group) - (a->group < b->group);
}

static int by_size(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;
	int order = (a->size < b->size) - (a->size > b->size);

	if (!order && a->has_cumulative) // of a chain of calls that allocate in one place, that one comes first
		order = (a->values.live_bytes < b->values.live_bytes) - (a->values.live_bytes > b->values.live_bytes);
	return order ? order : by_name(left, right);
}

// What does not say its value comes last.
static int by_value(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;

	return (a->group > b->group) - (a->group < b->group);
}

// Sorts the rows, and makes those that are too small or too many the others.
static void order_rows(struct reporting *reporting)
{
	const struct report_options *options = reporting->options;
	struct report *report = reporting->result;
	const size_t all = report->count;

	for (size_t i = 0; i < all; i++) {
		struct report_row *row = &report->rows[i];
		bool is_cumulative = options->is_cumulative || options->order == ORDER_CUMULATIVE;

		row->size = values_size(is_cumulative && row->has_cumulative ? &row->cumulative : &row->values,
					options->order);
	}
	if (all > 0)
		qsort(report->rows, all, sizeof(*report->rows), options->order == ORDER_NAME ? by_name : by_size);
	report->count = 0;
	for (size_t i = 0; i < all; i++) {
		const struct report_row *row = &report->rows[i];
		const struct profile_values *values =
			options->is_cumulative && row->has_cumulative ? &row->cumulative : &row->values;

		if ((!options->limit || report->count < options->limit) &&
		    values_weight(values, options->order) >= options->share_least * reporting->weight) {
			report->rows[report->count++] = *row;
			continue;
		}
		profile_values_add(&report->others, &row->values);
		report->others_count++;
	}
	if (report->count > 0 && options->in_scale && options->attribute && options->attribute->is_scale)
		qsort(report->rows, report->count, sizeof(*report->rows), by_value);
}

struct hs_error *report_make(const struct named_profile *named, const struct report_options *options,
			     struct report *ret)
{
	struct reporting reporting = { .named = named, .options = options, .result = ret };
	struct hs_error *error;

	*ret = (struct report){ 0 };
	error = options->attribute ? rows_of_attribute(&reporting) : rows_of_places(&reporting);
	if (!error)
		order_rows(&reporting);
	free(reporting.sums);
	if (error)
		report_deinit(ret);
	return error;
}

void report_deinit(struct report *report)
{
	for (size_t i = 0; i < report->text_count; i++)
		free(report->texts[i]);
	free(report->texts);
	free(report->rows);
	place_groups_deinit(&report->groups);
	*report = (struct report){ 0 };
}
