// SPDX-License-Identifier: Apache-2.0
// Which files answers were made of: each file that was looked for, each that was offered, and whether it was taken.
// When the same search meets the same files again, the answers are the same.
//
// A file is told by its numbers, size and times, all but one of which whoever owns it can choose. Its change time
// cannot be chosen: a file with other content has another one, if it was not changed within the tick of the clock in
// which it was read. So files that have just been changed make no trail, nor do those of a file system whose answers a
// user's program gives (FUSE).
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_FILE_TRAIL_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_FILE_TRAIL_H

#include "base/error.h"
#include "snapshot/symbols/module_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed = empty.
struct file_trail {
	uint8_t *bytes; // owned
	size_t size, room;
	bool is_useless; // nothing may be kept by it
};

enum { FILE_TRAIL_MAX = 65536 }; // bytes

// What was looked for, in the order in which it was. All: HS_ERROR_NO_MEMORY.
struct hs_error *file_trail_add_module(struct file_trail *trail) HS_MUST_CHECK;
struct hs_error *file_trail_add_debug(struct file_trail *trail, const uint8_t *build_id, size_t build_id_size,
				      const char *link) HS_MUST_CHECK;
// What was offered for it. `fd` stays the caller's.
struct hs_error *file_trail_add_file(struct file_trail *trail, int fd, bool is_mapped, bool is_taken) HS_MUST_CHECK;

// Whether the search of a trail, which may be any bytes, meets the same files now.
bool file_trail_is_met(const uint8_t *trail, size_t size, const struct module_files *files,
		       const struct profile_module *module);
void file_trail_deinit(struct file_trail *trail);

#endif
