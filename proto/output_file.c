// SPDX-License-Identifier: Apache-2.0
#include "proto/output_file.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { NAME_ATTEMPTS = 8 };

// What the user can do about an error of the file system.
static const char *remedy(int error_number)
{
	switch (error_number) {
	case ENOENT:
	case ENOTDIR:
		return "create the directory or choose another path with -o";
	case EACCES:
	case EPERM:
	case EROFS:
		return "choose a directory that you may write with -o";
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return "make room or choose another file system with -o";
	case EPIPE:
		return "the reader of standard output closed it early";
	default:
		return "choose another path with -o";
	}
}

static struct hs_error *file_error(int error_number, const char *what, const char *path)
{
	char buffer[128];

	return hs_error_create(HS_ERROR_SYSTEM, "%s %s: %s; %s", what, path,
			       strerror_r(error_number, buffer, sizeof(buffer)), remedy(error_number));
}

static bool is_standard_output(const char *path)
{
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/fd/1") == 0;
}

static struct hs_error *create_standard_output(struct output_file *ret)
{
	if (isatty(STDOUT_FILENO))
		return hs_error_create(HS_ERROR_REFUSED,
				       "standard output is a terminal and a profile is binary; name a file with -o");

	HS_CLEANUP_FREE char *path = strdup("standard output");
	HS_CLEANUP_CLOSE int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	if (!path)
		return &hs_error_no_memory;
	if (fd < 0)
		return file_error(errno, "cannot write to", path);
	*ret = (struct output_file){ .path = HS_STEAL_POINTER(path), .directory_fd = -1, .fd = HS_STEAL_FD(fd) };
	return NULL;
}

// Goes one step down into a directory, and takes over *directory_fd. A link on the way that neither the user nor root has made could lead
// anywhere, and the tool may be run by root: in a directory where all may write, such links are planted.
static struct hs_error *enter_directory(int *directory_fd, const char *name, const char *path)
{
	struct stat status;
	int fd;

	if (fstatat(*directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) && status.st_uid != 0 &&
	    status.st_uid != geteuid())
		return hs_error_create(HS_ERROR_REFUSED, "%s leads over %s, a symbolic link that user %u has made; name the directory behind it "
				       "with -o", path, name, status.st_uid);
	fd = openat(*directory_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC); // O_PATH: it may be writable and not readable
	if (fd < 0)
		return file_error(errno, "cannot write into the directory of", path);
	close(*directory_fd);
	*directory_fd = fd;
	return NULL;
}

// Opens the directory of `path` and points *name_ret to the last part of it.
static struct hs_error *open_directory(const char *path, const char **name_ret, int *fd_ret)
{
	const char *slash = strrchr(path, '/');
	HS_CLEANUP_FREE char *directory = strndup(path, slash ? (size_t)(slash - path) : 0);
	HS_CLEANUP_CLOSE int fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *rest;

