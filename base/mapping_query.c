// SPDX-License-Identifier: Apache-2.0
#include "base/mapping_query.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

// include/uapi/linux/fs.h, since Linux 6.11
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, permissions, page_size, offset, inode;
	uint32_t device_major, device_minor;
	uint32_t name_size, build_id_size;
	uint64_t name_address, build_id_address;
};
#define QUERY _IOWR('f', 17, struct query)
enum { QUERY_READABLE = 1, QUERY_WRITABLE = 2, QUERY_EXECUTABLE = 4, QUERY_SHARED = 8 };

static struct hs_error *none(const struct process *process, uint64_t address)
{
	return hs_error_create(HS_ERROR_NOT_FOUND, "process %d has nothing mapped at 0x%" PRIx64, (int)process->pid,
			       address);
}

static struct hs_error *read_all(const struct process *process, uint64_t address, struct proc_map *ret)
{
	const struct proc_map *map;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);

	if (error)
		return error;
	map = proc_maps_find(&maps, address);
	if (map)
		*ret = *map;
	else
		error = none(process, address);
	ret->name = "";
	ret->deleted = false;
	proc_maps_deinit(&maps);
	return error;
}

struct hs_error *mapping_query(const struct process *process, uint64_t address, struct proc_map *ret)
{
	struct query query = { .size = sizeof(query), .address = address };
	HS_CLEANUP_CLOSE int fd = process_openat(process, "maps", O_RDONLY);

	*ret = (struct proc_map){ .name = "" };
	if (fd < 0)
		return hs_error_system(errno, "cannot open /proc/%d/maps", (int)process->pid);
	if (ioctl(fd, QUERY, &query) != 0)
		return errno == ENOENT ? none(process, address) : read_all(process, address, ret);
	*ret = (struct proc_map){
		.start = query.start,
		.end = query.end,
		.offset = query.offset,
		.inode = query.inode,
		.device_major = query.device_major,
		.device_minor = query.device_minor,
		.readable = query.permissions & QUERY_READABLE,
		.writable = query.permissions & QUERY_WRITABLE,
		.executable = query.permissions & QUERY_EXECUTABLE,
		.shared = query.permissions & QUERY_SHARED,
		.name = "",
	};
	return NULL;
}
