// SPDX-License-Identifier: Apache-2.0
// The tool's own limit of open files. It is checked, and named, before anything is touched.
#ifndef HEAPSNAP_ATTACH_GUARD_OWN_DESCRIPTORS_H
#define HEAPSNAP_ATTACH_GUARD_OWN_DESCRIPTORS_H

#include "base/error.h"

#include <stdbool.h>

// Whether a file could not be opened because of the tool or the system, and not of the file.
bool own_descriptors_lack(const struct hs_error *error);
// pre: own_descriptors_lack. Takes ownership; names the limit and what helps.
struct hs_error *own_descriptors_explain(struct hs_error *error) HS_MUST_CHECK;

// HS_ERROR_REFUSED: fewer are left than an attach opens at a time while the target stands still. `fd`: any open
// descriptor.
struct hs_error *own_descriptors_check(int fd) HS_MUST_CHECK;

#endif
