// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/debug_package.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIST_BYTES_MAX = 16 << 20, LISTS_MAX = 100000 }; // far above what there are

// What packages call the same file, since /lib is a link to /usr/lib.
struct wanted {
	const char *path, *other_prefix;
	size_t other_skip;
};

static struct wanted wanted_of(const char *path)
{
	static const char usr[] = "/usr";
	const size_t length = strlen(usr);

	if (strncmp(path, usr, length) == 0 && path[length] == '/')
		return (struct wanted){ path, "", length };
	return (struct wanted){ path, usr, 0 };
}

// pre: `line` ends with a 0 byte
static bool is_wanted(const char *line, const struct wanted *wanted)
{
	const size_t prefix = strlen(wanted->other_prefix);

	return strcmp(line, wanted->path) == 0 || (strncmp(line, wanted->other_prefix, prefix) == 0 &&
						   strcmp(line + prefix, wanted->path + wanted->other_skip) == 0);
}

// "libruby3.1:amd64.list" to "libruby3.1-dbgsym". *ret NULL: it is no name of a package.
static struct hs_error *name_package(const char *list, char **ret)
{
	const size_t length = strspn(list, "abcdefghijklmnopqrstuvwxyz0123456789+-.");
	const size_t name = list[length] == ':' ? length : length - strlen(".list");

	*ret = NULL;
	// The one that is older than the rule.
	if (name == strlen("libc6") && strncmp(list, "libc6", name) == 0)
		return hs_format(ret, "libc6-dbg");
	return hs_format(ret, "%.*s-dbgsym", (int)name, list);
}

// Looks for the paths in one list.
static struct hs_error *search_list(int folder, const char *name, const char *const *paths, size_t count,
				    char **names_ret)
{
	HS_CLEANUP_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	HS_CLEANUP_FREE char *text = NULL;
	struct stat status;
	struct hs_error *error = NULL;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > LIST_BYTES_MAX)
		return NULL;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return &hs_error_no_memory;
	if (status.st_size == 0 || pread(fd, text, (size_t)status.st_size, 0) != (ssize_t)status.st_size)
		return NULL;
	text[status.st_size] = 0;
	for (char *line = text, *next; line && !error; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		for (size_t i = 0; i < count && !error; i++) {
			const struct wanted wanted = wanted_of(paths[i]);

			if (!names_ret[i] && *paths[i] == '/' && is_wanted(line, &wanted))
				error = name_package(name, &names_ret[i]);
		}
	}
	return error;
}

static bool is_list(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name && strcmp(dot, ".list") == 0 && *name != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.:") == strlen(name);
}

struct hs_error *debug_packages_find(const char *lists, const char *const *paths, size_t count, char **names_ret)
{
	DIR *folder = opendir(lists);
	struct hs_error *error = NULL;
	const struct dirent *entry;

	for (size_t i = 0; i < count; i++)
		names_ret[i] = NULL;
	if (!folder)
		return NULL;
	for (size_t seen = 0; !error && seen < LISTS_MAX && (entry = readdir(folder)); seen++)
		if (is_list(entry->d_name))
			error = search_list(dirfd(folder), entry->d_name, paths, count, names_ret);
	closedir(folder);
	for (size_t i = 0; i < count && error; i++) {
		free(names_ret[i]);
		names_ret[i] = NULL;
	}
	return error;
}
