// SPDX-License-Identifier: Apache-2.0
#include "attach/hook_addition.h"

#include "attach/allocator_table.h"

#include <string.h>

static struct hs_error *parse_kind(const char *kind, struct hook_signature *ret)
{
	for (size_t i = 0; i < allocator_name_count; i++)
		if (allocator_names[i].layout && strcmp(allocator_names[i].name, kind) == 0)
			return hook_signature_parse(allocator_names[i].layout, true, ret);
	if (!strchr(kind, '('))
		return hs_error_create(HS_ERROR_BAD_DATA, "%s is neither a known allocation function nor a layout like alloc(size)", kind);
	return hook_signature_parse(kind, true, ret);
}

// Mangled names of C++ and Rust (Itanium ABI and Rust's v0). Such a function may throw or unwind, and not through a frame of ours.
static bool may_throw(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

struct hs_error *hook_addition_parse(const char *text, struct hook_addition *ret)
{
	const char *sign = strchr(text, '=');
	size_t length = sign ? (size_t)(sign - text) : 0;
	struct hs_error *error;

	if (length == 0 || length >= sizeof(ret->name))
		return hs_error_create(HS_ERROR_BAD_DATA, "an allocator is given as NAME=KIND, not as %s", text);
	*ret = (struct hook_addition){ 0 };
	memcpy(ret->name, text, length);
	error = parse_kind(sign + 1, &ret->signature);
	if (error)
		return error;
	if (ret->signature.layout.flags & HS_LAYOUT_COMPANION)
		return hs_error_create(HS_ERROR_BAD_DATA, "%s: a function that may throw cannot be added", text);
	if (may_throw(ret->name) && !hook_kind_only_releases(ret->signature.kind))
		return hs_error_create(HS_ERROR_BAD_DATA, "%s: a function of C++ or Rust may throw, and only those that give blocks back can be added",
				       text);
	return NULL;
}
