// SPDX-License-Identifier: Apache-2.0
// Which libraries may be the user's own code: where one site stands for nearly everything, because all that it calls is
// in libraries (clang's own code is in libclang-cpp and libLLVM). Pure.
#ifndef HEAPSNAP_VIEWS_OWN_HINT_H
#define HEAPSNAP_VIEWS_OWN_HINT_H

#include "views/sites.h"

struct own_hint {
	char *regex;  // for --own: names of loaded objects, most first; owned; NULL = nothing to say
	double share; // of the live bytes that the sites hold: what the one site has
};

// *ret is owned by the caller. `kept`: of the profile's samples, those that the sites are made of; NULL = all.
// HS_ERROR_NO_MEMORY.
struct hs_error *own_hint_make(const struct named_profile *named, const struct site_list *sites, const bool *kept,
			       struct own_hint *ret) HS_MUST_CHECK;
void own_hint_deinit(struct own_hint *hint);

#endif
