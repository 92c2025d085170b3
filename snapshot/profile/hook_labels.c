// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/hook_labels.h"

#include <string.h>

// Itanium ABI 5.1.5.3: nw and na are the operators new and new[].
const char *operator_name(const char *name)
{
	if (strncmp(name, "_Znw", 4) == 0)
		return "operator new";
	return strncmp(name, "_Zna", 4) == 0 ? "operator new[]" : NULL;
}

static bool same_kind(const struct hook_record *a, const struct hook_record *b)
{
	const char *operator_a = operator_name(a->name), *operator_b = operator_name(b->name);

	if (operator_a || operator_b)
		return operator_a == operator_b;
	return strncmp(a->name, b->name, sizeof(a->name)) == 0;
}

enum { HOOKS_SINCE = 14 }; // ABI version

struct hs_error *hook_labels_find(const struct table_view *view, struct hook_labels *ret)
{
	*ret = (struct hook_labels){ 0 };
	if (view->layout->abi_version < HOOKS_SINCE)
		return hs_error_create(
			HS_ERROR_NOT_FOUND,
			"an earlier heapsnap (ABI %u) has attached this process, and recorded no kind or "
			"allocator of its blocks: detach, then attach again",
			view->layout->abi_version);
	for (uint16_t i = 0; i < HS_HOOKS_MAX; i++) {
		const struct hook_record *hook = table_hook(view, i), *other;

		if (!hook)
			break;
		for (uint16_t j = 0; j <= i && (!ret->kind[i] || !ret->allocator[i]); j++) {
			other = table_hook(view, j);
			if (!ret->kind[i] && other && same_kind(hook, other))
				ret->kind[i] = (uint16_t)(j + 1);
			if (!ret->allocator[i] && other && hook->module == other->module)
				ret->allocator[i] = (uint16_t)(j + 1);
		}
	}
	return NULL;
}
