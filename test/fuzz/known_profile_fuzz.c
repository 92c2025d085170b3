// SPDX-License-Identifier: Apache-2.0
// Whether a file may be replaced, by its first bytes: it may be any file. Input: the file.
#include "fuzz.h"

#include "proto/known_profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t read = size < KNOWN_PROFILE_BYTES ? size : KNOWN_PROFILE_BYTES;
	uint8_t *copy = malloc(read ? read : 1); // so that a byte too many is noticed

	if (!copy)
		return 0;
	memcpy(copy, data, read);
	(void)profile_other_format(copy, read);
	if (profile_is_known(copy, read)) {
		REACHED();
		// gzip, a page, JSON, a field of pprof, or collapsed stacks
		REQUIRE(read == 0 || copy[0] == 0x1f || copy[0] == '<' || copy[0] == '{' || (copy[0] & 7) == 0 ||
			(copy[0] & 7) == 2 || memchr(copy, ';', read));
	}
	free(copy);
	return 0;
}
