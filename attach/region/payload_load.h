// SPDX-License-Identifier: Apache-2.0
// Bringing payload and region into the target, and taking them out again.
#ifndef HEAPSNAP_ATTACH_REGION_PAYLOAD_LOAD_H
#define HEAPSNAP_ATTACH_REGION_PAYLOAD_LOAD_H

#include "attach/elf/modules.h"
#include "attach/hook/hook_plan.h"
#include "attach/process/address_range.h"
#include "attach/ptrace/remote_call.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/region.h"

#include <stdbool.h>

// Where everything will be in the target.
struct payload_layout {
	uint64_t code, code_size;     // the image
	uint64_t state;               // the state pages, right behind it
	uint64_t region, region_size; // bytes
	struct hook_goals goals;
	uint64_t syscall_gadget, sigreturn_gadget;
};

// Pure: finds free addresses, in the empty middle of the address space where neither heap nor mmap area nor stack
// grows. `random` moves them: code at a known address would help whoever attacks the target. HS_ERROR_REFUSED when
// there is no room.
struct hs_error *payload_layout_choose(const struct proc_maps *maps, uint64_t region_size, uint64_t random,
				       struct payload_layout *ret) HS_MUST_CHECK;

// Pure: the content of the code memfd: the image with `config`, then the islands of each area, each from a new page on.
// *bytes_ret is owned by the caller.
struct hs_error *payload_code_build(const struct payload_layout *layout, const struct payload_config *config,
				    const struct hook_plan *plan, uint8_t **bytes_ret, size_t *size_ret) HS_MUST_CHECK;

// What attach has brought into the target so far.
struct loaded_payload {
	const struct target_memory *memory;
	pid_t stopped_tid;
	struct region_header *filled; // the region's first content, in memory of the tool; NULL = not yet made
	uint64_t region, region_size; // in the target
	bool region_is_there;         // with that content
	// For undoing: the memory file that the code comes from, the tool's own descriptor of it and its number in the
	// target (-1 = none), and mappings.
	int own_fd;
	int64_t target_fd;
	uint64_t code_nonce; // in its name
	struct address_range mapped[24];
	size_t mapped_count;
};

// Maps code, islands, state pages and region in the target: the code through a memory file that is closed again, the
// region as shared anonymous memory, which needs none. On failure *ret says what is there: call payload_unload. pre:
// *ret is zeroed, with descriptors -1.
struct hs_error *payload_load(struct remote_caller *caller, const struct payload_layout *layout, const uint8_t *code,
			      size_t code_size, const struct hook_plan *plan,
			      void (*fill)(struct region_header *, void *), void *context,
			      struct loaded_payload *ret) HS_MUST_CHECK;
// Closes and unmaps in the target what `loaded` names, goes on after a failure; gives up what the tool has of it.
struct hs_error *payload_unload(struct remote_caller *caller, struct loaded_payload *loaded) HS_MUST_CHECK;
// Only what the tool has of it.
void payload_release(struct loaded_payload *loaded);

// Writes into the region in the target. pre: a thread of it is stopped.
struct hs_error *payload_region_write(const struct loaded_payload *loaded, uint64_t offset, const void *data,
				      size_t size) HS_MUST_CHECK;

#endif
