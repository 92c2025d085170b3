// SPDX-License-Identifier: Apache-2.0
// Which function made a block, and whose it is: what --labels kind and allocator say. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_HOOK_LABELS_H
#define HEAPSNAP_SNAPSHOT_PROFILE_HOOK_LABELS_H

#include "base/error.h"
#include "snapshot/copy/table_check.h"
#include "snapshot/heap_profile.h"

// By index in the journal: the first hook of which the same is said, + 1. So what is said alike adds up.
struct hook_labels {
	uint16_t kind[HS_HOOKS_MAX], allocator[HS_HOOKS_MAX];
};

// What a function is called: its symbol, but for C++'s operators "operator new" and "operator new[]", whatever their
// arguments. NULL: `name` is none that has a shorter one.
const char *operator_name(const char *name);

// HS_ERROR_NOT_FOUND: a heapsnap has attached it whose records do not say it yet.
struct hs_error *hook_labels_find(const struct table_view *view, struct hook_labels *ret) HS_MUST_CHECK;

// What is said of a block by these, as profile_labels has it before label_texts_hooks; 0 = its hook is not known.
static inline uint32_t hook_label(const uint16_t *of, const struct block_record *record)
{
	return record->hook - 1u < HS_HOOKS_MAX ? of[record->hook - 1u] : 0;
}

#endif
