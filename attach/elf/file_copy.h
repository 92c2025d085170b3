// SPDX-License-Identifier: Apache-2.0
// A copy of a file that belongs to the target, read piece by piece as it is needed. What was read stays as it was,
// whatever the target does to the file meanwhile; and a file that is cut short is one that ends early, not a fault of
// the tool (SIGBUS), as it would be if it were mapped.
#ifndef HEAPSNAP_ATTACH_ELF_FILE_COPY_H
#define HEAPSNAP_ATTACH_ELF_FILE_COPY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_copy {
	int fd;         // -1: nothing is read, all that is there was put
	uint8_t *bytes; // `size` bytes of address space; what is not loaded reads as 0
	size_t size;
	size_t piece;                    // bytes
	uint8_t *loaded;                 // a bit for each piece
	uint64_t part_offset, part_size; // a range that is there whatever the bits say (file_copy_put_part)
	unsigned users;                  // of a copy that is shared, besides the first
};

// Needs a plain file with content. `fd` stays the caller's.
struct hs_error *file_copy_open(int fd, struct file_copy *ret) HS_MUST_CHECK;
// Of a file that cannot be opened: nothing is there but what is put, page by page. HS_ERROR_NO_MEMORY.
struct hs_error *file_copy_begin(uint64_t size, struct file_copy *ret) HS_MUST_CHECK;
void file_copy_close(struct file_copy *copy);
// For a copy in memory of malloc: one user more, and one less; the last one closes and frees it.
struct file_copy *file_copy_share(struct file_copy *copy);
void file_copy_release(struct file_copy *copy);

// Makes sure that a range is there. False: it is not inside the file, cannot be read (any more), or all copies together
// would become too large; or it would have to be read while the target stands still (refused_reads.h).
bool file_copy_load(struct file_copy *copy, uint64_t offset, uint64_t size);
// pre: of file_copy_begin, and the bytes stand in `bytes`: the page at this offset is there now, or one range besides
// all pages. False: all copies together would become too large.
bool file_copy_put_page(struct file_copy *copy, uint64_t offset);
void file_copy_put_part(struct file_copy *copy, uint64_t offset, uint64_t size);

#endif
