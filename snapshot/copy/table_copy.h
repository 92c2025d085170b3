// SPDX-License-Identifier: Apache-2.0
// A private copy of the region.
#ifndef HEAPSNAP_SNAPSHOT_COPY_TABLE_COPY_H
#define HEAPSNAP_SNAPSHOT_COPY_TABLE_COPY_H

#include "attach/region/region_access.h"
#include "base/error.h"
#include "snapshot/copy/table_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_copy {
	// `size` bytes, laid out as the region; parts of the region that were never written read as 0. In the place of
	// an earlier version's thread slots are those of this version
	uint8_t *bytes;
	uint64_t size;
	const struct region_layout *layout;
	struct region_header *header; // in the present form: at `bytes`, or a translation
	uint64_t copied;              // bytes that were really copied
	uint64_t room;                // bytes that may be copied
	const uint8_t *shared; // the region, mapped, for a copy while threads run; NULL = it is read in one piece after
			       // the other
	uint64_t *pages;       // of such a copy: a bit for each page that was copied, from the start of the region
};

// Copies what the region holds, in the order in which docs/consistency.md needs it. Needs memory for the written part
// only. `shared`: where the region is mapped, when threads run; NULL, when all stand still. *ret is to be
// deinitialized after success. HS_ERROR_REFUSED: there is no memory for so much; HS_ERROR_BAD_DATA: the header changed
// meanwhile; HS_ERROR_SYSTEM: the region cannot be read; HS_ERROR_NO_MEMORY.
struct hs_error *table_copy_take(const struct region_access *access, const uint8_t *shared,
				 struct table_copy *ret) HS_MUST_CHECK;
// Copies a thread's slot once more. `offset`: where it is in the region, bytes. Errors as of table_copy_take.
struct hs_error *table_copy_slot(const struct region_access *access, uint64_t offset,
				 struct table_copy *copy) HS_MUST_CHECK;
// Whether the page of an offset was copied. pre: the copy was made while threads ran
bool table_copy_has(const struct table_copy *copy, uint64_t offset);
// Gives up the pages of [start, end) of the region itself until they are read again. pre: the copy is made while
// threads run
void table_copy_forget_shared(const struct table_copy *copy, uint64_t start, uint64_t end);
// Counts `size` bytes that are to be taken besides; an error when there is no memory for them.
struct hs_error *table_copy_take_room(struct table_copy *copy, uint64_t size) HS_MUST_CHECK;
void table_copy_view(const struct table_copy *copy, struct table_view *ret);
void table_copy_deinit(struct table_copy *copy);

#endif
