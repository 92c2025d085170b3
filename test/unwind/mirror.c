// SPDX-License-Identifier: Apache-2.0
#include "mirror.h"

#include "attach/region/region_fill.h"
#include "attach/region/thread_layout.h"
#include "payload_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define REGION_SIZE (UINT64_C(1) << 30)

// Not as the tool reads while a target stands still: pages of a module's file that are not there are asked for, which a
// local disk provides.
static struct hs_error *read_all(const struct target_memory *memory, uint64_t address, uint64_t size)
{
	if (pread(memory->fd, (void *)address, size, (off_t)address) == (ssize_t)size)
		return NULL;
	return hs_error_fault(EFAULT, address, "cannot read %" PRIu64 " bytes at 0x%" PRIx64, size, address);
}

struct hs_error *mirror_range(const struct target_memory *memory, const struct proc_maps *maps, uint64_t low,
			      uint64_t high, struct mirrored_range *ret)
{
	const uint64_t last_byte = HS_PAGE_SIZE - 1; // of a page
	struct mirrored_range range = { low & ~last_byte, (high + last_byte) & ~last_byte };
	uint64_t address = range.low;
	void *place = mmap((void *)range.low, range.high - range.low, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	struct hs_error *error = NULL;

	if (place == MAP_FAILED)
		return hs_error_system(errno, "cannot map 0x%" PRIx64 " to 0x%" PRIx64, range.low, range.high);
	while (address < range.high && !error) {
		const struct proc_map *map = proc_maps_find(maps, address);
		uint64_t end = map && map->end < range.high ? map->end : range.high;

		if (!map || !map->readable)
			end = address + HS_PAGE_SIZE;
		else
			error = read_all(memory, address, end - address);
		address = end;
	}
	if (error)
		mirror_range_release(&range);
	else
		*ret = range;
	return error;
}

void mirror_range_release(struct mirrored_range *range)
{
	if (range->low < range->high)
		munmap((void *)range->low, range->high - range->low);
	*range = (struct mirrored_range){ 0 };
}

bool mirror_is_clash(const struct hs_error *error)
{
	return error->code == HS_ERROR_SYSTEM && error->error_number == EEXIST;
}

static void configure(const struct target_info *target, const struct proc_maps *maps, const struct module_list *modules,
		      const struct target_memory *memory, const struct frozen_process *frozen, uint64_t region)
{
	static struct payload_state state; // nobody has a sampling credit
	struct payload_config config = { .region = region, .state = (uint64_t)&state };

	thread_layout_configure(target, maps, modules, memory, frozen, &config);
	payload_configure(&config);
}

struct hs_error *mirror_open(const struct target_info *target, const struct proc_maps *maps,
			     const struct module_list *modules, const struct target_memory *memory,
			     const struct frozen_process *frozen, struct mirror *ret)
{
	struct payload_layout layout = { .region_size = REGION_SIZE };
	// The target does not run while it is looked at, so no library goes.
	struct planned_hook loader_event = { .record = { .kind = HOOK_loader_event, .verdict = VERDICT_ok } };
	struct hook_plan hooks = { .hooks = &loader_event, .count = 1 };
	struct region_filling filling = { .target = target,
					  .modules = modules,
					  .layout = &layout,
					  .hooks = &hooks,
					  .frozen = frozen,
					  .depth = HS_DEPTH_MAX };
	struct module_record *records;
	struct hs_error *error = NULL;
	void *region;

	// Far from programs, libraries and stacks, and from what sanitizers reserve.
	layout.region =
		proc_maps_find_hole(maps, UINT64_C(32) << 40, UINT64_C(64) << 40, REGION_SIZE, HS_PAGE_SIZE, false);
	region = mmap((void *)layout.region, REGION_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (region == MAP_FAILED)
		return hs_error_system(errno, "cannot map a region at 0x%" PRIx64, layout.region);
	ret->region = region;
	region_fill(region, &filling);
	configure(target, maps, modules, memory, frozen, layout.region);

	records = (struct module_record *)((uint8_t *)region + HS_OFFSET_MODULES);
	ret->modules = calloc(ret->region->module_count, sizeof(*ret->modules));
	ret->texts = calloc(ret->region->module_count, sizeof(*ret->texts));
	if (!ret->modules || !ret->texts)
		return &hs_error_no_memory;
	for (; ret->module_count < ret->region->module_count && !error; ret->module_count++) {
		struct module_record *record = &records[ret->module_count];

		if (record->eh_frame_hdr || record->search_page)
			error = mirror_range(memory, maps, record->cfi_low, record->cfi_high,
					     &ret->modules[ret->module_count]);
		// Code is only looked at where unwind information is missing.
		if (modules->libc != LIBC_musl)
			record->readable_low = record->readable_high = 0;
		else if (!error && record->readable_high > 0)
			error = mirror_range(memory, maps, record->readable_low, record->readable_high,
					     &ret->texts[ret->module_count]);
	}
	return error;
}

void mirror_close(struct mirror *mirror)
{
	for (size_t i = 0; i < mirror->module_count; i++) {
		mirror_range_release(&mirror->modules[i]);
		mirror_range_release(&mirror->texts[i]);
	}
	free(mirror->modules);
	free(mirror->texts);
	if (mirror->region)
		munmap(mirror->region, REGION_SIZE);
	*mirror = (struct mirror){ 0 };
}
