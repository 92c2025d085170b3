// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory.h"

#include "attach/guard/refused_reads.h"
#include "attach/guard/standstill.h"
#include "attach/process/memory_device.h"
#include "base/mapping_query.h"
#include "base/pagemap.h"
#include "base/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 512 };

// Whether the kernel shows nobody's pages: it is built without, or, before Linux 4.2, wants privilege for it. Only that
// is taken for an answer. What else keeps a process's pagemap from being opened passes (no descriptor is left, say),
// and to go on without it would do what may harm: all stacks would seem to be full, so [stack] would grow, and pages of
// files would be read that somebody has to provide.
static bool kernel_has_no_pagemap(void)
{
	const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == EPERM || errno == EACCES;
	close(fd);
	return false;
}

struct hs_error *target_pagemap_open(const struct process *process, int *ret)
{
	int error_number;

	*ret = process_openat(process, "pagemap", O_RDONLY);
	error_number = errno;
	if (*ret >= 0 || kernel_has_no_pagemap())
		return NULL;
	if (error_number == ENOENT || error_number == ESRCH)
		return process_gone(process);
	return hs_error_system(error_number, "cannot open the page map of process %d", (int)process->pid);
}

struct hs_error *target_memory_open(const struct process *process, struct target_memory *ret)
{
	const int fd = process_openat(process, "mem", O_RDWR);
	struct hs_error *error;
	int pagemap;

	if (fd < 0) {
		if (errno == ENOENT || errno == ESRCH)
			return process_gone(process);
		return hs_error_system(errno, "cannot open the memory of process %d", (int)process->pid);
	}
	error = target_pagemap_open(process, &pagemap);
	if (error) {
		close(fd);
		return error;
	}
	*ret = (struct target_memory){ .process = process, .fd = fd, .pagemap = pagemap };
	return NULL;
}

void target_memory_close(struct target_memory *memory)
{
	if (memory->fd >= 0) {
		close(memory->fd);
		if (memory->pagemap >= 0)
			close(memory->pagemap);
	}
	memory->fd = memory->pagemap = -1;
}

// Why a page is taken to be neither in memory nor in swap. MARKED: what userfaultfd has write-protected, and is not
// there, says "swapped" also where it is but such a mark in a file's mapping (pagemap_pte_entry in fs/proc/task_mmu.c).
// UNREAD: the kernel was asked, and did not say.
enum absence { ABSENT, MARKED, UNREAD };

// The first such page of [address, end). UINT64_MAX = none. Where the kernel has no pagemap, all are taken to be there.
static uint64_t first_absent(const struct target_memory *memory, uint64_t address, uint64_t end, enum absence *why_ret)
{
	uint64_t entries[PAGES_AT_ONCE];

	for (uint64_t page = page_of(address); memory->pagemap >= 0 && page < end;) {
		const uint64_t left = (end - 1) / HS_PAGE_SIZE - page / HS_PAGE_SIZE + 1;
		const size_t count = left < PAGES_AT_ONCE ? (size_t)left : PAGES_AT_ONCE;
		const ssize_t got = pread(memory->pagemap, entries, count * sizeof(entries[0]),
					  (off_t)(page / HS_PAGE_SIZE * sizeof(entries[0])));

		*why_ret = UNREAD;
		if (got < (ssize_t)sizeof(entries[0]))
			return page;
		for (size_t i = 0; i < (size_t)got / sizeof(entries[0]); i++, page += HS_PAGE_SIZE) {
			*why_ret = entries[i] & PAGEMAP_SWAPPED ? MARKED : ABSENT;
			if (!(entries[i] & PAGEMAP_PRESENT) && (*why_ret == ABSENT || entries[i] & PAGEMAP_UFFD_WP))
				return page;
		}
	}
	return UINT64_MAX;
}

static bool is_of_file(const struct proc_map *map)
{
	return map->inode != 0 && makedev(map->device_major, map->device_minor) != memory_file_device();
}

enum residence target_memory_residence(const struct target_memory *memory, uint64_t address, size_t size)
{
	const uint64_t end = address + size;
	enum absence why;
	uint64_t page;

	while ((page = first_absent(memory, address, end, &why)) < end) {
		struct hs_error *error;
		struct proc_map map;

		if (why != MARKED)
			return why == UNREAD ? RESIDENCE_UNKNOWN : RESIDENCE_ABSENT;
		error = mapping_query(memory->process, page, &map);
		if (error) {
			hs_error_destroy(error);
			return RESIDENCE_UNKNOWN;
		}
		if (is_of_file(&map))
			return RESIDENCE_ABSENT;
		address = page + HS_PAGE_SIZE; // in swap
	}
	return RESIDENCE_THERE;
}

