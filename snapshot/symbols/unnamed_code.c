// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/unnamed_code.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "snapshot/symbols/debug_package.h"

#include <stdlib.h>
#include <string.h>

void unnamed_code_add(struct unnamed_code *unnamed, const char *path, size_t count)
{
	size_t at = unnamed->file_count;

	if (count == 0)
		return;
	while (at > 0 && unnamed->files[at - 1].count < count)
		at--;
	if (unnamed->file_count == UNNAMED_FILES_MAX)
		unnamed->more++;
	else
		unnamed->file_count++;
	for (size_t i = unnamed->file_count; i-- > at + 1;)
		unnamed->files[i] = unnamed->files[i - 1];
	if (at < unnamed->file_count)
		unnamed->files[at] = (struct unnamed_file){ path, count };
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct hs_error *append(char **text, const struct unnamed_file *file, const char *package)
{
	const bool is_first = !**text;
	char *longer;
	struct hs_error *error = hs_format(&longer, "%s%s%zu%s in %s%s%s%s", *text, is_first ? "" : ", ", file->count,
					   !is_first          ? ""
					   : file->count == 1 ? " place"
							      : " places",
					   base_name(file->path), package ? " (package " : "", package ? package : "",
					   package ? ")" : "");

	if (error)
		return error;
	free(*text);
	*text = longer;
	return NULL;
}

struct hs_error *unnamed_code_text(const struct unnamed_code *unnamed, const char *lists, char **ret)
{
	const char *paths[UNNAMED_FILES_MAX];
	char *packages[UNNAMED_FILES_MAX] = { NULL };
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = hs_format(&text, "%s", "");

	*ret = NULL;
	for (size_t i = 0; i < unnamed->file_count; i++)
		paths[i] = unnamed->files[i].path;
	if (!error && lists && unnamed->file_count > 0)
		error = debug_packages_find(lists, paths, unnamed->file_count, packages);
	for (size_t i = 0; i < unnamed->file_count && !error; i++)
		error = append(&text, &unnamed->files[i], packages[i]);
	for (size_t i = 0; i < unnamed->file_count; i++)
		free(packages[i]);
	if (error || unnamed->file_count == 0)
		return error;
	if (unnamed->more > 0)
		return hs_format(ret, "code without symbols: %s, and in %zu more file%s", text, unnamed->more,
				 unnamed->more == 1 ? "" : "s");
	return hs_format(ret, "code without symbols: %s", text);
}
