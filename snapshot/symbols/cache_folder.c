// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/cache_folder.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES_MAX = 65536 };
// A file that is being written is renamed within moments; one that is older was left by a tool that was killed.
enum { LEFT_BEHIND_SECONDS = 3600 };

static const char FOLDER[] = "heapsnap", ROOTS_OWN[] = "/var/cache", UNFINISHED[] = ".new.";

const char *cache_base(const char *cache_home, const char *home, char *buffer, size_t room)
{
	int length;

	if (cache_home && *cache_home == '/')
		length = snprintf(buffer, room, "%s", cache_home);
	else if (home && *home == '/')
		length = snprintf(buffer, room, "%s/.cache", home);
	else
		return NULL;
	return length >= 0 && (size_t)length < room ? buffer : NULL;
}

// A folder that is this user's, and that nobody else may change.
static bool is_ours(int fd, mode_t forbidden)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
	       !(status.st_mode & forbidden);
}

// For root no link counts: another user, whose home is in the environment, may have set it, and would choose where a
// folder is made. The paths of ROOTS_OWN are the system's.
static int open_folder(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };

	if (geteuid() != 0 || strcmp(path, ROOTS_OWN) == 0)
		return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

// The base itself, made when it is not there and the folder above it is ours.
static int open_base(const char *base)
{
	HS_CLEANUP_FREE char *above = strdup(base);
	HS_CLEANUP_CLOSE int parent = -1;
	char *slash;
	int fd = open_folder(base);

	if (fd >= 0 || !above)
		return fd;
	while (strlen(above) > 1 && above[strlen(above) - 1] == '/')
		above[strlen(above) - 1] = 0;
	slash = strrchr(above, '/');
	if (!slash || !slash[1])
		return -1;
	*slash = 0;
	parent = open_folder(slash == above ? "/" : above);
	if (parent < 0 || !is_ours(parent, S_IWGRP | S_IWOTH) || mkdirat(parent, slash + 1, S_IRWXU) < 0)
		return -1;
	return openat(parent, slash + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

struct cache_folder cache_folder_open_in(const char *base)
{
	HS_CLEANUP_CLOSE int above = open_base(base);
	int fd;

	if (above < 0 || !is_ours(above, 0))
		return (struct cache_folder){ -1 };
	fd = openat(above, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && mkdirat(above, FOLDER, S_IRWXU) == 0)
		fd = openat(above, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !is_ours(fd, S_IRWXG | S_IRWXO)) {
		close(fd);
		fd = -1;
	}
	return (struct cache_folder){ fd };
}

struct cache_folder cache_folder_open(void)
{
	char buffer[PATH_MAX];
	const char *base = cache_base(getenv("XDG_CACHE_HOME"), getenv("HOME"), buffer, sizeof(buffer));
	struct cache_folder folder = { -1 };

	if (getuid() != geteuid() || getgid() != getegid())
		return folder;
	if (base)
		folder = cache_folder_open_in(base);
	if (folder.fd < 0 && geteuid() == 0)
		folder = cache_folder_open_in(ROOTS_OWN);
	return folder;
}

void cache_folder_close(struct cache_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
}

uint8_t *cache_folder_read(const struct cache_folder *folder, const char *name, size_t limit, size_t *size_ret)
{
	HS_CLEANUP_CLOSE int fd =
		folder->fd < 0 ? -1 : openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
	struct stat status;
	struct hs_error *error;
	uint8_t *data;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_size <= 0 || (uint64_t)status.st_size > limit)
		return NULL;
	data = malloc((size_t)status.st_size);
	error = data ? hs_pread_exact(fd, data, (size_t)status.st_size, 0) : &hs_error_no_memory;
	if (error) {
		hs_error_destroy(error);
		free(data);
		return NULL;
	}
	*size_ret = (size_t)status.st_size;
	(void)futimens(fd, times); // an order only
	return data;
}

struct kept_file {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	int64_t read_ns;
};

static int by_time(const void *left, const void *right)
{
	const struct kept_file *a = left, *b = right;

	return (a->read_ns > b->read_ns) - (a->read_ns < b->read_ns);
}

// The files of the folder; what was left unfinished long ago goes.
static struct kept_file *list_files(int folder, size_t *count_ret)
{
	const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	const int64_t now = (int64_t)(hs_wall_ns() / 1000000000);
	struct kept_file *files = NULL;
	size_t count = 0, room = 0;
	const struct dirent *entry;

	if (!directory && copy >= 0)
		close(copy);
	while (directory && count < FILES_MAX && (entry = readdir(directory))) {
		struct stat status;

		if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
			continue;
		if (strncmp(entry->d_name, UNFINISHED, strlen(UNFINISHED)) == 0) {
			if (now - status.st_mtim.tv_sec > LEFT_BEHIND_SECONDS)
				unlinkat(folder, entry->d_name, 0);
			continue;
		}
		if (*entry->d_name == '.')
			continue;

		struct hs_error *error = ARRAY_RESERVE(files, count + 1, &room);

		if (error) {
			hs_error_destroy(error);
			break;
		}
		files[count] = (struct kept_file){ .bytes = (uint64_t)status.st_blocks * 512,
						   .read_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 +
							      status.st_mtim.tv_nsec };
		snprintf(files[count++].name, sizeof(files->name), "%s", entry->d_name);
	}
	if (directory)
		closedir(directory);
	*count_ret = count;
	return files;
}

static void prune(int folder, uint64_t most)
{
	size_t count = 0;
	HS_CLEANUP_FREE struct kept_file *files = list_files(folder, &count);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += files[i].bytes;
	if (bytes <= most)
		return;
	qsort(files, count, sizeof(*files), by_time);
	for (size_t i = 0; i < count && bytes > most; i++)
		if (unlinkat(folder, files[i].name, 0) == 0)
			bytes -= files[i].bytes;
}

void cache_folder_write(const struct cache_folder *folder, const char *name, const uint8_t *data, size_t size,
			uint64_t most)
{
	char unfinished[64];
	int fd;

	if (folder->fd < 0)
		return;
	snprintf(unfinished, sizeof(unfinished), "%s%d.%" PRIx64, UNFINISHED, (int)getpid(), hs_monotonic_ns());
	fd = openat(folder->fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return;

	struct hs_error *error = hs_write_all(fd, data, size);

	if (close(fd) < 0 || error || renameat(folder->fd, unfinished, folder->fd, name) < 0)
		unlinkat(folder->fd, unfinished, 0);
	hs_error_destroy(error);
	prune(folder->fd, most);
}
