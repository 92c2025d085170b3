// SPDX-License-Identifier: Apache-2.0
// Which stacks a view is of: --focus and --ignore. Pure.
#ifndef HEAPSNAP_VIEWS_STACK_FILTER_H
#define HEAPSNAP_VIEWS_STACK_FILTER_H

#include "views/named_profile.h"

#include <stdbool.h>

enum stack_filter_kind {
	STACK_FOCUS, // only stacks with a place that matches: one of these expressions, where there are several
	STACK_IGNORE // none of these; stronger than a focus
};

struct stack_filter;

// Without expressions it keeps everything. *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *stack_filter_create(struct stack_filter **ret) HS_MUST_CHECK;
void stack_filter_destroy(struct stack_filter *filter); // NULL is allowed

// A POSIX extended regular expression, which is searched in the whole name, short name, file and module of each place
// of a stack, also of those that views leave out: the allocator's own. `origin` is for messages: "--focus".
// HS_ERROR_BAD_DATA: no regular expression; HS_ERROR_NO_MEMORY.
struct hs_error *stack_filter_add(struct stack_filter *filter, enum stack_filter_kind kind, const char *regex,
				  const char *origin) HS_MUST_CHECK;

// Whether expressions that are added from now on are searched without regard to upper and lower case; first not.
void stack_filter_ignore_case(struct stack_filter *filter, bool is_ignored);

// *kept_ret, owned by the caller (free), says of each of the profile's samples whether it stays. A stack that is not
// known matches nothing. HS_ERROR_NO_MEMORY.
struct hs_error *stack_filter_apply(const struct stack_filter *filter, const struct named_profile *named,
				    bool **kept_ret) HS_MUST_CHECK;

#endif
