// SPDX-License-Identifier: Apache-2.0
// What the labels of samples are called.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_LABEL_TEXTS_H
#define HEAPSNAP_SNAPSHOT_PROFILE_LABEL_TEXTS_H

#include "base/error.h"
#include "snapshot/copy/table_check.h"
#include "snapshot/heap_profile.h"
#include "snapshot/profile/thread_names.h"

// Threads: "worker (1234)", or "1234" where it has ended; of a thread of which not even the id is known no label is
// left. Before, labels.thread is the index in the history, + 1. HS_ERROR_NO_MEMORY.
struct hs_error *label_texts_threads(const struct table_view *view, const struct thread_names *names,
				     struct heap_profile *profile) HS_MUST_CHECK;
// Kinds and allocators: "malloc", "libc.so.6". Before, labels.kind and labels.allocator are as hook_label has them.
// HS_ERROR_NO_MEMORY.
struct hs_error *label_texts_hooks(const struct table_view *view, struct heap_profile *profile) HS_MUST_CHECK;
// Where one of C++'s operators new has got a block from another function, which is the one that is hooked (libstdc++'s
// calls malloc), the kind is the operator. pre: the profile has its symbols. HS_ERROR_NO_MEMORY.
struct hs_error *label_texts_operators(struct heap_profile *profile) HS_MUST_CHECK;

#endif
