// SPDX-License-Identifier: Apache-2.0
// A heap profile as one HTML file that needs nothing else: no network, no server, no other file.
//
// The page itself (page.html, page.css, page.js and what they stand on) is bundled when heapsnap is built and linked
// into the program (page_image.S). What this room adds is the data, in blocks that no name from a target can leave
// (page_data.h).
#ifndef HEAPSNAP_PROTO_PAGE_PAGE_H
#define HEAPSNAP_PROTO_PAGE_PAGE_H

#include "base/error.h"
#include "views/named_profile.h"
#include "views/sites.h"
#include "views/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One moment of a process that was watched.
struct page_point {
	double seconds; // since the first one
	uint64_t rss;   // bytes
	int64_t live;   // bytes of recorded live blocks
};

// All borrowed.
struct page_options {
	const char *title;         // NULL = the program's name
	const char *program;       // NULL, 0 and 0 = as the profile says
	int32_t pid;               //
	int64_t time_ns;           // wall clock, UTC
	const char *compared_with; // title of the profile that was taken off: values are differences; NULL = none was
	const struct verdict *verdict;   // NULL = none
	const struct page_point *series; // in order of time
	size_t series_count;
};

// Whether the program has a page: false where it was built without npm.
bool page_is_built(void);

// *data_ret is owned by the caller (free): *size_ret bytes of HTML, and a 0 byte behind them. Pure.
// HS_ERROR_REFUSED: there is no page in this program. HS_ERROR_NO_MEMORY.
struct hs_error *page_encode(const struct named_profile *named, const struct site_list *sites,
			     const struct page_options *options, char **data_ret, size_t *size_ret) HS_MUST_CHECK;

#endif
