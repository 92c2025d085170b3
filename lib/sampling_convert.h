// SPDX-License-Identifier: Apache-2.0
// The same settings as the region has them.
#ifndef HEAPSNAP_LIB_SAMPLING_CONVERT_H
#define HEAPSNAP_LIB_SAMPLING_CONVERT_H

#include "attach/region/sampling_settings.h"
#include "lib/sampling.h"

// Pure, and each other's inverse.
struct sampling_settings sampling_to_region(const struct hs_sampling *sampling);
struct hs_sampling sampling_from_region(const struct sampling_settings *settings);

#endif
