// SPDX-License-Identifier: Apache-2.0
// Which libraries may be the user's own code: where one site stands for nearly everything, because all that it calls is
// in libraries (clang's own code is in libclang-cpp and libLLVM). Pure.
#ifndef HEAPSNAP_VIEWS_OWN_HINT_H
#define HEAPSNAP_VIEWS_OWN_HINT_H

#include "views/sites.h"

struct own_hint {
	char *regex;  // for --own: names of loaded objects, most first; owned; NULL = nothing to say
	double share; // of what the sites hold (values_weight): what the one site has
};

// *ret is owned by the caller. `options`: what the sites were made with. HS_ERROR_NO_MEMORY.
struct hs_error *own_hint_make(const struct named_profile *named, const struct site_list *sites,
			       const struct site_options *options, struct own_hint *ret) HS_MUST_CHECK;
void own_hint_deinit(struct own_hint *hint);

#endif
