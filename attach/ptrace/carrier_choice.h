// SPDX-License-Identifier: Apache-2.0
// Which thread makes the remote calls: each is tried, best first (remote_call_open says in which order). For
// remote_call.c.
#ifndef HEAPSNAP_ATTACH_PTRACE_CARRIER_CHOICE_H
#define HEAPSNAP_ATTACH_PTRACE_CARRIER_CHOICE_H

#include "attach/ptrace/remote_call.h"
#include "base/proc_maps.h"

// A call returns to the address at its stack pointer: the frame's first word. Or to the pop gadget, which takes the
// number of rt_sigreturn from the next word and returns to the frame's first word. Below these words is one more, which
// the leave gadget takes for the frame pointer.
enum { POP_WORDS = 2, WORDS_BELOW = 1 + POP_WORDS };
_Static_assert(WORDS_BELOW * sizeof(uint64_t) == HS_SIGFRAME_WORDS_BELOW, "what sigframe_find looks for");

// Sets the caller's carrier, whose frame then lies complete in the target's memory, and whose seccomp filters are
// suspended. pre: the gadgets and the layout are known, xstate has its room. On failure there is no carrier; the caller
// undoes what was done (remote_call_close).
struct hs_error *carrier_choose(struct remote_caller *caller, const struct proc_maps *maps) HS_MUST_CHECK;

#endif
