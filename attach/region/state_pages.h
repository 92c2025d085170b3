// SPDX-License-Identifier: Apache-2.0
// The state pages of a target (inject/abi/payload_header.h, struct payload_state): how they are known, and what the
// tool writes there. They are the target's private memory, and no part of the region.
#ifndef HEAPSNAP_ATTACH_REGION_STATE_PAGES_H
#define HEAPSNAP_ATTACH_REGION_STATE_PAGES_H

#include "attach/process/memory.h"
#include "base/error.h"
#include "base/proc_maps.h"
#include "inject/abi/payload_header.h"

#include <stdbool.h>

// Pure: whether what is mapped at `address` can be the state pages: private anonymous memory, writable, without a name,
// and exactly that large. They lie far from all else, so nothing has been merged with them; what is larger or smaller
// is the program's own, in the place of those that a killed detach has unmapped, or a killed attach never mapped.
bool state_pages_are_at(const struct proc_maps *maps, uint64_t address, uint64_t size);

// pre, of all that write: every thread of the target is stopped, `stopped_tid` by this tool (0 = no fallback, as
// target_memory_write has it).

// Hooks work from here on; and not any more.
struct hs_error *state_pages_activate(const struct target_memory *memory, uint64_t state,
				      pid_t stopped_tid) HS_MUST_CHECK;
struct hs_error *state_pages_deactivate(const struct target_memory *memory, uint64_t state,
					pid_t stopped_tid) HS_MUST_CHECK;

// All HS_BLOOM_SIZE counters. A tool that is killed meanwhile may leave a part of them as they were.
struct hs_error *state_pages_write_bloom(const struct target_memory *memory, uint64_t state, const uint8_t *counters,
					 pid_t stopped_tid) HS_MUST_CHECK;
// As one that excludes no address.
struct hs_error *state_pages_saturate_bloom(const struct target_memory *memory, uint64_t state,
					    pid_t stopped_tid) HS_MUST_CHECK;

// Takes every thread's sampling credit: each asks the payload's C code at its next allocation, and may get another one
// there.
struct hs_error *state_pages_take_credits(const struct target_memory *memory, uint64_t state,
					  pid_t stopped_tid) HS_MUST_CHECK;

#endif
