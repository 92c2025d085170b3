// SPDX-License-Identifier: Apache-2.0
// Writing hooks into the target's text and taking them out again, by the journal in the region.
//
// Each change is in the journal before it is in the text: state APPLIED is written first, so that whoever finds the
// journal after a tool was killed undoes all that may have been done. Undoing looks at the bytes themselves.
#ifndef HEAPSNAP_ATTACH_HOOK_HOOK_APPLY_H
#define HEAPSNAP_ATTACH_HOOK_HOOK_APPLY_H

#include "attach/hook/hook_plan.h"
#include "attach/process/memory.h"
#include "attach/ptrace/remote_call.h"
#include "attach/ptrace/threads.h"
#include "base/error.h"
#include "base/process.h"
#include "inject/abi/records.h"

// Says for each hook whether its page is an unmodified file page (so that undoing may drop the private copy again).
struct hs_error *hook_note_clean_pages(const struct process *process, struct hook_record *hooks,
				       size_t count) HS_MUST_CHECK;

// Applies hooks [0, count) in order. `save` writes one record back to the journal. On failure the hooks applied so far
// stay, with their records saying so: the caller undoes. Refused hooks are passed over. pre: every thread is stopped.
struct hs_error *hook_apply(struct hook_record *hooks, size_t count, const struct target_memory *memory,
			    pid_t stopped_tid, struct hs_error *(*save)(const struct hook_record *, size_t, void *),
			    void *context) HS_MUST_CHECK;

// Whether the thread was stopped inside bytes that the plan replaces, behind the first of them (there it simply runs
// into the jump).
bool hook_thread_is_inside(const struct hook_plan *plan, const struct frozen_thread *thread);

// Sends threads that were stopped inside bytes to be patched to the same instruction of the trampoline, at once and
// before anything is patched: the trampoline is right with and without the patch, so a tool that is killed in between
// does no harm. pre: the islands are mapped; the thread of a remote call is not among them.
struct hs_error *hook_move_threads(const struct hook_plan *plan, struct frozen_process *frozen) HS_MUST_CHECK;
// Back again, before the islands go. Goes on after a failure.
struct hs_error *hook_move_threads_back(const struct hook_plan *plan, struct frozen_process *frozen) HS_MUST_CHECK;

// Puts the old bytes back, last hook first. Where neither the old nor the new bytes stand, and not those of a file that
// is mapped there now (a module unloaded and its address used again), somebody else has patched the place, and may
// have kept a copy of our jump: left alone, still APPLIED, and counted in *foreign_ret. Goes on after a failure.
struct hs_error *hook_undo(struct hook_record *hooks, size_t count, const struct target_memory *memory,
			   const struct frozen_process *frozen,
			   struct hs_error *(*save)(const struct hook_record *, size_t, void *), void *context,
			   size_t *foreign_ret) HS_MUST_CHECK;

// Whether nothing is mapped any more where the hook was. A read that fails does not prove that: the hook may well be
// there.
bool hook_place_is_gone(const struct hook_record *hook, const struct target_memory *memory);

// Drops the private copies of pages that were clean before and equal their file again. Goes on after a failure.
struct hs_error *hook_drop_copies(const struct hook_record *hooks, size_t count,
				  struct remote_caller *caller) HS_MUST_CHECK;

#endif
