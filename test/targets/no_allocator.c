// SPDX-License-Identifier: Apache-2.0
// A static program without libc and without an allocator: there is nothing to hook. Ends at end of input.
#include "no_libc.h"