struct hs_error *target_memory_check_present(const struct target_memory *memory, uint64_t address, size_t size)
{
	const uint64_t end = address + size;
	struct hs_error *lacking = NULL; // of the first page; the others are noted as well, so that one fetch has all
	struct proc_map map = { 0 };
	enum absence why;
	uint64_t page;

	if (!standstill_is_on())
		return NULL;
	for (uint64_t from = address; (page = first_absent(memory, from, end, &why)) < end;) {
		struct hs_error *error = page < map.end ? NULL : mapping_query(memory->process, page, &map);

		if (error && error->code == HS_ERROR_NOT_FOUND) { // nothing is mapped, as the read or write will find
			hs_error_destroy(error);
			break;
		}
		from = map.end;
		if (!error && is_of_file(&map)) {
			error = refused_reads_page(page);
			from = page + HS_PAGE_SIZE;
		}
		if (error && error->code != HS_ERROR_REFUSED) { // it cannot be had
			hs_error_destroy(lacking);
			return error;
		}
		if (lacking)
			hs_error_destroy(error);
		else
			lacking = error;
	}
	return lacking;
}

void target_memory_fetch_lacked(const struct target_memory *memory)
{
	const uint64_t *pages;
	size_t count = refused_reads_pages(&pages);
	uint8_t byte;

	for (size_t i = 0; i < count; i++) {
		struct hs_error *error = target_memory_read(memory, pages[i], &byte, sizeof(byte));

		if (error)
			refused_reads_page_is_unobtainable(pages[i]);
		hs_error_destroy(error);
	}
}

struct hs_error *target_memory_read(const struct target_memory *memory, uint64_t address, void *buffer, size_t size)
{
	struct hs_error *error = target_memory_check_present(memory, address, size);
	size_t done = 0;

	if (error)
		return error;
	while (done < size) {
		ssize_t count = pread(memory->fd, (char *)buffer + done, size - done, (off_t)(address + done));

		if (count > 0) {
			done += (size_t)count;
		} else if (count == 0) {
			// mem_rw in fs/proc/base.c: end of file only when the address space has no user left
			return process_gone(memory->process);
		} else if (errno != EINTR) {
			return hs_error_fault(errno, address + done,
					      "cannot read %zu bytes at 0x%" PRIx64 " of process %d", size, address,
					      (int)memory->process->pid);
		}
	}
	return NULL;
}

struct hs_error *target_memory_read_resident(const struct target_memory *memory, uint64_t address, void *buffer,
					     size_t size)
{
	if (target_memory_is_resident(memory, address, size))
		return target_memory_read(memory, address, buffer, size);
	return hs_error_fault(EFAULT, address, "not all of %zu bytes at 0x%" PRIx64 " of process %d are in memory",
			      size, address, (int)memory->process->pid);
}

// Both hold still as long as no thread runs. A program that writes to these bytes changes them for both.
static struct hs_error *is_of_another_program(const struct target_memory *old, const struct target_memory *now,
					      bool *ret)
{
	static const uint64_t type = AT_RANDOM;
	uint8_t random[16], before[sizeof(random)]; // create_elf_tables in fs/binfmt_elf.c
	uint64_t address;
	struct hs_error *error = process_auxv(now->process, &type, 1, &address);

	*ret = false;
	if (error || !address)
		return error;
	error = target_memory_read_resident(now, address, random, sizeof(random));
	if (error && error->code == HS_ERROR_GONE)
		return error;
	if (error) {
		hs_error_destroy(error); // not there: unmapped by the program, or another page in its place
		return NULL;
	}
	// a page that is there now, and not in the old memory, is not the same one
	error = target_memory_read_resident(old, address, before, sizeof(before));
	*ret = error || memcmp(before, random, sizeof(random)) != 0;
	hs_error_destroy(error);
	return NULL;
}

struct hs_error *target_memory_open_again(struct target_memory *memory, bool *executed_ret)
{
	struct target_memory now;
	struct hs_error *error = target_memory_open(memory->process, &now);

	*executed_ret = false;
	if (error)
		return error;
	error = is_of_another_program(memory, &now, executed_ret);
	if (error) {
		target_memory_close(&now);
		return error;
	}
	target_memory_close(memory);
	*memory = now;
	return NULL;
}

bool target_memory_equals(const struct target_memory *memory, uint64_t address, const void *bytes, size_t size)
{
	uint8_t there[HS_PAGE_SIZE];
	bool same = true;

	for (size_t done = 0; done < size && same; done += sizeof(there)) {
		const size_t piece = size - done < sizeof(there) ? size - done : sizeof(there);
		struct hs_error *error = target_memory_read(memory, address + done, there, piece);

		same = !error && memcmp(there, (const uint8_t *)bytes + done, piece) == 0;
		hs_error_destroy(error);
	}
	return same;
}
