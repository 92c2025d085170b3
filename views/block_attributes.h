// SPDX-License-Identifier: Apache-2.0
// What the labels of samples say of their blocks, for rows by these (views/report.h). Pure.
#ifndef HEAPSNAP_VIEWS_BLOCK_ATTRIBUTES_H
#define HEAPSNAP_VIEWS_BLOCK_ATTRIBUTES_H

#include "views/report.h"

extern const struct sample_attribute thread_attribute, size_attribute, age_attribute, kind_attribute,
	allocator_attribute;

// Whether there are rows: a sample of the profile says it, or there is no live block of which it could be said.
bool attribute_is_said(const struct sample_attribute *attribute, const struct heap_profile *profile);

// The label that it is, as a bit for profile_diff_make_by. pre: one of the above
unsigned attribute_label(const struct sample_attribute *attribute);

#endif
