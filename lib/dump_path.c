// SPDX-License-Identifier: Apache-2.0
#include "lib/dump_path.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_BYTES = 64 };

bool hs_output_is_folder(const char *output) { return *output && output[strlen(output) - 1] == '/'; }

static bool may_stay(char character, bool is_first)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+";

	return strchr(letters, character) || (!is_first && (character == '-' || character == '.'));
}

struct hs_error *dump_path_make(const char *folder, const char *name, uint32_t number, int64_t seconds,
				unsigned snapshot, enum profile_format format, char **ret)
{
	const time_t time = (time_t)seconds;
	char program[NAME_MAX_BYTES + 1], date[32] = "", of_several[16] = "";
	size_t size = strnlen(name, NAME_MAX_BYTES);
	struct tm utc;

	for (size_t i = 0; i < size; i++)
		program[i] = may_stay(name[i], i == 0) ? name[i] : '_';
	program[size] = 0;
	if (!gmtime_r(&time, &utc) || strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &utc) == 0)
		date[0] = 0;
	if (snapshot)
		snprintf(of_several, sizeof(of_several), ".%u", snapshot);
	return hs_format(ret, "%s%s.%u.%s%s%s", folder, size ? program : "process", number, date[0] ? date : "0",
			 of_several, profile_format_ending(format));
}

void hs_process_name(const struct process *process, char *ret, size_t size)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "comm", &text, NULL);

	snprintf(ret, size, "%.*s", error ? 0 : (int)strcspn(text, "\n"), error ? "" : text);
	hs_error_destroy(error);
}

struct hs_error *hs_dump_path(const char *output, enum profile_format format, const struct process *process, char **ret)
{
	char name[NAME_MAX_BYTES + 1];

	if (!hs_output_is_folder(output))
		return hs_format(ret, "%s", output);
	// What cannot be read is no error here: the dump itself says why.
	hs_process_name(process, name, sizeof(name));
	return dump_path_make(output, name, (uint32_t)process->pid, (int64_t)time(NULL), 0, format, ret);
}
