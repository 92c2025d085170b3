// SPDX-License-Identifier: Apache-2.0
#include "proto/output_place.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum { LINKS_MAX = 40 /* as the kernel's (path_resolution(7)) */, LINK_TEXT_MAX = 4096 };

struct walk {
	const char *path;   // what the user gave, for messages
	char *rest;         // what is left to walk; owned
	int fd;             // where the walk is
	struct stat status; // of fd
	unsigned links;     // followed so far
	uid_t user;
};

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

struct hs_error *output_error(int error_number, const char *what, const char *path)
{
	char buffer[128];

	return hs_error_create(HS_ERROR_SYSTEM, "%s %s: %s; %s", what, path,
			       strerror_r(error_number, buffer, sizeof(buffer)), remedy(error_number));
}

enum place_control place_control(const struct stat *directory, uid_t user)
{
	bool others_write = directory->st_mode & S_IWOTH;

	if (directory->st_uid != 0 && directory->st_uid != user)
		return PLACE_FOREIGN;
	others_write |= directory->st_mode & S_IWGRP && directory->st_gid != 0 && directory->st_gid != (gid_t)user;
	if (!others_write)
		return PLACE_OWN;
	return directory->st_mode & S_ISVTX ? PLACE_SHARED : PLACE_FOREIGN;
}

bool place_may_follow(uid_t link_owner, enum place_control control, uid_t user)
{
	return (link_owner == 0 || link_owner == user) && control != PLACE_FOREIGN;
}

static struct hs_error *walk_error(const struct walk *walk, int error_number)
{
	return output_error(error_number, "cannot write into the directory of", walk->path);
}

// Takes over `fd`.
static struct hs_error *walk_to(struct walk *walk, int fd)
{
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return fd < 0 || fstat(fd, &walk->status) < 0 ? walk_error(walk, errno) : NULL;
}

static struct hs_error *walk_start(struct walk *walk, const char *path)
{
	return walk_to(walk, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// The kernel's links below /proc/PID (cwd, root, fd/N) lead to a file, and their text is not always its path. Others in
// /proc are plain ones.
static bool is_no_path(const struct walk *walk, int link_fd, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	struct statfs system;
	int fd;

	if (fstatfs(link_fd, &system) < 0 || system.f_type != PROC_SUPER_MAGIC)
		return false;
	fd = (int)syscall(SYS_openat2, walk->fd, name, &how, sizeof(how));
	if (fd >= 0)
		close(fd);
	return fd < 0; // also where the kernel cannot tell
}

static struct hs_error *judge_link(const struct walk *walk, int link_fd, const struct stat *link, const char *name)
{
	if (link->st_uid != 0 && link->st_uid != walk->user)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"%s goes through %s, a symbolic link that user %u has made; name the directory behind it with -o",
			walk->path, name, link->st_uid);
	if (!place_may_follow(link->st_uid, place_control(&walk->status, walk->user), walk->user))
		return hs_error_create(
			HS_ERROR_REFUSED,
			"%s goes through %s, a symbolic link in a directory that other users can change; name the directory "
			"behind it with -o",
			walk->path, name);
	if (is_no_path(walk, link_fd, name))
		return hs_error_create(
			HS_ERROR_REFUSED,
			"%s goes through %s, a link of /proc that stands for a file and not for a path; name the directory "
			"itself with -o",
			walk->path, name);
	return NULL;
}

// Puts the link's text before what is left to walk.
static struct hs_error *follow(struct walk *walk, int link_fd, const char *name)
{
	char text[LINK_TEXT_MAX + 1], *rest;
	ssize_t size;
	struct stat link;
	struct hs_error *error;

	if (fstat(link_fd, &link) < 0)
		return walk_error(walk, errno);
	error = judge_link(walk, link_fd, &link, name);
	if (error)
		return error;
	if (++walk->links > LINKS_MAX)
		return walk_error(walk, ELOOP);
	size = readlinkat(link_fd, "", text, sizeof(text));
	if (size < 0 || size > LINK_TEXT_MAX)
		return walk_error(walk, size < 0 ? errno : ENAMETOOLONG);
	text[size] = 0;
	error = hs_format(&rest, "%s/%s", text, walk->rest);
	if (error)
		return error;
	free(walk->rest);
	walk->rest = rest;
	return text[0] == '/' ? walk_start(walk, text) : NULL;
}

// One part of the path. Whatever is exchanged for it meanwhile: what is judged is what was opened.
static struct hs_error *step(struct walk *walk, const char *name)
{
	// O_PATH: it may be writable and not readable
	int fd = openat(walk->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct hs_error *error;
	struct stat status;

	if (fd >= 0)
		return walk_to(walk, fd);
	if (errno != ENOTDIR && errno != ELOOP)
		return walk_error(walk, errno);
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		error = walk_error(walk, errno);
	else if (S_ISDIR(status.st_mode))
		return walk_to(walk, fd);
	else
		error = S_ISLNK(status.st_mode) ? follow(walk, fd, name) : walk_error(walk, ENOTDIR);
	if (fd >= 0)
		close(fd);
	return error;
}

// Who may write into a directory and into the one above can move it to another place, and then ".." is not what the
// path says.
static struct hs_error *step_up(struct walk *walk)
{
	if (place_control(&walk->status, walk->user) == PLACE_FOREIGN)
		return hs_error_create(
			HS_ERROR_REFUSED,
			"%s leads by .. out of a directory that other users can change; name the directory itself with -o",
			walk->path);
	return walk_to(walk, openat(walk->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static struct hs_error *walk_rest(struct walk *walk)
{
	struct hs_error *error = NULL;

	while (!error && *walk->rest) {
		char name[LINK_TEXT_MAX + 1];
		size_t size;

		memmove(walk->rest, walk->rest + strspn(walk->rest, "/"),
			strlen(walk->rest + strspn(walk->rest, "/")) + 1);
		size = strcspn(walk->rest, "/");
		if (size >= sizeof(name))
			return walk_error(walk, ENAMETOOLONG);
		memcpy(name, walk->rest, size);
		name[size] = 0;
		memmove(walk->rest, walk->rest + size, strlen(walk->rest + size) + 1);
		if (strcmp(name, "..") == 0)
			error = step_up(walk);
		else if (*name && strcmp(name, ".") != 0)
			error = step(walk, name);
	}
	return error;
}

struct hs_error *output_place_open(const char *path, struct output_place *ret)
{
	const char *slash = strrchr(path, '/');
	struct walk walk = {
		.path = path, .rest = strndup(path, slash ? (size_t)(slash - path) : 0), .fd = -1, .user = geteuid()
	};
	struct hs_error *error = walk.rest ? walk_start(&walk, path) : &hs_error_no_memory;

	if (!error)
		error = walk_rest(&walk);
	free(walk.rest);
	if (error) {
		if (walk.fd >= 0)
			close(walk.fd);
		return error;
	}
	*ret = (struct output_place){ walk.fd, slash ? slash + 1 : path, place_control(&walk.status, walk.user) };
	return NULL;
}
