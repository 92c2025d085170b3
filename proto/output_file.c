// SPDX-License-Identifier: Apache-2.0
#include "proto/output_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "proto/known_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { NAME_ATTEMPTS = 8 };

static bool is_standard_output(const char *path)
{
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/fd/1") == 0 ||
	       strcmp(path, "/proc/self/fd/1") == 0;
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
		return output_error(errno, "cannot write to", path);
	*ret = (struct output_file){ .path = HS_STEAL_POINTER(path), .place.directory_fd = -1, .fd = HS_STEAL_FD(fd) };
	return NULL;
}

static struct hs_error *refuse_directory(const char *path)
{
	return hs_error_create(
		HS_ERROR_REFUSED,
		"%s is a directory; add a file name to it with -o, or, with dump, a slash for a name of program, PID and time",
		path);
}

static struct hs_error *refuse_not_plain(const char *path)
{
	return hs_error_create(HS_ERROR_REFUSED, "%s is not a plain file; use -o - and redirect standard output", path);
}

// Whether a plain file, by a handle of it, is one that a profile may take the place of.
static struct hs_error *check_content(int path_fd, const char *path)
{
	char link[64], beginning[KNOWN_PROFILE_BYTES];
	size_t size = 0;
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd); // that very file
	HS_CLEANUP_CLOSE int fd = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	do {
		got = fd < 0 ? -1 : read(fd, beginning + size, sizeof(beginning) - size);
		size += got > 0 ? (size_t)got : 0;
	} while (got > 0 && size < sizeof(beginning));
	if (got < 0)
		return output_error(errno, "cannot read", path);
	if (profile_is_known(beginning, size))
		return NULL;
	return hs_error_create(
		HS_ERROR_REFUSED,
		"%s already exists, and is no profile that could be replaced; remove it or choose another "
		"name with -o",
		path);
}

// A link of the user's own is replaced, not followed. But one to a device, or into /proc (/dev/stdout), is meant as
// what it stands for.
static struct hs_error *check_own_link(const struct output_place *place, int link_fd, const char *path)
{
	static const char proc[] = "/proc/";
	char text[sizeof(proc)] = "";
	struct stat status;

	if (readlinkat(link_fd, "", text, sizeof(text) - 1) < 0 || strcmp(text, proc) == 0)
		return refuse_not_plain(path);

	HS_CLEANUP_CLOSE int fd = openat(place->directory_fd, place->name, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0)
		return NULL; // it leads to nothing
	if (S_ISDIR(status.st_mode))
		return refuse_directory(path);
	return S_ISREG(status.st_mode) ? check_content(fd, path) : refuse_not_plain(path);
}

// STATX_ATTR_... of what the handle stands for, those of which the kernel and the file system tell.
static uint64_t attributes_of(int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) < 0)
		return 0;
	return status.stx_attributes & status.stx_attributes_mask;
}

static struct hs_error *check_directory(const struct output_place *place, const char *path)
{
	if (attributes_of(place->directory_fd) & STATX_ATTR_IMMUTABLE)
		return hs_error_create(HS_ERROR_REFUSED,
				       "the directory of %s is immutable (chattr +i); choose another one with -o, or "
				       "use -o - and redirect standard output",
				       path);
	return NULL;
}

// A file that another one is mounted on keeps its name (rename(2): EBUSY), and so does one with a flag that forbids it
// to everybody, and any in a directory with such a flag (EPERM).
static struct hs_error *check_attributes(const struct output_place *place, int fd, const char *path)
{
	const uint64_t attributes = attributes_of(fd);

