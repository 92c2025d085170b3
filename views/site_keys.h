// SPDX-License-Identifier: Apache-2.0
// Numbers for the sites of several profiles: the same number, the same site. Pure.
#ifndef HEAPSNAP_VIEWS_SITE_KEYS_H
#define HEAPSNAP_VIEWS_SITE_KEYS_H

#include "views/key_table.h"
#include "views/sites.h"

// When two sites are the same one: when all places of their paths are.
enum site_match {
	MATCH_LINES, // whole name, source file and line: two dumps of one build
	MATCH_NAMES  // whole name: also of two builds, between which lines move
};

// Zeroed = no site yet.
struct site_keys {
	struct key_table places, paths; // of all profiles; paths are numbers of places
};

// *ret, owned by the caller (free), has a number for each place of the profile, for site_keys_number. All:
// HS_ERROR_NO_MEMORY.
struct hs_error *site_keys_places(struct site_keys *keys, const struct named_profile *named, enum site_match match,
				  uint32_t **ret) HS_MUST_CHECK;
// The number of a site of that profile; *new_ret: it is the first with this one, which is how many there were before.
struct hs_error *site_keys_number(struct site_keys *keys, const struct site *site, const uint32_t *places,
				  uint32_t *ret, bool *new_ret) HS_MUST_CHECK;
void site_keys_deinit(struct site_keys *keys);

#endif
