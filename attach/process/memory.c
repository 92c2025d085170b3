// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory.h"
#include "base/pagemap.h"
#include "base/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct hs_error *target_memory_open(const struct process *process, struct target_memory *ret)
{
	const int fd = process_openat(process, "mem", O_RDWR);

	if (fd < 0) {
		if (errno == ENOENT || errno == ESRCH)
			return process_gone(process);
		return hs_error_system(errno, "cannot open the memory of process %d", (int)process->pid);
	}
	*ret = (struct target_memory){ .process = process,
				       .fd = fd,
				       .pagemap = process_openat(process, "pagemap", O_RDONLY) };
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

struct hs_error *target_memory_read(const struct target_memory *memory, uint64_t address, void *buffer, size_t size)
{
	size_t done = 0;

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

// Whether no page of [address, address + size) has to be provided by anybody. Where no pagemap can be had, all are
// taken to be there.
static bool is_resident(const struct target_memory *memory, uint64_t address, size_t size)
{
	for (uint64_t page = page_of(address); memory->pagemap >= 0 && page < address + size; page += HS_PAGE_SIZE) {
		const off_t place = (off_t)(page / HS_PAGE_SIZE * sizeof(uint64_t));
		uint64_t entry;

		if (pread(memory->pagemap, &entry, sizeof(entry), place) != sizeof(entry) ||
		    !(entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)))
			return false;
	}
	return true;
}

struct hs_error *target_memory_read_resident(const struct target_memory *memory, uint64_t address, void *buffer,
					     size_t size)
{
	if (is_resident(memory, address, size))
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
	now.files = memory->files;
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