	if (attributes & STATX_ATTR_MOUNT_ROOT)
		return hs_error_create(HS_ERROR_REFUSED,
				       "%s is a mount point and cannot be replaced; choose another name with -o, or "
				       "use -o - and redirect standard output",
				       path);
	if (attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return hs_error_create(HS_ERROR_REFUSED,
				       "%s %s and cannot be replaced; choose another name with -o, or use -o - and "
				       "redirect standard output",
				       path,
				       attributes & STATX_ATTR_IMMUTABLE ? "is immutable (chattr +i)"
									 : "can only be appended to (chattr +a)");
	if (attributes_of(place->directory_fd) & STATX_ATTR_APPEND)
		return hs_error_create(HS_ERROR_REFUSED,
				       "%s already exists, in a directory that names can only be added to (chattr +a); "
				       "choose another name with -o",
				       path);
	return NULL;
}

// Whether what has the name may be replaced: nothing is opened but a handle, so that a pipe or a device notices
// nothing. What is not the user's own may be something else than it seems; and a second name of a file, where others
// can make names, was perhaps made for this.
static struct hs_error *check_replaceable(const struct output_place *place, const struct output_owner *owner,
					  const char *path, bool *exists_ret)
{
	HS_CLEANUP_CLOSE int fd = -1;
	struct hs_error *error;
	struct stat status;

	*exists_ret = false;
	if (*place->name == 0 || strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0)
		return refuse_directory(path);
	error = check_directory(place, path);
	if (error)
		return error;
	fd = openat(place->directory_fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &status) < 0)
		return output_error(errno, "cannot look at", path);
	*exists_ret = true;
	if (S_ISDIR(status.st_mode))
		return refuse_directory(path);
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
		return refuse_not_plain(path);
	if (status.st_uid != geteuid() && !(owner->is_known && status.st_uid == owner->user && S_ISREG(status.st_mode)))
		return hs_error_create(HS_ERROR_REFUSED,
				       "%s already exists: a %s that belongs to user %u; remove it or choose another "
				       "name with -o",
				       path, S_ISLNK(status.st_mode) ? "symbolic link" : "file", status.st_uid);
	error = check_attributes(place, fd, path);
	if (error)
		return error;
	if (S_ISLNK(status.st_mode) && place->control == PLACE_FOREIGN)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"%s already exists: a symbolic link in a directory that other users can change; remove it "
			"or choose another name with -o",
			path);
	if (S_ISLNK(status.st_mode))
		return check_own_link(place, fd, path);
	if (status.st_nlink > 1 && place->control != PLACE_OWN)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"%s already exists: a file that has another name too, in a directory where other users make "
			"names; remove it or choose another name with -o",
			path);
	return check_content(fd, path);
}

// A name that nobody can have planted.
static struct hs_error *random_name(char **ret)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return hs_error_system(errno, "cannot get random bytes for a file name");
	return hs_format(ret, ".heapsnap-%016" PRIx64 "%016" PRIx64 ".tmp", random[0], random[1]);
}

