// SPDX-License-Identifier: Apache-2.0
// The region of an attached process, from the tool's side. Everything in it may have been written by a hostile target.
#ifndef HEAPSNAP_ATTACH_REGION_REGION_ACCESS_H
#define HEAPSNAP_ATTACH_REGION_REGION_ACCESS_H

#include "attach/process/address_range.h"
#include "attach/process/memory.h"
#include "attach/ptrace/threads.h"
#include "attach/region/region_layout.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "base/process.h"

// Where code, state pages and region lie. Nothing that Linux places is here (of sanitizers' shadows some is, and then
// passed over): programs are below or at 0x55..., libraries and stacks at 0x7f....
#define HS_LAYOUT_LOW  UINT64_C(0x100000000000)
#define HS_LAYOUT_HIGH UINT64_C(0x400000000000)
#define HS_LAYOUT_GAP  UINT64_C(0x200000)

struct region_access {
	const struct process *process;
	uint64_t address; // in the target
	uint64_t size;    // bytes
	int fd;           // its memory, opened through map_files; -1 = no privilege for that, read through `memory`
	struct target_memory memory;
	// as it was at open, checked, in the present form: see below. After region_open_any only its part `stable`; the
	// rest is 0
	struct region_header header;
	const struct region_layout *layout; // how the region is laid out; NULL after region_open_any
};

// Pure: whether the mapping has what every region has: where it lies, its size, and that it is shared anonymous memory.
// Programs may have such.
bool region_may_be(const struct proc_map *map);

// The region's mapping, NULL when the process has none: one that may be it, and whose header says that it is.
const struct proc_map *region_find(const struct proc_maps *maps, const struct target_memory *memory);

// Whether `range` is the mapping of a region whose header is not yet written; only the code names it
// (attach/session/inherited.h).
bool region_is_bare(const struct proc_maps *maps, const struct target_memory *memory,
		    const struct address_range *range);

// Whether this user may open the file behind a mapping, as a dump of a running process has to: asked of the tool
// itself. (The kernel wants CAP_CHECKPOINT_RESTORE, before 5.9 CAP_SYS_ADMIN, in the first user namespace:
// proc_map_files_get_link in fs/proc/base.c.)
bool region_can_be_opened(void);

// Opens a region of any version and reads what never changes of its header. HS_ERROR_NOT_FOUND: not attached.
// HS_ERROR_REFUSED: made by a version that had no such part. HS_ERROR_BAD_DATA: the header does not describe a region
// of this size. On success what the header names lies inside the region, and its addresses are as they claim in the
// target's maps.
struct hs_error *region_open_any(const struct process *process, const struct proc_maps *maps,
				 struct region_access *ret) HS_MUST_CHECK;
// The rest of the header. HS_ERROR_REFUSED: made by a version that this tool cannot read (says which, and what to do).
// HS_ERROR_BAD_DATA as above. On success the counts are within the limits of abi/limits.h, and each part is where that
// version has it.
struct hs_error *region_read_header(struct region_access *access) HS_MUST_CHECK;
// Both.
struct hs_error *region_open(const struct process *process, const struct proc_maps *maps,
			     struct region_access *ret) HS_MUST_CHECK;
void region_close(struct region_access *access);

// Pure. HS_ERROR_REFUSED: an attach or detach was not finished; says that detach clears it away. pre: the header was
// read
struct hs_error *region_refuse_unfinished(const struct region_access *access) HS_MUST_CHECK;

// Whether it is still mapped where it was. `maps`: as they are now.
bool region_is_there(const struct region_access *access, const struct proc_maps *maps);

// Pure: the checks of region_open on a header, in the present form, of any version that can be read. `size` is that of
// the mapping.
struct hs_error *region_check_header(const struct region_header *header, uint64_t size) HS_MUST_CHECK;

struct hs_error *region_read(const struct region_access *access, uint64_t offset, void *buffer,
			     size_t size) HS_MUST_CHECK;
// pre (without privilege): a thread of the target is stopped by this tool
struct hs_error *region_write(const struct region_access *access, uint64_t offset, const void *data,
			      size_t size) HS_MUST_CHECK;

// A thread's slot that begins at `offset`, in the present form. pre: the header was read
struct hs_error *region_read_slot(const struct region_access *access, uint64_t offset,
				  struct shared_slot *ret) HS_MUST_CHECK;

// The journal. *hooks_ret is owned by the caller: access->header.stable.hook_count records, their names terminated and
// printable.
struct hs_error *region_read_hooks(const struct region_access *access, struct hook_record **hooks_ret) HS_MUST_CHECK;

// Whether each free of a block without a record has been counted since attach. Where not every allocation was to be
// recorded all the time, also under a budget that was never spent, hooks asked the Bloom filter, and what it excludes
// leaves them without a trace.
bool region_counts_untracked(const struct region_header *header);

#endif