	if (!directory)
		return &hs_error_no_memory;
	if (fd < 0)
		return file_error(errno, "cannot write into the directory of", path);
	for (char *part = strtok_r(directory, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		struct hs_error *error = enter_directory(&fd, part, path);

		if (error)
			return error;
	}
	*name_ret = slash ? slash + 1 : path;
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

// A rename would put a plain file in the place of a device, and a link to one (/proc/self/fd/2) is meant as the device.
static struct hs_error *check_replaceable(int directory_fd, const char *name, const char *path)
{
	struct stat status;

	if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return hs_error_create(HS_ERROR_REFUSED, "%s is a directory; add a file name to it with -o", path);
	if (fstatat(directory_fd, name, &status, 0) < 0)
		return NULL; // nothing is there, or a link to nothing; what else is wrong, creating the file will tell
	if (S_ISDIR(status.st_mode))
		return hs_error_create(HS_ERROR_REFUSED, "%s is a directory; add a file name to it with -o", path);
	if (!S_ISREG(status.st_mode))
		return hs_error_create(HS_ERROR_REFUSED,
				       "%s is not a plain file; use -o - and redirect standard output",
				       path);
	return NULL;
}

// A name that nobody can have planted.
static struct hs_error *random_name(char **ret)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return hs_error_system(errno, "cannot get random bytes for a file name");
	return hs_format(ret, ".heapsnap-%016" PRIx64 "%016" PRIx64 ".tmp", random[0], random[1]);
}

// Creates the file without a name, so that a tool that is killed leaves nothing; where the file system cannot do that, under a name of its own.
// The mode is 0600 whatever the umask says.
static struct hs_error *create_temporary(int directory_fd, const char *path, char **temporary_ret, int *fd_ret)
{
	HS_CLEANUP_FREE char *temporary = NULL;
	HS_CLEANUP_CLOSE int fd = openat(directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	for (int attempt = 0; fd < 0 && attempt < NAME_ATTEMPTS; attempt++) {
		struct hs_error *error;

		free(HS_STEAL_POINTER(temporary));
		error = random_name(&temporary);
		if (error)
			return error;
		fd = openat(directory_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return file_error(errno, "cannot create a file for", path);
	}
	if (fd < 0)
		return file_error(EEXIST, "cannot create a file for", path);
	if (fchmod(fd, 0600) < 0) {
		struct hs_error *error = file_error(errno, "cannot set the mode of the file for", path);

		if (temporary)
			unlinkat(directory_fd, temporary, 0);
		return error;
	}
	*temporary_ret = HS_STEAL_POINTER(temporary);
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

// Gives a file without a name one of its own: a new name cannot replace an old file at once, a rename can.
static struct hs_error *name_temporary(struct output_file *file)
{
	HS_CLEANUP_FREE char *temporary = NULL;
	HS_CLEANUP_FREE char *link = NULL;
	struct hs_error *error = hs_format(&link, "/proc/self/fd/%d", file->fd);

	for (int attempt = 0; !error && attempt < NAME_ATTEMPTS; attempt++) {
		free(HS_STEAL_POINTER(temporary));
		error = random_name(&temporary);
		if (error)
			break;
		if (linkat(AT_FDCWD, link, file->directory_fd, temporary, AT_SYMLINK_FOLLOW) == 0) {
			file->temporary = HS_STEAL_POINTER(temporary);
			return NULL;
		}
		if (errno != EEXIST)
			break;
	}
	return error ? error : file_error(errno, "cannot create", file->path);
}

struct hs_error *output_file_create(const char *path, struct output_file *ret)
{
	*ret = (struct output_file){ 0 };
	if (is_standard_output(path))
		return create_standard_output(ret);

	HS_CLEANUP_FREE char *copy = strdup(path);
	HS_CLEANUP_CLOSE int directory_fd = -1;
	const char *name = NULL;
	char *temporary = NULL;
	int fd = -1;

	if (!copy)
		return &hs_error_no_memory;

	struct hs_error *error = open_directory(copy, &name, &directory_fd);

	if (!error)
		error = check_replaceable(directory_fd, name, path);
	if (!error)
		error = create_temporary(directory_fd, path, &temporary, &fd);
	if (error)
		return error;
	*ret = (struct output_file){ HS_STEAL_POINTER(copy), temporary, name, HS_STEAL_FD(directory_fd), fd };
	return NULL;
}

void output_file_discard(struct output_file *file)
{
	if (!file->path)
		return;
	if (file->fd >= 0)
		close(file->fd);
	if (file->temporary)
		unlinkat(file->directory_fd, file->temporary, 0);
	if (file->directory_fd >= 0)
		close(file->directory_fd);
	free(file->temporary);
	free(file->path);
	*file = (struct output_file){ 0 };
}

struct hs_error *output_file_write(struct output_file *file, const void *data, size_t size)
{
	// A closed pipe is to be an error with a message, not the end of the tool.
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigaction(SIGPIPE, &ignore, &before);

	struct hs_error *error = hs_write_all(file->fd, data, size);

	sigaction(SIGPIPE, &before, NULL);
	if (!error || error->code != HS_ERROR_SYSTEM)
		return error;

	int error_number = error->error_number;

	hs_error_destroy(error);
	return file_error(error_number, "cannot write", file->path);
}

// Pipes, sockets and some file systems have nothing to sync and say so by these numbers (fsync(2)).
static bool sync_is_refused(int error_number)
{
	return error_number == EINVAL || error_number == EROFS || error_number == ENOTSUP || error_number == ENOSYS;
}

// So that the new name survives a power failure. A directory that may not be read cannot be synced.
static struct hs_error *sync_directory(const struct output_file *file)
{
	HS_CLEANUP_CLOSE int fd = openat(file->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fsync(fd) < 0 && !sync_is_refused(errno))
		return file_error(errno, "cannot sync the directory of", file->path);
	return NULL;
}

static struct hs_error *finish(struct output_file *file)
{
	if (fsync(file->fd) < 0 && !sync_is_refused(errno))
		return file_error(errno, "cannot write", file->path);
	bool is_new = file->directory_fd >= 0;

	if (is_new && !file->temporary) {
		struct hs_error *error = name_temporary(file);

		if (error)
			return error;
	}
	// Right behind the naming: who is killed in between leaves the file under its temporary name.
	if (is_new) {
		if (renameat(file->directory_fd, file->temporary, file->directory_fd, file->name) < 0)
			return file_error(errno, "cannot create", file->path);
		free(HS_STEAL_POINTER(file->temporary));
	}

	int closed = close(file->fd);

	file->fd = -1;
	// EINTR of close: the descriptor is gone, and the data was synced (close(2)).
	if (closed < 0 && errno != EINTR)
		return file_error(errno, "cannot write", file->path);
	return is_new ? sync_directory(file) : NULL;
}

struct hs_error *output_file_commit(struct output_file *file)
{
	struct hs_error *error = finish(file);

	output_file_discard(file);
	return error;
}
