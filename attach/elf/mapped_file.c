// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/mapped_file.h"

#include "attach/guard/refused_reads.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "inject/abi/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MINIMUM_COMPARED = 64 };

// Opens a regular file of the process's folder. O_PATH first, because opening a device that the target has mapped would
// act on the device.
static struct hs_error *open_regular(const struct process *process, const char *path, int *fd_ret,
				     struct stat *status_ret)
{
	HS_CLEANUP_CLOSE int handle = process_openat(process, path, O_PATH);
	HS_CLEANUP_FREE char *link = NULL;
	struct hs_error *error;

	if (handle < 0 || fstat(handle, status_ret) < 0)
		return hs_error_system(errno, "cannot open /proc/%d/%s", (int)process->pid, path);
	if (!S_ISREG(status_ret->st_mode))
		return hs_error_create(HS_ERROR_BAD_DATA, "/proc/%d/%s is no regular file", (int)process->pid, path);
	error = hs_format(&link, "/proc/self/fd/%d", handle);
	if (error)
		return error;
	*fd_ret = open(link, O_RDONLY | O_CLOEXEC);
	return *fd_ret < 0 ? hs_error_system(errno, "cannot read /proc/%d/%s", (int)process->pid, path) : NULL;
}

// Whether the file holds at the mapping's offset what the target has mapped there.
static bool has_mapped_bytes(int fd, const struct proc_map *map, const struct target_memory *memory)
{
	uint8_t in_file[HS_PAGE_SIZE], in_memory[HS_PAGE_SIZE];
	ssize_t size = pread(fd, in_file, sizeof(in_file), (off_t)map->offset);
	struct hs_error *error;
	bool same;

	if (size < MINIMUM_COMPARED)
		return false;
	error = target_memory_read(memory, map->start, in_memory, (size_t)size);
	same = !error && memcmp(in_file, in_memory, (size_t)size) == 0;
	hs_error_destroy(error);
	return same;
}

// Opens what may be another file, and compares.
static struct hs_error *open_same(const char *path, const struct proc_map *map, const struct target_memory *memory,
				  bool may_have_another_number, int *fd_ret)
{
	const struct process *process = memory->process;
	HS_CLEANUP_CLOSE int fd = -1;
	struct stat status;
	struct hs_error *error = open_regular(process, path, &fd, &status);

	if (error)
		return error;
	// On overlayfs and btrfs the device of stat(2) is not the one of the maps file; then the bytes decide.
	if ((status.st_ino != map->inode && !may_have_another_number) ||
	    ((status.st_ino != map->inode || status.st_dev != makedev(map->device_major, map->device_minor)) &&
	     !has_mapped_bytes(fd, map, memory)))
		return hs_error_create(HS_ERROR_NOT_FOUND, "%s is no longer the file that process %d has mapped",
				       map->name, process->pid);
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

struct hs_error *mapped_file_open(const struct process *process, const struct proc_map *map,
				  const struct target_memory *memory, int *fd_ret)
{
	HS_CLEANUP_FREE char *by_address = NULL;
	HS_CLEANUP_FREE char *by_path = NULL;
	struct stat status;
	struct hs_error *error = refused_reads_file(), *of_program;

	if (!error)
		error = hs_format(&by_address, "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	if (error)
		return error;
	error = open_regular(process, by_address, fd_ret, &status);
	if (!error || hs_errno_is_shortage(error->error_number))
		return error;
	if (!map->deleted && map->name[0] == '/') {
		hs_error_destroy(error);
		error = hs_format(&by_path, "root%s", map->name);
		if (!error)
			error = open_same(by_path, map, memory, true, fd_ret);
	} else if (map->deleted) {
		hs_error_destroy(error);
		error = hs_error_create(HS_ERROR_NOT_FOUND, "%s was removed or replaced", map->name);
	}
	if (!error)
		return NULL;
	of_program = open_same("exe", map, memory, false, fd_ret); // the mapping may be one of the program's own file
	if (of_program && !hs_errno_is_shortage(of_program->error_number)) {
		hs_error_destroy(of_program);
		return error;
	}
	hs_error_destroy(error);
	return of_program;
}
