// SPDX-License-Identifier: Apache-2.0
#include "proto/page/page_data.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/string_table.h"
#include "proto/page/page_head.h"
#include "proto/page/page_tree.h"

#include <stdlib.h>
#include <string.h>

// Rows of a block: a megabyte or less.
enum { BLOCK_ROWS = 16384 };

static const char *const value_names[PAGE_VALUES] = {
	[PAGE_LIVE_BYTES] = "live_bytes",
	[PAGE_LIVE_OBJECTS] = "live_objects",
	[PAGE_ALLOC_BYTES] = "alloc_bytes",
	[PAGE_ALLOC_OBJECTS] = "alloc_objects",
	[PAGE_TEMPORARY_OBJECTS] = "temporary_objects",
};

enum { PLACE_NAME, PLACE_FULL, PLACE_FILE, PLACE_MODULE, PLACE_WHY, PLACE_VIA, PLACE_TEXTS };

static const char *const place_text_names[PLACE_TEXTS] = {
	[PLACE_NAME] = "name",     [PLACE_FULL] = "full", [PLACE_FILE] = "file",
	[PLACE_MODULE] = "module", [PLACE_WHY] = "why",   [PLACE_VIA] = "via",
};

struct page_data {
	const struct named_profile *named;
	const struct site_list *sites;
	struct page_tree tree;
	struct string_table strings;
	int64_t (*place_texts)[PLACE_TEXTS]; // of each place, and of the unknown one
	int64_t *site_vias;
	struct json json;
};

static void begin_block(struct page_data *data, FILE *file)
{
	fputs("<script type=\"application/json\" class=\"data\">", file);
	json_begin(&data->json, file);
	data->json.in_markup = true;
}

// Whether the stream has failed is asked at the end.
static void end_block(struct page_data *data)
{
	FILE *file = data->json.file;

	(void)json_end(&data->json);
	fputs("</script>\n", file);
}

// Begins a block of rows, or of those that are left after `from`; returns the row to stop before.
static size_t begin_rows(struct page_data *data, FILE *file, const char *key, size_t from, size_t count)
{
	begin_block(data, file);
	json_open(&data->json, key, '{');
	return count - from > BLOCK_ROWS ? from + BLOCK_ROWS : count;
}

static void end_rows(struct page_data *data)
{
	json_close(&data->json, '}');
	end_block(data);
}

static struct hs_error *add_place_texts(struct page_data *data, size_t number)
{
	static const struct code_place unknown = { .name = "[stack unknown]", .full_name = "[stack unknown]" };
	const struct code_place *place = number < data->named->place_count ? &data->named->places[number] : &unknown;
	const char *texts[PLACE_TEXTS] = {
		place->name, place->full_name, place->file, place->module, place->judgement.why, place->judgement.via,
	};
	struct hs_error *error = NULL;

	for (int i = 0; i < PLACE_TEXTS && !error; i++)
		error = string_table_add(&data->strings, texts[i], &data->place_texts[number][i]);
	return error;
}

// Every text gets its number before the first is written.
static struct hs_error *add_texts(struct page_data *data)
{
	struct hs_error *error = string_table_init(&data->strings);

	data->place_texts = calloc(data->named->place_count + 1, sizeof(*data->place_texts));
	data->site_vias = calloc(data->sites->count + 1, sizeof(*data->site_vias));
	if (!error && (!data->place_texts || !data->site_vias))
		error = &hs_error_no_memory;
	for (size_t i = 0; i <= data->named->place_count && !error; i++)
		error = add_place_texts(data, i);
	for (size_t i = 0; i < data->sites->count && !error; i++)
		error = string_table_add(&data->strings, data->sites->items[i].via, &data->site_vias[i]);
	return error;
}

static struct hs_error *write_head(struct page_data *data, const struct page_options *options, FILE *file)
{
	const struct page_counts counts = { data->strings.count, data->named->place_count + 1, data->tree.count,
					    data->sites->count };
	struct hs_error *error;

	begin_block(data, file);
	error = page_head_write(data->named->profile, options, &counts, &data->json);
	end_block(data);
	return error;
}

static void write_strings(struct page_data *data, FILE *file)
{
	for (size_t from = 0, to; from < data->strings.count; from = to) {
		size_t bytes = 0;

		begin_block(data, file);
		json_open(&data->json, "strings", '[');
		for (to = from; to < data->strings.count && to - from < BLOCK_ROWS && bytes < 1 << 20; to++) {
			bytes += strlen(string_table_text(&data->strings, to));
			json_string(&data->json, NULL, string_table_text(&data->strings, to));
		}
		json_close(&data->json, ']');
		end_block(data);
	}
}

