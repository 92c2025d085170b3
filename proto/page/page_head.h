// SPDX-License-Identifier: Apache-2.0
// The head of a page's data: what was looked at, when, how, and what is not in it.
#ifndef HEAPSNAP_PROTO_PAGE_PAGE_HEAD_H
#define HEAPSNAP_PROTO_PAGE_PAGE_HEAD_H

#include "base/error.h"
#include "base/json.h"
#include "proto/page/page.h"

#include <stddef.h>

// How many rows will come.
struct page_counts {
	size_t strings, places, nodes, sites;
};

// Writes "head":{…} into an open object. HS_ERROR_NO_MEMORY.
struct hs_error *page_head_write(const struct heap_profile *profile, const struct page_options *options,
				 const struct page_counts *counts, struct json *json) HS_MUST_CHECK;

#endif
