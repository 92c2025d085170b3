// SPDX-License-Identifier: Apache-2.0
#include "attach/region/region_access.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/refused_reads.h"
#include "attach/process/memory_device.h"
#include "attach/ptrace/memory_write.h"
#include "attach/region/code_proof.h"
#include "attach/region/region_stable.h"
#include "attach/region/state_pages.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool region_may_be(const struct proc_map *map)
{
	return map->shared && map->deleted && strcmp(map->name, "/dev/zero") == 0 && map->offset == 0 &&
	       makedev(map->device_major, map->device_minor) == memory_file_device() && map->start >= HS_LAYOUT_LOW &&
	       map->end <= HS_LAYOUT_HIGH && map->start % HS_LAYOUT_GAP == 0 &&
	       map->end - map->start >= sizeof(struct stable_header);
}

const struct proc_map *region_find(const struct proc_maps *maps, const struct target_memory *memory)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_map *map = &maps->items[i];
		struct stable_header header;
		struct hs_error *error;

		if (!region_may_be(map) || !map->readable || !map->writable)
			continue;
		error = target_memory_read(memory, map->start, &header, sizeof(header));
		if (!error && header.magic == HS_REGION_MAGIC && header.region_address == map->start)
			return map;
		hs_error_destroy(error);
	}
	return NULL;
}

bool region_is_bare(const struct proc_maps *maps, const struct target_memory *memory, const struct address_range *range)
{
	const struct proc_map *map = proc_maps_find(maps, range->address);
	uint64_t magic = 0;
	struct hs_error *error;

	if (!map || !region_may_be(map) || map->start != range->address || map->end - map->start != range->size)
		return false;
	error = target_memory_read(memory, map->start, &magic, sizeof(magic));
	hs_error_destroy(error);
	return !error && magic == 0;
}

static struct hs_error *check_parts(const struct region_header *header, const struct region_layout *layout,
				    uint64_t size)
{
	const struct region_part pages = { layout->pages, size < layout->pages ? 0 : size - layout->pages };
	const struct {
		const char *name;
		const struct region_part *part, *wanted;
	} parts[] = {
		{ "modules", &header->modules, &layout->modules },
		{ "strings", &header->strings, &layout->strings },
		{ "threads", &header->threads, &layout->threads },
		{ "rules", &header->rules, &layout->rules },
		{ "log", &header->log, &layout->log },
		{ "buckets", &header->buckets, &layout->buckets },
		{ "root", &header->root, &layout->root },
		{ "samples", &header->samples, &layout->samples },
		{ "pages", &header->pages, &pages },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct region_part *part = parts[i].part, *wanted = parts[i].wanted;

		if (part->offset != wanted->offset || part->size != wanted->size || part->size > size ||
		    part->offset > size - part->size)
			return hs_error_create(HS_ERROR_BAD_DATA,
					       "the region's header is damaged: its part %s lies elsewhere",
					       parts[i].name);
	}
	return NULL;
}

struct hs_error *region_check_header(const struct region_header *header, uint64_t size)
{
	const struct region_layout *layout = region_layout_find(header->stable.abi_version);
	struct hs_error *wrong = region_stable_check(&header->stable, size);

	if (!wrong)
		wrong = region_check_version(&header->stable);
	if (wrong)
		return wrong;
	if (memcmp(&header->stable.layout, &layout->stable, sizeof(layout->stable)) != 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: a part lies elsewhere");
	wrong = check_parts(header, layout, size);
	if (wrong)
		return wrong;
	if (header->stable.hook_count > HS_HOOKS_MAX || header->module_count > HS_MODULES_MAX ||
	    header->string_bytes > HS_STRINGS_SIZE ||
	    header->thread_count > HS_THREAD_HISTORY_MAX + HS_THREAD_SLOTS_ALL ||
	    header->extra_slot_count > HS_THREAD_EXTRA_SLOTS || header->first_page != layout->pages / HS_PAGE_SIZE ||
	    header->max_pages > size / HS_PAGE_SIZE || header->max_pages < header->first_page || header->depth == 0 ||
	    header->depth > HS_DEPTH_MAX || header->log_limit > HS_LOG_ENTRIES)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: a count is out of range");
	return NULL;
}

// The header's addresses, which detach will unmap, must be mappings of our own. Once a detach has begun, some may be
// gone.
static struct hs_error *check_addresses(const struct target_memory *memory, const struct stable_header *header,
					const struct proc_map *region, const struct proc_maps *maps)
{
	const struct code_names names = { .nonce = header->code_nonce };
	const struct code_proof proof = { memory, &names, region_image(header), false };

	if (header->region_address != region->start)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: it names another address");
	if (header->state_address != header->code_address + header->code_size)
		return hs_error_create(HS_ERROR_BAD_DATA,
				       "the region's header is damaged: its state pages lie elsewhere");
	if (header->state != REGION_ATTACHED)
		return NULL;
	for (uint32_t i = 0; i < header->island_count; i++) {
		const struct address_range area = region_island_area(header, i);

		if (!code_is_ours(&proof, maps, &area))
			return hs_error_create(HS_ERROR_BAD_DATA,
					       "the region's header is damaged: no code at 0x%" PRIx64, area.address);
	}
	if (!code_is_ours(&proof, maps, &proof.image))
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: no code at 0x%" PRIx64,
				       header->code_address);
	if (!state_pages_are_at(maps, header->state_address, header->state_size))
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: no state pages");
	return NULL;
}