static void write_places(struct page_data *data, FILE *file)
{
	const struct named_profile *named = data->named;
	const size_t count = named->place_count + 1;

	for (size_t from = 0, to; from < count; from = to) {
		to = begin_rows(data, file, "places", from, count);
		for (int text = 0; text < PLACE_TEXTS; text++) {
			json_open(&data->json, place_text_names[text], '[');
			for (size_t i = from; i < to; i++)
				json_integer(&data->json, NULL, data->place_texts[i][text]);
			json_close(&data->json, ']');
		}
		json_open(&data->json, "line", '[');
		for (size_t i = from; i < to; i++)
			json_integer(&data->json, NULL, i < named->place_count ? named->places[i].line : 0);
		json_close(&data->json, ']');
		json_open(&data->json, "class", '[');
		for (size_t i = from; i < to; i++)
			json_integer(&data->json, NULL,
				     i < named->place_count ? named->places[i].judgement.class : FRAME_UNKNOWN);
		json_close(&data->json, ']');
		end_rows(data);
	}
}

static void write_nodes(struct page_data *data, FILE *file)
{
	const struct page_node *nodes = data->tree.nodes;
	struct json *json = &data->json;

	for (size_t from = 1, to; from < data->tree.count; from = to) {
		to = begin_rows(data, file, "nodes", from, data->tree.count);
		json_open(json, "up", '[');
		for (size_t i = from; i < to; i++)
			json_number(json, NULL, i - nodes[i].parent);
		json_close(json, ']');
		json_open(json, "place", '[');
		for (size_t i = from; i < to; i++)
			json_number(json, NULL,
				    nodes[i].place == PAGE_PLACE_UNKNOWN ? data->named->place_count : nodes[i].place);
		json_close(json, ']');
		for (int value = 0; value < page_value_count(data->named->profile); value++) {
			json_open(json, value_names[value], '[');
			for (size_t i = from; i < to; i++)
				json_integer(json, NULL, nodes[i].values[value]);
			json_close(json, ']');
		}
		end_rows(data);
	}
}

static void write_site_values(struct json *json, const struct site *sites, size_t from, size_t to, int value)
{
	json_open(json, value_names[value], '[');
	for (size_t i = from; i < to; i++) {
		int64_t values[PAGE_VALUES];

		page_values_of(&sites[i].values, values);
		json_integer(json, NULL, values[value]);
	}
	json_close(json, ']');
}

// pre: each site's sample is one of the profile's
static void write_site_columns(struct page_data *data, size_t from, size_t to)
{
	const struct site *sites = data->sites->items;
	struct json *json = &data->json;

	json_open(json, "place", '[');
	for (size_t i = from; i < to; i++)
		json_integer(json, NULL, sites[i].path_length ? (int64_t)sites[i].path[0] : -1);
	json_close(json, ']');
	json_open(json, "node", '[');
	for (size_t i = from; i < to; i++)
		json_number(json, NULL, data->tree.sample_nodes[sites[i].sample]);
	json_close(json, ']');
	json_open(json, "via", '[');
	for (size_t i = from; i < to; i++)
		json_integer(json, NULL, data->site_vias[i]);
	json_close(json, ']');
	json_open(json, "own", '[');
	for (size_t i = from; i < to; i++)
		json_number(json, NULL, sites[i].is_own);
	json_close(json, ']');
	json_open(json, "stacks", '[');
	for (size_t i = from; i < to; i++)
		json_number(json, NULL, sites[i].stack_count);
	json_close(json, ']');
	for (int value = 0; value < page_value_count(data->named->profile); value++)
		write_site_values(json, sites, from, to, value);
	json_open(json, "error", '[');
	for (size_t i = from; i < to; i++)
		json_number(json, NULL, profile_bytes_error(data->named->profile, sites[i].values.live_bytes_variance));
	json_close(json, ']');
}

static void write_sites(struct page_data *data, FILE *file)
{
	for (size_t from = 0, to; from < data->sites->count; from = to) {
		to = begin_rows(data, file, "sites", from, data->sites->count);
		write_site_columns(data, from, to);
		end_rows(data);
	}
}

struct hs_error *page_data_write(const struct named_profile *named, const struct site_list *sites,
				 const struct page_options *options, FILE *file)
{
	struct page_data data = { .named = named, .sites = sites };
	struct hs_error *error = page_tree_make(named, &data.tree);

	if (!error)
		error = add_texts(&data);
	if (!error)
		error = write_head(&data, options, file);
	if (!error) {
		write_strings(&data, file);
		write_places(&data, file);
		write_nodes(&data, file);
		write_sites(&data, file);
	}
	page_tree_deinit(&data.tree);
	string_table_deinit(&data.strings);
	free(data.place_texts);
	free(data.site_vias);
	return error;
}
