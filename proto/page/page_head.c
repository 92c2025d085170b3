// SPDX-License-Identifier: Apache-2.0
#include "proto/page/page_head.h"

#include "base/cleanup.h"
#include "base/printable.h"
#include "proto/page/page_tree.h"
#include "views/completeness.h"
#include "views/json_parts.h"
#include "views/other_heaps.h"

static const int64_t NS_PER_MS = 1000000;

// A text that may come from the target. NULL is written as null.
static struct hs_error *write_text(struct json *json, const char *key, const char *text)
{
	HS_CLEANUP_FREE char *printable = text ? hs_printable(text) : NULL;

	if (text && !printable)
		return &hs_error_no_memory;
	if (printable)
		json_string(json, key, printable);
	else
		json_null(json, key);
	return NULL;
}

// What is found of a process that was watched, each with its reasons.
static struct hs_error *write_verdict(const struct verdict *verdict, struct json *json)
{
	struct hs_error *error = NULL;

	json_open(json, "verdict", '[');
	for (size_t i = 0; verdict && i < verdict->count && !error; i++) {
		const struct finding *finding = &verdict->findings[i];

		json_open(json, NULL, '{');
		error = write_text(json, "text", finding->text);
		json_open(json, "reasons", '[');
		for (size_t k = 0; k < finding->reason_count && !error; k++)
			error = write_text(json, NULL, finding->reasons[k]);
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
	return error;
}

static struct hs_error *write_names(const struct heap_profile *profile, const struct page_options *options,
				    struct json *json)
{
	const char *program = options->program ? options->program : profile->program ? profile->program : "";
	struct hs_error *error = write_text(json, "title",
					    options->title  ? options->title
					    : profile->name ? profile->name
							    : program);

	if (!error)
		error = write_text(json, "program", program);
	if (!error)
		error = write_text(json, "compared_with", options->compared_with);
	return error ? error : write_verdict(options->verdict, json);
}

static void write_total(const struct heap_profile *profile, struct json *json)
{
	const struct profile_values *total = &profile->total;
	int64_t values[PAGE_VALUES];

	page_values_of(total, values);
	json_open(json, "total", '[');
	for (int i = 0; i < page_value_count(profile); i++)
		json_integer(json, NULL, values[i]);
	json_close(json, ']');
	json_number(json, "bytes_error", profile_bytes_error(profile, total->live_bytes_variance));
	json_number(
		json, "objects_error",
		profile_objects_error(profile, total->live_objects_variance, total->live_objects, total->live_bytes));
}

// How it was recorded: seconds, bytes, and milliseconds since 1970.
static void write_facts(const struct heap_profile *profile, const struct page_options *options, struct json *json)
{
	json_integer(json, "pid", options->pid ? options->pid : profile->pid);
	json_integer(json, "time", (options->time_ns ? options->time_ns : profile->time_ns) / NS_PER_MS);
	json_real(json, "duration", (double)profile->duration_ns / 1e9);
	json_integer(json, "period", profile->period);
	json_integer(json, "interval_most", profile->interval_most);
	json_bool(json, "estimate", profile->is_estimate);
	json_bool(json, "stopped", profile->is_stopped);
	json_number(json, "stacks", profile->sample_count);
}

// As a screen says it: views/completeness.h. Of a difference there is nothing to say.
static struct hs_error *write_completeness(const struct heap_profile *profile, const struct page_options *options,
					   struct json *json)
{
	HS_CLEANUP_FREE char *text = NULL;
	bool is_complete = true;
	struct hs_error *error = options->compared_with ? NULL : completeness_text(profile, &is_complete, &text);

	json_bool(json, "complete", is_complete);
	return error ? error : write_text(json, "completeness", text);
}

// What of the process is in here.
static struct hs_error *write_extent(const struct heap_profile *profile, const struct page_options *options,
				     struct json *json)
{
	struct hs_error *error = write_text(json, "selection", profile->selection);

	memory_put_json(json, &profile->memory);
	if (!error)
		error = write_text(json, "other_heap", other_heap_text(profile));
	return error ? error : write_completeness(profile, options, json);
}

static struct hs_error *write_ledger(const struct heap_profile *profile, struct json *json)
{
	struct hs_error *error = NULL;

	json_open(json, "ledger", '[');
	for (size_t i = 0; i < profile->ledger_count && !error; i++) {
		const struct ledger_line *line = &profile->ledger[i];

		json_open(json, NULL, '{');
		error = write_text(json, "name", line->name);
		if (!error)
			error = write_text(json, "text", line->text);
		json_number(json, "value", line->value);
		json_bool(json, "loss", line->is_loss);
		json_bool(json, "fact", line->is_fact);
		json_close(json, '}');
	}
	json_close(json, ']');
	return error;
}

static void write_series(const struct page_options *options, struct json *json)
{
	json_open(json, "series", '[');
	for (size_t i = 0; i < options->series_count; i++) {
		const struct page_point *point = &options->series[i];

		json_open(json, NULL, '[');
		json_real(json, NULL, point->seconds);
		json_number(json, NULL, point->rss);
		json_integer(json, NULL, point->live);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static struct hs_error *write_mappings(const struct heap_profile *profile, struct json *json)
{
	struct hs_error *error = NULL;

	json_open(json, "mappings", '[');
	for (size_t i = 0; i < profile->mapping_count && !error; i++) {
		json_open(json, NULL, '[');
		error = write_text(json, NULL, profile->mappings[i].file);
		if (!error)
			error = write_text(json, NULL, profile->mappings[i].build_id);
		json_close(json, ']');
	}
	json_close(json, ']');
	return error;
}

struct hs_error *page_head_write(const struct heap_profile *profile, const struct page_options *options,
				 const struct page_counts *counts, struct json *json)
{
	struct hs_error *error;

	json_open(json, "head", '{');
	json_number(json, "layout", 1);
	error = write_names(profile, options, json);
	write_facts(profile, options, json);
	write_total(profile, json);
	if (!error)
		error = write_extent(profile, options, json);
	json_number(json, "strings", counts->strings);
	json_number(json, "places", counts->places);
	json_number(json, "nodes", counts->nodes);
	json_number(json, "sites", counts->sites);
	write_series(options, json);
	if (!error)
		error = write_mappings(profile, json);
	if (!error)
		error = write_ledger(profile, json);
	json_close(json, '}');
	return error;
}
