// SPDX-License-Identifier: Apache-2.0
// /proc/PID/maps as an array.
#ifndef HEAPSNAP_BASE_PROC_MAPS_H
#define HEAPSNAP_BASE_PROC_MAPS_H

#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_map {
	uint64_t start, end; // [start, end), bytes
	uint64_t offset;     // bytes into the file
	uint64_t inode;      // 0 = anonymous
	uint32_t device_major, device_minor;
	bool readable, writable, executable, shared;
	bool deleted;     // the kernel's " (deleted)" was at the end of the name, and is taken off `name`
	const char *name; // "" when there is none; octal escapes of the kernel (\012) decoded; in proc_maps.text
};

struct proc_maps {
	struct proc_map *items; // in order of addresses
	size_t count;
	char *text; // storage for names
};

// Pure: parses the text of a maps file. HS_ERROR_BAD_DATA names the line that cannot be read.
struct hs_error *proc_maps_parse(const char *text, size_t size, struct proc_maps *ret) HS_MUST_CHECK;
struct hs_error *proc_maps_read(const struct process *process, struct proc_maps *ret) HS_MUST_CHECK;
void proc_maps_deinit(struct proc_maps *maps);

enum process_memory {
	MEMORY_GONE, // a process that ends gives it up before it becomes a zombie
	MEMORY_THERE,
	MEMORY_UNKNOWN, // the process is there, and what it has mapped cannot be read
};
enum process_memory proc_maps_memory(const struct process *process);

// The mapping that holds `address`, or NULL.
const struct proc_map *proc_maps_find(const struct proc_maps *maps, uint64_t address);

// Pure: the lowest or highest (as `from_top` says) free hole of `size` bytes, page aligned, whose range lies wholly in
// [low, high) and keeps `gap` bytes free between it and each mapping. 0 = none.
uint64_t proc_maps_find_hole(const struct proc_maps *maps, uint64_t low, uint64_t high, uint64_t size, uint64_t gap,
			     bool from_top);

#endif
