// SPDX-License-Identifier: Apache-2.0
// Errors in tests: those that end it, and those that are expected.
#ifndef HEAPSNAP_TEST_ERROR_CHECK_H
#define HEAPSNAP_TEST_ERROR_CHECK_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// Prints the error and ends the test. NULL passes.
static inline void must(struct hs_error *error)
{
	if (!error)
		return;
	printf("%s\n", error->message);
	exit(1);
}

// Frees the error.
static inline bool is_refused(struct hs_error *error)
{
	const bool refused = error && error->code == HS_ERROR_REFUSED;

	hs_error_destroy(error);
	return refused;
}

#endif