// Creates the file without a name, so that a tool that is killed leaves nothing; where the file system cannot do that,
// under a name of its own. The mode is 0600 whatever the umask says.
static struct hs_error *create_temporary(int directory_fd, const char *path, char **temporary_ret, int *fd_ret)
{
	HS_CLEANUP_FREE char *temporary = NULL;
	HS_CLEANUP_CLOSE int fd = openat(directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EOPNOTSUPP && attributes_of(directory_fd) & STATX_ATTR_APPEND)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"in the directory of %s names can only be added (chattr +a), and its file system "
			"makes no file without a name; choose another one with -o",
			path);
	for (int attempt = 0; fd < 0 && attempt < NAME_ATTEMPTS; attempt++) {
		struct hs_error *error;

		free(HS_STEAL_POINTER(temporary));
		error = random_name(&temporary);
		if (error)
			return error;
		fd = openat(directory_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return output_error(errno, "cannot create a file for", path);
	}
	if (fd < 0)
		return output_error(EEXIST, "cannot create a file for", path);
	if (fchmod(fd, 0600) < 0) {
		struct hs_error *error = output_error(errno, "cannot set the mode of the file for", path);

		if (temporary)
			unlinkat(directory_fd, temporary, 0);
		return error;
	}
	*temporary_ret = HS_STEAL_POINTER(temporary);
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

// Gives a file without a name one; fails with EEXIST where it is taken. Returns an errno.
static int link_unnamed(const struct output_file *file, const char *name)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, link, file->place.directory_fd, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

// A new name cannot replace an old file at once, a rename can.
static struct hs_error *name_temporary(struct output_file *file)
{
	HS_CLEANUP_FREE char *temporary = NULL;
	struct hs_error *error = NULL;
	int failed = EEXIST;

	for (int attempt = 0; failed == EEXIST && attempt < NAME_ATTEMPTS; attempt++) {
		free(HS_STEAL_POINTER(temporary));
		error = random_name(&temporary);
		if (error)
			return error;
		failed = link_unnamed(file, temporary);
	}
	if (failed)
		return output_error(failed, "cannot create", file->path);
	file->temporary = HS_STEAL_POINTER(temporary);
	return NULL;
}

// Gives the file its name where nothing has it. What came to have it meanwhile stays: EEXIST. Returns an errno.
static int place_new(struct output_file *file)
{
	const struct output_place *place = &file->place;
	int failed;

	if (!file->temporary)
		return link_unnamed(file, place->name);
	if (renameat2(place->directory_fd, file->temporary, place->directory_fd, place->name, RENAME_NOREPLACE) == 0) {
		free(HS_STEAL_POINTER(file->temporary));
		return 0;
	}
	failed = errno;
	if (failed != EINVAL && failed != ENOSYS && failed != ENOTSUP)
		return failed;
	// A file system that cannot do that: a second name, of which discard takes the first away.
	if (linkat(place->directory_fd, file->temporary, place->directory_fd, place->name, 0) == 0)
		return 0;
	failed = errno;
	// Nor that (no hard links). Where nobody else can make names, a rename is as good.
	if (failed == EEXIST || place->control != PLACE_OWN ||
	    renameat(place->directory_fd, file->temporary, place->directory_fd, place->name) < 0)
		return failed;
	free(HS_STEAL_POINTER(file->temporary));
	return 0;
}

// Over a file of the user's own. In a directory of root or the user nobody else can have exchanged it since it was
// looked at; in one of somebody else the rename takes away no more than they could by themselves.
static struct hs_error *place_over(struct output_file *file)
{
	const struct output_place *place = &file->place;
	struct hs_error *error = file->temporary ? NULL : name_temporary(file);

	if (error)
		return error;
	// Right behind the naming: who is killed in between leaves the file under its temporary name.
	if (renameat(place->directory_fd, file->temporary, place->directory_fd, place->name) < 0)
		return output_error(errno, "cannot create", file->path);
	free(HS_STEAL_POINTER(file->temporary));
	return NULL;
}

static struct hs_error *place_file(struct output_file *file)
{
	int failed = EEXIST;

	for (int attempt = 0; failed == EEXIST && attempt < NAME_ATTEMPTS; attempt++) {
		bool exists;
		struct hs_error *error = check_replaceable(&file->place, &file->owner, file->path, &exists);

		if (error || exists)
			return error ? error : place_over(file);
		failed = place_new(file);
	}
	return failed ? output_error(failed, "cannot create", file->path) : NULL;
}

struct hs_error *output_file_create(const char *path, struct output_file *ret)
{
	*ret = (struct output_file){ 0 };
	if (is_standard_output(path))
		return create_standard_output(ret);

	HS_CLEANUP_FREE char *copy = strdup(path);
	const struct output_owner owner = output_owner_read();
	struct output_place place;
	char *temporary = NULL;
	bool exists;
	int fd = -1;
	struct hs_error *error = copy ? output_place_open(copy, &place) : &hs_error_no_memory;

	if (error)
		return error;
	error = check_replaceable(&place, &owner, path, &exists);
	if (!error)
		error = create_temporary(place.directory_fd, path, &temporary, &fd);
	if (error) {
		close(place.directory_fd);
		return error;
	}
	*ret = (struct output_file){ HS_STEAL_POINTER(copy), temporary, place, owner, fd };
	return NULL;
}

void output_file_discard(struct output_file *file)
{
	if (!file->path)
		return;
	if (file->fd >= 0)
		close(file->fd);
	if (file->temporary)
		unlinkat(file->place.directory_fd, file->temporary, 0);
	if (file->place.directory_fd >= 0)
		close(file->place.directory_fd);
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
	return output_error(error_number, "cannot write", file->path);
}

// Pipes, sockets and some file systems have nothing to sync and say so by these numbers (fsync(2)).
static bool sync_is_refused(int error_number)
{
	return error_number == EINVAL || error_number == EROFS || error_number == ENOTSUP || error_number == ENOSYS;
}

// So that the new name survives a power failure. A directory that may not be read cannot be synced.
static struct hs_error *sync_directory(const struct output_file *file)
{
	HS_CLEANUP_CLOSE int fd = openat(file->place.directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fsync(fd) < 0 && !sync_is_refused(errno))
		return output_error(errno, "cannot sync the directory of", file->path);
	return NULL;
}

static struct hs_error *finish(struct output_file *file)
{
	bool is_new = file->place.directory_fd >= 0;

	if (is_new) // not before: until now nobody else could read what was not yet all of it
		output_owner_give(&file->owner, file->place.directory_fd, file->fd);
	if (fsync(file->fd) < 0 && !sync_is_refused(errno))
		return output_error(errno, "cannot write", file->path);
	if (is_new) {
		struct hs_error *error = place_file(file);

		if (error)
			return error;
	}

	int closed = close(file->fd);

	file->fd = -1;
	// EINTR of close: the descriptor is gone, and the data was synced (close(2)).
	if (closed < 0 && errno != EINTR)
		return output_error(errno, "cannot write", file->path);
	return is_new ? sync_directory(file) : NULL;
}

struct hs_error *output_file_commit(struct output_file *file)
{
	struct hs_error *error = finish(file);

	output_file_discard(file);
	return error;
}
