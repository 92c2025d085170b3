// SPDX-License-Identifier: Apache-2.0
#include "cli/block_words.h"

#include "cli/option_errors.h"
#include "cli/option_values.h"

#include <string.h>

static const struct {
	const char *name;
	enum block_label label;
} labels[] = { { "thread", LABEL_THREAD }, { "size", LABEL_SIZE }, { "age", LABEL_AGE },
	       { "dump", LABEL_DUMP },     { "kind", LABEL_KIND }, { "allocator", LABEL_ALLOCATOR } };

bool block_words_take_older(struct options *options, const char *text)
{
	return parse_duration(text, &options->blocks.selection.older_ns) ||
	       options_refuse(options, "--older-than expects a time, as 90s, 10m or 2h, got '%s'", text);
}

bool block_words_take_younger(struct options *options, const char *text)
{
	return parse_duration(text, &options->blocks.selection.younger_ns) ||
	       options_refuse(options, "--younger-than expects a time, as 90s, 10m or 2h, got '%s'", text);
}

bool block_words_take_size(struct options *options, const char *text)
{
	return (parse_size(text, &options->blocks.selection.size_least) && options->blocks.selection.size_least) ||
	       options_refuse(options, "--min-size expects a size above 0, as 4096, 4K or 1M, got '%s'", text);
}

bool block_words_take_thread(struct options *options, const char *text)
{
	options->blocks.selection.thread = text;
	return *text || options_refuse(options, "%s", "--thread expects the id or the name of a thread, got ''");
}

bool block_words_take_since(struct options *options, const char *text)
{
	options->blocks.since_dump = text;
	return *text || options_refuse(options, "%s", "--since-dump expects a profile, got ''");
}

static unsigned label_of(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (strlen(labels[i].name) == length && strncmp(labels[i].name, name, length) == 0)
			return labels[i].label;
	return 0;
}

bool block_words_take_labels(struct options *options, const char *text)
{
	for (const char *word = text;; word++) {
		const size_t length = strcspn(word, ",");
		const unsigned label = label_of(word, length);

		if (!label)
			return options_refuse(
				options,
				"--labels expects one or more of thread, size, age, kind, allocator and dump, with commas between them, got '%s'",
				text);
		options->blocks.selection.labels |= label;
		word += length;
		if (!*word)
			return true;
	}
}

bool block_words_check(const struct options *options)
{
	const struct block_selection *selection = &options->blocks.selection;

	if (options->path_count > 0 && (block_selection_is_part(selection) || options->blocks.since_dump))
		return options_refuse(options, "%s",
				      "--older-than, --younger-than, --min-size, --thread and --since-dump need a "
				      "process: a file does not have single blocks");
	if (selection->older_ns && selection->younger_ns && selection->older_ns >= selection->younger_ns)
		return options_refuse(options, "%s",
				      "no block is that old and that young: --older-than is not below --younger-than");
	return true;
}