// Whether `fd` is the mapped memory: shared anonymous memory, on the kernel's own device, without a link, with the
// mapping's inode and size, which only a holder of CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE can change. Seals first:
// other files have none, and are then asked nothing more.
static bool is_region_memory(int fd, const struct proc_map *map)
{
	struct stat status;

	return fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_nlink == 0 && status.st_dev == memory_file_device() && status.st_ino == map->inode &&
	       (uint64_t)status.st_size == map->end - map->start;
}

// *fd_ret -1 = no privilege for that. `map` has been proven to be of the kernel's own device, so to open it acts on
// nothing else; the handle shows whether it still is.
static struct hs_error *open_through_map_files(const struct process *process, const struct proc_map *map, int *fd_ret)
{
	const unsigned known = STATX_TYPE | STATX_INO;
	HS_CLEANUP_FREE char *link = NULL;
	HS_CLEANUP_CLOSE int handle = -1;
	HS_CLEANUP_CLOSE int fd = -1;
	struct hs_error *error;
	struct statx status;
	char name[64];

	*fd_ret = -1;
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	handle = process_openat(process, name, O_PATH);
	if (handle < 0)
		return NULL;
	error = refused_reads_file();
	if (error)
		return error;
	error = hs_format(&link, "/proc/self/fd/%d", handle);
	if (error)
		return error;
	if (statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, known, &status) == 0 && S_ISREG(status.stx_mode) &&
	    makedev(status.stx_dev_major, status.stx_dev_minor) == memory_file_device() &&
	    status.stx_ino == map->inode) {
		fd = open(link, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return NULL;
	}
	if (fd < 0 || !is_region_memory(fd, map))
		return hs_error_create(
			HS_ERROR_BAD_DATA,
			"what process %d has mapped in the place of heapsnap's region is not that region",
			process->pid);
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

bool region_can_be_opened(void)
{
	HS_CLEANUP_PROCESS struct process own = PROCESS_CLOSED;
	struct proc_maps maps;
	struct hs_error *error = process_glance(getpid(), &own);
	bool can = false;

	if (!error)
		error = proc_maps_read(&own, &maps);
	for (size_t i = 0; !error && i < maps.count; i++) {
		const struct proc_map *map = &maps.items[i];
		char path[80];

		if (map->inode == 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
		can = access(path, F_OK) == 0;
		break;
	}
	if (!error)
		proc_maps_deinit(&maps);
	hs_error_destroy(error);
	return can;
}

struct hs_error *region_open_any(const struct process *process, const struct proc_maps *maps, struct region_access *ret)
{
	const struct proc_map *map = NULL;
	bool candidates = false;
	struct hs_error *error;

	for (size_t i = 0; i < maps->count; i++)
		candidates |= region_may_be(&maps->items[i]);
	*ret = (struct region_access){ .process = process, .fd = -1, .memory.fd = -1 };
	if (candidates) {
		error = target_memory_open(process, &ret->memory);
		if (error)
			return error;
		map = region_find(maps, &ret->memory);
	}
	if (!map) {
		region_close(ret);
		return hs_error_create(HS_ERROR_NOT_FOUND, "process %d is not attached; use `heapsnap attach %d` first",
				       process->pid, process->pid);
	}
	ret->address = map->start;
	ret->size = map->end - map->start;
	error = open_through_map_files(process, map, &ret->fd);
	if (!error)
		error = region_read(ret, 0, &ret->header.stable, sizeof(ret->header.stable));
	if (!error)
		error = region_stable_check(&ret->header.stable, ret->size);
	if (!error)
		error = check_addresses(&ret->memory, &ret->header.stable, map, maps);
	if (error)
		region_close(ret);
	return error;
}

struct hs_error *region_read_header(struct region_access *access)
{
	const struct region_layout *layout = region_layout_find(access->header.stable.abi_version);
	struct hs_error *error = region_check_version(&access->header.stable);
	HS_CLEANUP_FREE uint8_t *bytes = NULL;

	if (error)
		return error;
	bytes = malloc(layout->header_size);
	if (!bytes)
		return &hs_error_no_memory;
	// The part that has been checked is not read again.
	memcpy(bytes, &access->header.stable, sizeof(access->header.stable));
	error = region_read(access, sizeof(access->header.stable), bytes + sizeof(access->header.stable),
			    layout->header_size - sizeof(access->header.stable));
	if (!error)
		region_layout_header(layout, bytes, &access->header);
	access->layout = layout;
	return error ? error : region_check_header(&access->header, access->size);
}

struct hs_error *region_open(const struct process *process, const struct proc_maps *maps, struct region_access *ret)
{
	struct hs_error *error = region_open_any(process, maps, ret);

	if (!error) {
		error = region_read_header(ret);
		if (error)
			region_close(ret);
	}
	if (error && (error->code == HS_ERROR_REFUSED || error->code == HS_ERROR_BAD_DATA)) // it speaks of the region
		error = hs_error_prefix(error, "process %d", (int)process->pid);
	return error;
}

void region_close(struct region_access *access)
{
	if (access->fd >= 0)
		close(access->fd);
	access->fd = -1;
	target_memory_close(&access->memory);
}

struct hs_error *region_refuse_unfinished(const struct region_access *access)
{
	if (access->header.stable.state == REGION_ATTACHED)
		return NULL;
	return hs_error_create(
		HS_ERROR_REFUSED,
		"process %d has leftovers of an unfinished attach or detach; `heapsnap detach %d` clears them away",
		(int)access->process->pid, (int)access->process->pid);
}

bool region_is_there(const struct region_access *access, const struct proc_maps *maps)
{
	const struct proc_map *map = proc_maps_find(maps, access->address);
	struct stat status;

	if (!map || map->start != access->address || map->end - map->start != access->size)
		return false;
	// Without a handle, as it was found.
	return access->fd >= 0 ? fstat(access->fd, &status) == 0 && status.st_ino == map->inode
			       : region_find(maps, &access->memory) == map;
}

struct hs_error *region_read(const struct region_access *access, uint64_t offset, void *buffer, size_t size)
{
	if (access->fd >= 0)
		return hs_pread_exact(access->fd, buffer, size, offset);
	return target_memory_read(&access->memory, access->address + offset, buffer, size);
}

struct hs_error *region_write(const struct region_access *access, uint64_t offset, const void *data, size_t size)
{
	fault_request();
	if (access->fd >= 0)
		return hs_pwrite_all(access->fd, data, size, offset);
	return target_memory_write(&access->memory, access->address + offset, data, size, 0);
}

struct hs_error *region_read_slot(const struct region_access *access, uint64_t offset, struct shared_slot *ret)
{
	HS_CLEANUP_FREE uint8_t *bytes = malloc(access->layout->slot_size);
	struct hs_error *error =
		bytes ? region_read(access, offset, bytes, access->layout->slot_size) : &hs_error_no_memory;

	if (!error)
		region_layout_slot(access->layout, bytes, ret);
	return error;
}

struct hs_error *region_read_hooks(const struct region_access *access, struct hook_record **hooks_ret)
{
	const struct stable_header *header = &access->header.stable;
	HS_CLEANUP_FREE struct hook_record *hooks = calloc(header->hook_count + 1u, sizeof(*hooks));

	if (!hooks)
		return &hs_error_no_memory;
	for (uint32_t i = 0; i < header->hook_count; i++) {
		struct hs_error *error =
			region_read(access, region_hook_offset(header, i), &hooks[i], sizeof(hooks[i]));

		if (error)
			return error;
		region_make_printable(hooks[i].name, sizeof(hooks[i].name));
	}
	*hooks_ret = HS_STEAL_POINTER(hooks);
	return NULL;
}

// Releases have exchanged since the first time that another mode was in force.
bool region_counts_untracked(const struct region_header *header)
{
	return header->always_exact && !header->removals_exchange;
}
