// SPDX-License-Identifier: Apache-2.0
// What a detach has before it: what of ours is in the target, by the region's header, or, where there is none, by the
// code itself.
#ifndef HEAPSNAP_ATTACH_SESSION_DETACH_STATE_H
#define HEAPSNAP_ATTACH_SESSION_DETACH_STATE_H

#include "attach/elf/file_pages.h"
#include "attach/process/code_names.h"
#include "attach/ptrace/late_threads.h"
#include "attach/region/inside.h"
#include "attach/region/left_calls.h"
#include "attach/region/region_access.h"
#include "attach/session/inherited.h"
#include "attach/session/leftovers.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>

struct detach_state {
	const struct process *process;
	bool has_region; // false: only code of ours, or its descriptors; then `region` is but the access to the memory
	struct region_access region;
	struct hook_record *hooks;
	uint32_t hook_count;
	struct address_range code[HS_CODE_PARTS_MAX]; // executable ranges: image, islands
	size_t code_count;
	uint64_t state_size; // bytes of state pages right behind the image, as the header says; 0 = none
	struct address_range
		bare_region; // mapped by an attach that was killed before it wrote the header; size 0 = none
	struct code_names names;
	struct leftover_descriptors left; // as they were found before the target stood still
	struct late_call late; // one that a thread may have to make for a tool that was killed: something may come yet
	bool only_late;        // nothing of ours is there, and whether that thread has one is not known
	bool may_have_descriptors; // of memory files, that came since: an attach that was finished has closed them
	bool hooks_out;            // by this run
	bool copies_dropped;       // or tried to: copies that could not be dropped stay
	struct looked_at_list looked_at; // by the freezes of this run since the hooks are out
	struct left_calls left_calls;    // since one of them found no thread inside
	struct hs_error *obstacle;       // why the last freeze could not clear up, though no thread is inside; owned
	struct file_pages files;         // for the time in which the target stands still
	// The state pages, which the region's header names; false: not yet, or a killed detach has unmapped them
	// already
	bool state_is_there;
};

// With what of files is needed while the target stands still. Errors are those of reading the target. *found_ret: there
// is something to take out, or may come, and *state is to be deinitialized.
struct hs_error *detach_state_read(const struct process *process, struct detach_state *state,
				   bool *found_ret) HS_MUST_CHECK;
void detach_state_deinit(struct detach_state *state);

// What is known of the target from before it stood still.
struct detach_known {
	const struct file_pages *files;
	struct code_names names;
	struct leftover_descriptors left;
	struct late_call late;
};

// The same while it stands still: with files and names as they were, and of the descriptors, which it takes, those that
// are there still. What has come late is found by leftovers_clear_elsewhere. Errors as of detach_state_read.
struct hs_error *detach_state_read_again(const struct process *process, struct detach_known *known,
					 struct detach_state *state, bool *found_ret) HS_MUST_CHECK;

// Whether the part of `code` is mapped and proven to be ours (attach/region/code_proof.h); `maps`: as they are now.
bool detach_state_is_code(const struct detach_state *state, const struct proc_maps *maps, size_t part);
// Whether the state pages, right behind the image, are. Without the image nothing is.
bool detach_state_has_state_pages(const struct detach_state *state, const struct proc_maps *maps);

#endif
