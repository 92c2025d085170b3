// SPDX-License-Identifier: Apache-2.0
#include "attach/process/cgroup.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#include <stdio.h>
#include <string.h>

// A word of a list with commas.
static bool list_has(const char *list, size_t size, const char *word)
{
	size_t length = strlen(word);

	for (size_t at = 0; at < size;) {
		size_t end = at;

		while (end < size && list[end] != ',')
			end++;
		if (end - at == length && memcmp(list + at, word, length) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

// Lines are "number:controllers:path"; version 2 has number 0 and no controllers.
bool cgroup_path(const char *text, const char *controller, const char **ret, size_t *size_ret)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path || path > line + strcspn(line, "\n"))
			continue;
		if (controller ? !list_has(controllers + 1, (size_t)(path - controllers - 1), controller)
			       : strncmp(line, "0::", 3) != 0)
			continue;
		*ret = path + 1;
		*size_ret = strcspn(path + 1, "\n");
		return **ret == '/';
	}
	return false;
}

bool cgroup_go_up(const char *path, size_t *size)
{
	if (*size == 0)
		return false;
	do
		(*size)--;
	while (*size > 0 && path[*size] != '/');
	return true;
}

// Whether the file has `line` as a line of its own; then what it is and says is in *ret.
static bool says(const char *folder, const char *path, size_t path_size, const char *name, const char *line,
		 char ret[static FROZEN_TEXT_SIZE])
{
	HS_CLEANUP_FREE char *file = NULL;
	HS_CLEANUP_FREE char *text = NULL;
	size_t size;
	struct hs_error *error = hs_format(&file, "%s%.*s/%s", folder, (int)path_size, path, name);
	bool found = false;

	if (!error)
		error = hs_read_file(file, 4096, &text, &size);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	for (const char *at = text; *at && !found; at += strcspn(at, "\n"), at += *at == '\n')
		found = strcspn(at, "\n") == strlen(line) && strncmp(at, line, strlen(line)) == 0;
	if (found)
		snprintf(ret, FROZEN_TEXT_SIZE, "%s: %s", file, line);
	return found;
}

// The group that was frozen, which may be one above; else what the process's own group says, where those above cannot
// be seen.
static void find_frozen(const char *folder, const char *path, size_t path_size, bool is_v1,
			char ret[static FROZEN_TEXT_SIZE])
{
	size_t size = path_size;

	// Above the part of the tree that the tool can see.
	if (path_size >= 3 && strncmp(path, "/..", 3) == 0)
		return;
	do {
		if (is_v1 ? says(folder, path, size, "freezer.self_freezing", "1", ret)
			  : says(folder, path, size, "cgroup.freeze", "1", ret))
			return;
	} while (cgroup_go_up(path, &size));
	if (!is_v1)
		(void)says(folder, path, path_size, "cgroup.events", "frozen 1", ret);
	else if (!says(folder, path, path_size, "freezer.state", "FROZEN", ret))
		(void)says(folder, path, path_size, "freezer.state", "FREEZING", ret);
}

void cgroup_frozen_below(const char *mount, const char *text, char ret[static FROZEN_TEXT_SIZE])
{
	// Where both versions are in use, each controller of version 1 has a mount of its own, and so has version 2.
	static const char *const folders[] = { "", "/unified", "/freezer" };
	const char *path;
	size_t size;

	*ret = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !*ret; i++) {
		bool is_v1 = strcmp(folders[i], "/freezer") == 0;
		HS_CLEANUP_FREE char *folder = NULL;
		struct hs_error *error;

		if (!cgroup_path(text, is_v1 ? "freezer" : NULL, &path, &size))
			continue;
		error = hs_format(&folder, "%s%s", mount, folders[i]);
		if (error)
			hs_error_destroy(error);
		else
			find_frozen(folder, path, size == 1 ? 0 : size, is_v1, ret);
	}
}

void cgroup_frozen(const struct process *process, char ret[static FROZEN_TEXT_SIZE])
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "cgroup", &text, NULL);

	*ret = 0;
	if (error)
		hs_error_destroy(error);
	else
		cgroup_frozen_below("/sys/fs/cgroup", text, ret);
}
