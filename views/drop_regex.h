// SPDX-License-Identifier: Apache-2.0
// The patterns of frame_patterns.h as one regular expression for pprof. Pure.
#ifndef HEAPSNAP_VIEWS_DROP_REGEX_H
#define HEAPSNAP_VIEWS_DROP_REGEX_H

#include "base/error.h"
#include "views/frame_patterns.h"

#include <stdbool.h>

// Whether pprof may be told to hide what such a row matches: allocators, wrappers and containers in every module.
static inline bool drop_regex_takes(const struct frame_pattern *row)
{
	return !row->within && frame_class_is_plumbing(row->class);
}

// Of those rows i that may be taken and have wanted[i]; NULL = of all. In the syntax that RE2 and POSIX extended
// regular expressions share. *ret is owned by the caller. HS_ERROR_NO_MEMORY.
//
// It says less than the patterns do: <Type as Trait> is judged by the type alone, types within types not at all, a
// return type is stepped over up to three template argument lists in one another, a name whose template arguments have
// a "(" is cut there by pprof, and Rust's alloc:: is not told from a namespace of C++. A longer pattern of another
// class would not take a name out again; the table has none (unit.frame_rules_test).
struct hs_error *drop_regex_make(const bool *wanted, char **ret) HS_MUST_CHECK;

#endif
