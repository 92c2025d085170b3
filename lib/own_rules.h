// SPDX-License-Identifier: Apache-2.0
// Which code is the user's own: the built-in rules, those of the user's file, and those of the command line.
#ifndef HEAPSNAP_LIB_OWN_RULES_H
#define HEAPSNAP_LIB_OWN_RULES_H

#include "base/error.h"
#include "views/frame_rules.h"

#include <stddef.h>

enum { HS_OWN_RULES_MAX = 64 };

struct hs_own_rule {
	enum frame_rule_kind kind;
	const char *regex; // borrowed
};

// The file is $XDG_CONFIG_HOME/heapsnap/rules, without that variable $HOME/.config/heapsnap/rules; it need not be
// there. Of rules that match, those of the command line come first, then the file's. *ret is the caller's
// (frame_rules_destroy). HS_ERROR_BAD_DATA says which rule is wrong; HS_ERROR_SYSTEM: the file is there and cannot be
// read.
struct hs_error *hs_own_rules(const struct hs_own_rule *given, size_t count, struct frame_rules **ret) HS_MUST_CHECK;

#endif
