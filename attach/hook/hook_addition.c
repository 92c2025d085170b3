// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_addition.h"

#include "attach/hook/allocator_table.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static struct hs_error *parse_kind(const char *kind, struct hook_signature *ret)
{
	for (size_t i = 0; i < allocator_name_count; i++)
		if (allocator_names[i].layout && strcmp(allocator_names[i].name, kind) == 0)
			return hook_signature_parse(allocator_names[i].layout, true, ret);
	if (!strchr(kind, '('))
		return hs_error_create(HS_ERROR_BAD_DATA,
				       "%s is neither a known allocation function nor a layout like alloc(size)", kind);
	return hook_signature_parse(kind, true, ret);
}

// Cuts the word off that stands last, behind a space. False = it is not there.
static bool take_nothrow(char *kind)
{
	static const char word[] = " nothrow";
	size_t size = strlen(kind);

	while (size > 0 && kind[size - 1] == ' ')
		size--;
	if (size < sizeof(word) - 1 || memcmp(kind + size - (sizeof(word) - 1), word, sizeof(word) - 1) != 0)
		return false;
	size -= sizeof(word) - 1;
	while (size > 0 && kind[size - 1] == ' ')
		size--;
	kind[size] = '\0';
	return true;
}

struct hs_error *hook_addition_parse(const char *text, struct hook_addition *ret)
{
	const char *sign = strchr(text, '=');
	HS_CLEANUP_FREE char *kind = NULL;
	size_t length = sign ? (size_t)(sign - text) : 0;
	struct hs_error *error;

	if (length == 0 || length >= sizeof(ret->name))
		return hs_error_create(HS_ERROR_BAD_DATA, "--allocator expects NAME=KIND, got '%s'", text);
	*ret = (struct hook_addition){ 0 };
	memcpy(ret->name, text, length);
	kind = strdup(sign + 1);
	if (!kind)
		return &hs_error_no_memory;
	ret->nothrow = take_nothrow(kind);
	error = parse_kind(kind, &ret->signature);
	if (error)
		return hs_error_prefix(error, "--allocator");
	if (ret->signature.layout.flags & HS_LAYOUT_COMPANION)
		return hs_error_create(HS_ERROR_BAD_DATA, "--allocator: %s: a function that may throw cannot be added",
				       text);
	return NULL;
}
