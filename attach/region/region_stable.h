// SPDX-License-Identifier: Apache-2.0
// The part of a region that never changes (inject/abi/stable.h), as this version writes it, and as any version reads
// it. Pure.
#ifndef HEAPSNAP_ATTACH_REGION_REGION_STABLE_H
#define HEAPSNAP_ATTACH_REGION_REGION_STABLE_H

#include "attach/process/address_range.h"
#include "base/error.h"
#include "inject/abi/stable.h"

#include <stddef.h>
#include <stdint.h>

// What this version writes of itself: its number and name, the layout, the size of its state pages.
void region_stable_begin(struct stable_header *header);

// HS_ERROR_BAD_DATA: it does not describe a region of `size` bytes. HS_ERROR_REFUSED: it is of a version that had no
// such part. On success all that it names lies in the region, and its counts are small enough to be read whole.
struct hs_error *region_stable_check(const struct stable_header *header, uint64_t size) HS_MUST_CHECK;

// HS_ERROR_REFUSED: this tool cannot read the rest of the region (region_layout.h). The message says which version
// attached, and what to do; "it" in it is the process.
struct hs_error *region_check_version(const struct stable_header *header) HS_MUST_CHECK;
// HS_ERROR_REFUSED: only a tool of the attaching version can change what its payload reads. The message as above.
struct hs_error *region_check_own(const struct stable_header *header) HS_MUST_CHECK;

// Terminates a text that the target may have written over, and makes it one that messages can print. pre: size > 0
void region_make_printable(char *text, size_t size);

// Where the code is in the target that the header names: the image, and the areas of islands. pre: i <
// header->island_count
static inline struct address_range region_image(const struct stable_header *header)
{
	return (struct address_range){ header->code_address, header->code_size };
}
static inline struct address_range region_island_area(const struct stable_header *header, size_t i)
{
	return (struct address_range){ header->islands[i].offset, header->islands[i].size };
}

// pre: index < header->hook_count
static inline uint64_t region_hook_offset(const struct stable_header *header, size_t index)
{
	return header->layout.hooks + index * header->layout.hook_stride;
}

#endif
