// SPDX-License-Identifier: Apache-2.0
// The places in the program that hold most. Pure.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_TOP_SITES_H
#define HEAPSNAP_SNAPSHOT_PROFILE_TOP_SITES_H

#include "base/error.h"
#include "snapshot/heap_profile.h"

// A site is where the program asked for memory: the innermost frame that is not the allocator's, innermost inlined
// function.
struct heap_site {
	char *function;   // owned; "module+0x1234" where there is no symbol
	const char *file; // borrowed from the profile; "" = unknown
	int64_t line;     // 0 = unknown
	struct profile_values values;
	uint32_t sample; // the one of its stacks that holds most: index into the profile's samples
};

// Sites in order of live bytes, most first. *sites_ret is owned by the caller (heap_sites_free); its
// texts are the profile's. HS_ERROR_NO_MEMORY.
struct hs_error *heap_sites_make(const struct heap_profile *profile, struct heap_site **sites_ret,
				 size_t *count_ret) HS_MUST_CHECK;

// The functions that called a site, innermost first, along the stack that holds most: at most `limit` names, joined by
// `separator`. *text_ret is owned by the caller; "" when there is none. An allocator's wrapper as a site says little
// without them. HS_ERROR_NO_MEMORY.
struct hs_error *heap_site_callers(const struct heap_profile *profile, const struct heap_site *site, unsigned limit,
				   const char *separator, char **text_ret) HS_MUST_CHECK;
void heap_sites_free(struct heap_site *sites, size_t count);

#endif
