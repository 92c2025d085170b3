// SPDX-License-Identifier: Apache-2.0
#include "lib/user_allocators.h"

#include "lib/user_allocators_parse.h"

_Static_assert((int)HS_USER_ALLOCATORS_MAX == (int)HOOK_ADDITIONS_MAX, "as many names as attach takes");

struct hs_error *hs_user_allocator_check(const char *text)
{
	struct hook_addition addition;

	return hook_addition_parse(text, &addition);
}

struct hs_error *user_allocators_parse(const struct hs_user_allocators *names,
				       struct hook_addition buffer[HS_USER_ALLOCATORS_MAX], struct hook_additions *ret)
{
	if (names->count > HS_USER_ALLOCATORS_MAX)
		return hs_error_create(HS_ERROR_BAD_DATA, "more than %d allocators are named", HS_USER_ALLOCATORS_MAX);
	for (size_t i = 0; i < names->count; i++) {
		struct hs_error *error = hook_addition_parse(names->items[i], &buffer[i]);

		if (error)
			return error;
	}
	*ret = (struct hook_additions){ buffer, names->count };
	return NULL;
}
