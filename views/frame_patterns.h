// SPDX-License-Identifier: Apache-2.0
// The built-in rules as data: what functions, source files and loaded objects are known to be. docs/own-code.md shows
// them to users.
//
// A pattern for functions is compared with the function's own qualified name: without return type, parameters, template
// arguments, the ABI's inline namespaces (std::__cxx11, std::__1), Rust's hash, and "@plt" or ".constprop.0" behind it.
// "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" has the name alloc::vec::Vec::drop.
//
//   malloc            the whole name: not app::malloc
//   g_list_*          the name begins so
//   std::vector::*    all that is in std::vector: not std::vector itself, not geo::vector::push
//   *::operator new   the name's last part, in some class or namespace
//   x{malloc,calloc}  xmalloc and xcalloc; one list may be empty at an end ({,_}), lists are not in one another
//
// The whole name comes before a beginning, a longer beginning before a shorter one, any beginning before a last part:
// the order of the rows says nothing. Among equal ones a row for some modules comes before one for all.
//
// A pattern for modules is compared in the same way with the name of the file up to ".so": libc, libpython3.11.
#ifndef HEAPSNAP_VIEWS_FRAME_PATTERNS_H
#define HEAPSNAP_VIEWS_FRAME_PATTERNS_H

#include "views/frame_rules.h"

#include <stddef.h>

struct frame_pattern {
	enum frame_class class;
	const char *via;         // what a list of skipped frames says; NULL = the function's name
	const char *via_without; // the same when the container's keys have no values: "set" beside "map"
	const char *text;
	const char *within; // counts only in modules whose name, with or without "lib", begins so; NULL = in all
	bool is_rust;       // counts only for names without parameters: a namespace of C++ may be called core as well
	enum frame_role role;
};

extern const struct frame_pattern frame_patterns[];
extern const size_t frame_pattern_count;

extern const struct frame_pattern module_patterns[];
extern const size_t module_pattern_count;

// Parts of paths of source files, tried in order.
extern const struct frame_pattern file_patterns[];
extern const size_t file_pattern_count;

// Parts of paths of loaded objects whose name has ".so" in it, tried in order after module_patterns.
extern const struct frame_pattern folder_patterns[];
extern const size_t folder_pattern_count;

#endif
