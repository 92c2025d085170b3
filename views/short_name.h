// SPDX-License-Identifier: Apache-2.0
// Names of functions as a person would write them. Pure.
#ifndef HEAPSNAP_VIEWS_SHORT_NAME_H
#define HEAPSNAP_VIEWS_SHORT_NAME_H

#include "base/error.h"

// Of a demangled name: parameters, return type, template arguments that are defaults (allocators, comparators, hashes)
// and the ABI's inline namespaces (std::__cxx11, std::__1) are left out, std::basic_string<char, …> is std::string,
// arguments below a depth are <…>, a lambda is named by its function, Rust's hash (::h0123456789abcdef) and
// "[clone …]" go. A name that is not understood stays as it is. *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *short_name(const char *name, char **ret) HS_MUST_CHECK;

#endif
