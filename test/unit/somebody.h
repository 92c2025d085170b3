// SPDX-License-Identifier: Apache-2.0
// A user who is not root, for the tests that root runs.
#ifndef HEAPSNAP_TEST_UNIT_SOMEBODY_H
#define HEAPSNAP_TEST_UNIT_SOMEBODY_H

#include <sys/types.h>

#define SOMEBODY ((uid_t)65534)

#endif
