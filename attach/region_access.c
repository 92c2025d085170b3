// SPDX-License-Identifier: Apache-2.0
#include "attach/region_access.h"

#include "attach/interrupt.h"
#include "attach/state_pages.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/live_thread.h"
#include "inject/abi/payload_header.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct proc_map *region_find(const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->items[i].shared && maps->items[i].deleted && strcmp(maps->items[i].name, "/memfd:" HS_REGION_NAME) == 0)
			return &maps->items[i];
	return NULL;
}

static struct hs_error *check_part(const char *name, const struct region_part *part, uint64_t offset, uint64_t size,
				   uint64_t region_size)
{
	if (part->offset != offset || part->size != size || size > region_size || offset > region_size - size)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: its part %s lies elsewhere", name);
	return NULL;
}

struct hs_error *region_check_header(const struct region_header *header, uint64_t size)
{
	const struct {
		const char *name;
		const struct region_part *part;
		uint64_t offset, size;
	} parts[] = {
		{ "hooks", &header->hooks, HS_OFFSET_HOOKS, HS_OFFSET_MODULES - HS_OFFSET_HOOKS },
		{ "modules", &header->modules, HS_OFFSET_MODULES, HS_OFFSET_STRINGS - HS_OFFSET_MODULES },
		{ "strings", &header->strings, HS_OFFSET_STRINGS, HS_OFFSET_THREADS - HS_OFFSET_STRINGS },
		{ "threads", &header->threads, HS_OFFSET_THREADS, HS_OFFSET_SLOTS - HS_OFFSET_THREADS },
		{ "slots", &header->slots, HS_OFFSET_SLOTS, HS_OFFSET_RULES - HS_OFFSET_SLOTS },
		{ "rules", &header->rules, HS_OFFSET_RULES, HS_OFFSET_LOG - HS_OFFSET_RULES },
		{ "log", &header->log, HS_OFFSET_LOG, HS_OFFSET_BUCKETS - HS_OFFSET_LOG },
		{ "buckets", &header->buckets, HS_OFFSET_BUCKETS, HS_OFFSET_ROOT - HS_OFFSET_BUCKETS },
		{ "root", &header->root, HS_OFFSET_ROOT, HS_OFFSET_SAMPLES - HS_OFFSET_ROOT },
		{ "samples", &header->samples, HS_OFFSET_SAMPLES, HS_SAMPLE_TABLE_SIZE },
		{ "pages", &header->pages, HS_OFFSET_PAGES, size < HS_OFFSET_PAGES ? 0 : size - HS_OFFSET_PAGES },
	};

	if (header->magic != HS_REGION_MAGIC)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is not heapsnap's");
	if (header->abi_version != HS_ABI_VERSION)
		return hs_error_create(HS_ERROR_REFUSED,
				       "attached by another version of heapsnap (layout %u, this one reads %u): use that version",
				       header->abi_version, HS_ABI_VERSION);
	if (header->size != size)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: it names another size");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct hs_error *error = check_part(parts[i].name, parts[i].part, parts[i].offset, parts[i].size, size);

		if (error)
			return error;
	}
	if (header->state < REGION_ATTACHING || header->state > REGION_DETACHING || header->hook_count > HS_HOOKS_MAX ||
	    header->island_count > 16 || header->module_count > HS_MODULES_MAX || header->string_bytes > HS_STRINGS_SIZE ||
	    header->thread_count > HS_THREAD_HISTORY_MAX + HS_THREAD_SLOTS || header->first_page != HS_OFFSET_PAGES / HS_PAGE_SIZE ||
	    header->max_pages > size / HS_PAGE_SIZE || header->max_pages < header->first_page || header->depth == 0 ||
	    header->depth > HS_DEPTH_MAX || header->log_limit > HS_LOG_ENTRIES)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: a count is out of range");
	return NULL;
}

bool region_is_code(const struct proc_maps *maps, uint64_t address, uint64_t size)
{
	const struct proc_map *map = proc_maps_find(maps, address);

	// Without executable memfds the code is anonymous memory.
	return map && map->start == address && size <= map->end - map->start && map->executable && !map->writable &&
	       (strcmp(map->name, "/memfd:" HS_CODE_NAME) == 0 || (map->inode == 0 && !*map->name));
}

// The header's addresses, which detach will unmap, must be mappings of our own. Once a detach has begun, some may be gone.
static struct hs_error *check_addresses(const struct region_header *header, const struct proc_map *region, const struct proc_maps *maps)
{
	const struct proc_map *state;

	if (header->region_address != region->start)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: it names another address");
	if (header->state_address != header->code_address + header->code_size)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: its state pages lie elsewhere");
	if (header->state != REGION_ATTACHED)
		return NULL;
	for (uint32_t i = 0; i < header->island_count; i++)
		if (!region_is_code(maps, header->islands[i].offset, header->islands[i].size))
			return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: no code at 0x%" PRIx64,
					       header->islands[i].offset);
	if (!region_is_code(maps, header->code_address, header->code_size))
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: no code at 0x%" PRIx64, header->code_address);
	state = proc_maps_find(maps, header->state_address);
	if (!state || state->inode != 0 || !state->writable || state->end - header->state_address < HS_STATE_SIZE)
		return hs_error_create(HS_ERROR_BAD_DATA, "the region's header is damaged: no state pages");
	return NULL;
}

