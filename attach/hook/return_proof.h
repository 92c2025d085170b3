// SPDX-License-Identifier: Apache-2.0
// Whether a function is left in no other way than by its return: proved from its code, and from that of all that it
// calls. Nothing is proved of one that calls through a register, a table or a pointer, nor of one that calls what could
// throw or is a cancellation point.
#ifndef HEAPSNAP_ATTACH_HOOK_RETURN_PROOF_H
#define HEAPSNAP_ATTACH_HOOK_RETURN_PROOF_H

#include "attach/hook/hook_draft.h"
#include "attach/process/memory.h"

// Judges by its code each function that the user has added, and for which nobody gives his word (VERDICT_may_unwind):
// VERDICT_ok where it is proved; VERDICT_may_unwind where it is not, with `reaches_above` where it is seen to find
// other things on the stack below a frame of ours; else what speaks against a hook at its start.
void return_proof_judge(struct draft *drafts, size_t count, const struct module_list *modules,
			const struct target_memory *memory);

#endif
