// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory_file.h"

#include "attach/process/memory_device.h"
#include "attach/process/thread_descriptor.h"
#include "base/cleanup.h"
#include "base/mapping_query.h"
#include "inject/abi/payload_header.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020 // since Linux 6.3
#endif

enum { LINK_SIZE = 128 }; // bytes: more than a link to one of ours has

static const char removed[] = " (deleted)"; // the kernel's, at the end of links to files that have no name any more

// Reads the owner of the file behind a mapping. false = it cannot be looked at: /proc/PID/map_files asks for privilege.
static bool read_mapped_owner(const struct process *process, const struct proc_map *map, uid_t *ret)
{
	HS_CLEANUP_CLOSE int handle = -1;
	struct statx found;
	char path[64];

	snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	handle = process_openat(process, path, O_PATH);
	if (handle < 0 || statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_UID, &found) != 0)
		return false;
	*ret = found.stx_uid;
	return true;
}

bool memory_file_is_mapped(const struct process *process, const struct code_names *names, const struct proc_map *map)
{
	uid_t owner;

	if (!map->deleted || makedev(map->device_major, map->device_minor) != memory_file_device() ||
	    !code_names_have(names, map->name))
		return false;
	return code_names_of_region(names, map->name) || !read_mapped_owner(process, map, &owner) ||
	       code_names_owner_fits(names, map->name, owner);
}

// A link below /proc, as the kernel writes it; "" when it is longer than any of ours, or not there.
static void end_link(ssize_t length, char ret[LINK_SIZE]) { ret[length > 0 && length < LINK_SIZE ? length : 0] = 0; }

static void read_own_link(int fd, char ret[LINK_SIZE])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	end_link(readlink(path, ret, LINK_SIZE), ret);
}

// Whether it is memory of the kernel's own file system, and which. Seals are asked first: only such files have any, so
// that no other file system, which may be slow or wait for the target itself, is ever asked for anything. A handle
// (O_PATH) has none, and is asked for what the kernel knows already.
static bool read_status(int fd, struct stat *ret)
{
	struct statx found;

	if (fcntl(fd, F_GET_SEALS) >= 0)
		return fstat(fd, ret) == 0 && ret->st_dev == memory_file_device();
	if (!(fcntl(fd, F_GETFL) & O_PATH) ||
	    statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_MODE | STATX_INO | STATX_NLINK | STATX_UID | STATX_SIZE, &found) != 0)
		return false;
	*ret = (struct stat){
		.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
		.st_ino = found.stx_ino,
		.st_mode = found.stx_mode,
		.st_nlink = found.stx_nlink,
		.st_uid = found.stx_uid,
		.st_size = (off_t)found.stx_size,
	};
	return ret->st_dev == memory_file_device();
}

// Replaces *fd, where it is a handle (O_PATH), by a descriptor of the file itself. pre: it is known what the file is.
static struct hs_error *open_handle(int *fd)
{
	char path[32];
	int opened;

	if (!(fcntl(*fd, F_GETFL) & O_PATH))
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	opened = open(path, O_RDWR | O_CLOEXEC);
	if (opened < 0)
		return hs_error_system(errno, "cannot open the target's memory file");
	close(*fd);
	*fd = opened;
	return NULL;
}

// All that memory_file_take promises, of one descriptor.
static bool is_fresh(int fd, const char *name)
{
	char link[LINK_SIZE], wanted[HS_CODE_NAME_SIZE + 32];
	struct stat status;

	snprintf(wanted, sizeof(wanted), "/memfd:%s%s", name, removed);
	read_own_link(fd, link);
	return strcmp(link, wanted) == 0 && read_status(fd, &status) && S_ISREG(status.st_mode) &&
	       status.st_size == 0 && status.st_nlink == 0;
}

struct hs_error *memory_file_take(const struct process *process, pid_t tid, int64_t number, const char *name,
				  int *fd_ret)
{
	HS_CLEANUP_CLOSE int fd = -1;
	struct hs_error *error = thread_descriptor_take(process, tid, number, &fd);
	bool proven = !error && is_fresh(fd, name);

	if (error && error->code != HS_ERROR_NOT_FOUND)
		return error;
	hs_error_destroy(error);
	if (proven) {
		error = open_handle(&fd);
		if (error)
			return error;
		// Once more, and what only an open file tells. Files that may not be made executable have a seal from
		// the beginning.
		proven = is_fresh(fd, name) && (fcntl(fd, F_GET_SEALS) & ~F_SEAL_EXEC) == 0 &&
			 (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
	}
	if (!proven)
		return hs_error_create(HS_ERROR_REFUSED,
				       "descriptor %" PRId64
				       " of thread %d is not the memory file that was made there a moment ago: "
				       "another process changes its descriptors",
				       number, (int)tid);
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

bool memory_file_is_at(const struct process *process, pid_t tid, int64_t number, int fd)
{
	HS_CLEANUP_CLOSE int there = -1;
	struct hs_error *error = thread_descriptor_take(process, tid, number, &there);
	struct stat own, status;

	if (error) {
		hs_error_destroy(error);
		return false;
	}
	// As long as the tool has it open, no other file gets its inode's number.
	return fstat(fd, &own) == 0 && read_status(there, &status) && status.st_dev == own.st_dev &&
	       status.st_ino == own.st_ino;
}

struct hs_error *memory_file_is_mapped_at(const struct process *process, uint64_t address, uint64_t size, int fd,
					  bool *ret)
{
	struct proc_map map;
	struct hs_error *error = mapping_query(process, address, &map);
	struct stat own;

	if (error)
		return error;
	if (fstat(fd, &own) != 0)
		return hs_error_system(errno, "cannot examine the memory file");
	*ret = map.start == address && map.end == address + size && map.inode == own.st_ino &&
	       makedev(map.device_major, map.device_minor) == own.st_dev;
	return NULL;
}

// Empty, or begun with what stands first in our code.
static bool has_our_content(int fd, const struct stat *status)
{
	uint64_t magic;

	return status->st_size == 0 ||
	       (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == HS_PAYLOAD_MAGIC);
}

// Whether a link is to a file of ours, whose name is then left of it.
static bool link_is_ours(const struct code_names *names, char *link)
{
	char *end = strstr(link, removed);

	if (!end || end[strlen(removed)])
		return false;
	*end = 0;
	return code_names_have(names, link);
}

bool memory_file_may_be_left(const struct code_names *names, int directory, const char *number)
{
	char link[LINK_SIZE];

	end_link(readlinkat(directory, number, link, sizeof(link)), link);
	return link_is_ours(names, link);
}

bool memory_file_is_left(const struct process *process, const struct code_names *names, pid_t tid, int64_t number)
{
	HS_CLEANUP_CLOSE int fd = -1;
	char path[80], link[LINK_SIZE];
	struct hs_error *error;
	struct stat status;

	// The name first, so that no other descriptor is taken.
	snprintf(path, sizeof(path), "task/%d/fd/%" PRId64, (int)tid, number);
	end_link(readlinkat(process->folder, path, link, sizeof(link)), link);
	if (!link_is_ours(names, link))
		return false;
	error = thread_descriptor_take(process, tid, number, &fd);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	read_own_link(fd, link);
	if (!link_is_ours(names, link) || !read_status(fd, &status) || !S_ISREG(status.st_mode) ||
	    status.st_nlink != 0 || !code_names_owner_fits(names, link, status.st_uid))
		return false;
	error = open_handle(&fd);
	hs_error_destroy(error);
	return !error && has_our_content(fd, &status);
}
