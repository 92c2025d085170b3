// SPDX-License-Identifier: Apache-2.0
// Which mappings of a target are our code. One of a memory file is known by the file's name (code_names.h). Anonymous
// memory, which the code is where memory files may not be executable, is known by what lies in it: what a killed detach
// has unmapped may have gone to code of the program's own. Nothing is read but what no version changes (docs/abi.md,
// The part that never changes), and nothing of files, so this may be asked while the target stands still.
#ifndef HEAPSNAP_ATTACH_REGION_CODE_PROOF_H
#define HEAPSNAP_ATTACH_REGION_CODE_PROOF_H

#include "attach/process/address_range.h"
#include "attach/process/code_names.h"
#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/stable.h"

#include <stdbool.h>
#include <stdint.h>

struct code_proof {
	const struct target_memory *memory;
	const struct code_names *names;
	struct address_range image; // where it is said to be, in the target
	bool may_be_unwritten; // a killed attach may have mapped anonymous code and not written it: then it is zero
};

// Whether `part`, the image or an area of islands, begins a mapping of our code that is at least as long. What cannot
// be read is not ours.
bool code_is_ours(const struct code_proof *proof, const struct proc_maps *maps, const struct address_range *part);

// Pure: whether the mapping is as all of our code is where it is anonymous memory.
bool code_may_be_anonymous(const struct proc_map *map);

// Whether an image of `size` bytes that was made for this address begins there; then *header_ret is its header.
struct hs_error *code_is_image(const struct target_memory *memory, uint64_t address, uint64_t size,
			       struct payload_header *header_ret, bool *ret) HS_MUST_CHECK;

// Reads the islands in `area` that lead into `image`. *count_ret: how many; `hooks`: NULL, or HS_HOOKS_MAX records, to
// which theirs are written by their numbers.
struct hs_error *code_read_islands(const struct target_memory *memory, const struct address_range *area,
				   const struct address_range *image, struct hook_record *hooks,
				   size_t *count_ret) HS_MUST_CHECK;

// Pure: the journal's record of a hook, from its island, whose address in the target is given. false = these bytes are
// no island.
bool code_island_hook(uint64_t address, const struct hook_island *island, struct hook_record *ret);

#endif