// Whether it is memory that cannot be cut short, as ours is. A target can give a file of any name and kind the name of our region, in a
// mount namespace of its own; but only memory has seals (memfd_create(2)).
static bool is_sealed(int fd)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted;
}

// *fd_ret -1 = no privilege for that. Opened for writing only when it is known to be a plain file: opening a device can act on it.
static struct hs_error *open_through_map_files(pid_t pid, const struct proc_map *map, int *fd_ret)
{
	HS_CLEANUP_FREE char *path = NULL;
	HS_CLEANUP_FREE char *link = NULL;
	HS_CLEANUP_CLOSE int handle = -1;
	HS_CLEANUP_CLOSE int fd = -1;
	struct stat status;
	struct hs_error *error = hs_format(&path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, hs_live_thread(pid), map->start, map->end);

	*fd_ret = -1;
	if (error)
		return error;
	handle = open(path, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return NULL;
	error = hs_format(&link, "/proc/self/fd/%d", handle);
	if (error)
		return error;
	if (fstat(handle, &status) == 0 && S_ISREG(status.st_mode))
		fd = open(link, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && !is_sealed(fd))
		return hs_error_create(HS_ERROR_BAD_DATA, "what process %d has mapped under the name of heapsnap's region is something else", pid);
	*fd_ret = HS_STEAL_FD(fd);
	return NULL;
}

struct hs_error *region_open(pid_t pid, const struct proc_maps *maps, struct region_access *ret)
{
	const struct proc_map *map = region_find(maps);
	struct hs_error *error;

	if (!map)
		return hs_error_create(HS_ERROR_NOT_FOUND, "process %d is not attached; use `heapsnap attach %d` first", pid, pid);
	*ret = (struct region_access){ .pid = pid, .address = map->start, .size = map->end - map->start, .fd = -1, .memory.fd = -1 };
	error = target_memory_open(pid, &ret->memory);
	if (error)
		return error;
	error = open_through_map_files(pid, map, &ret->fd);
	if (!error && ret->size < HS_OFFSET_PAGES)
		error = hs_error_create(HS_ERROR_BAD_DATA, "the region of process %d is too small to be heapsnap's", pid);
	if (!error)
		error = region_read(ret, 0, &ret->header, sizeof(ret->header));
	if (!error)
		error = region_check_header(&ret->header, ret->size);
	if (!error)
		error = check_addresses(&ret->header, map, maps);
	if (error)
		region_close(ret);
	return error;
}

void region_close(struct region_access *access)
{
	if (access->fd >= 0)
		close(access->fd);
	access->fd = -1;
	target_memory_close(&access->memory);
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

// A name that the target may have written over: it is printed in messages.
static void make_printable(char *name, size_t size)
{
	name[size - 1] = 0;
	for (; *name; name++)
		if (*name < ' ' || *name > '~')
			*name = '?';
}

struct hs_error *region_read_hooks(const struct region_access *access, struct hook_record **hooks_ret)
{
	size_t size = access->header.hook_count * sizeof(struct hook_record);
	HS_CLEANUP_FREE struct hook_record *hooks = calloc(access->header.hook_count + 1u, sizeof(*hooks));
	struct hs_error *error;

	if (!hooks)
		return &hs_error_no_memory;
	error = region_read(access, HS_OFFSET_HOOKS, hooks, size);
	if (error)
		return error;
	for (uint32_t i = 0; i < access->header.hook_count; i++)
		make_printable(hooks[i].name, sizeof(hooks[i].name));
	*hooks_ret = HS_STEAL_POINTER(hooks);
	return NULL;
}

static int compare_words(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

struct hs_error *region_release_slots(const struct region_access *access, const struct thread_slot *slots,
				      const struct frozen_process *process)
{
	const uint64_t ended = HS_THREAD_ENDED;
	HS_CLEANUP_FREE uint64_t *alive = NULL;
	struct hs_error *error = NULL;

	if (access->header.thread_count < HS_THREAD_SLOTS / 4)
		return NULL;
	alive = calloc(process->count + 1, sizeof(*alive));
	if (!alive)
		return &hs_error_no_memory;
	for (size_t i = 0; i < process->count; i++)
		alive[i] = process->threads[i].registers.fs_base;
	qsort(alive, process->count, sizeof(*alive), compare_words);
	for (uint32_t i = 0; i < HS_THREAD_SLOTS && !error; i++) {
		uint64_t offset = HS_OFFSET_SLOTS + i * sizeof(*slots) + offsetof(struct thread_slot, thread_pointer);
		uint64_t key = slots[i].thread_pointer;

		// A hook that is running, in a process that shares the memory without being one of the threads, keeps its slot.
		if (key <= HS_THREAD_ENDED || slots[i].guard || slots[i].pending ||
		    bsearch(&key, alive, process->count, sizeof(*alive), compare_words))
			continue;
		error = region_write(access, offset, &ended, sizeof(ended));
	}
	// So that the passes of ended threads keep none of the others from having one.
	return error ? error : state_pages_take_passes(&access->memory, access->header.state_address, process->threads[0].tid);
}
