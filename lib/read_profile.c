// SPDX-License-Identifier: Apache-2.0
#include "lib/read_profile.h"

#include "proto/pprof/pprof_decoder.h"
#include "proto/profile_file.h"

#include <stdlib.h>

struct hs_error *hs_read_profile(const char *path, struct heap_profile *ret)
{
	uint8_t *data;
	size_t size;
	struct hs_error *error = profile_file_read(path, &PROFILE_FILE_LIMITS, &data, &size);

	if (error)
		return error;
	error = pprof_decode(data, size, ret);
	free(data);
	return error ? hs_error_prefix(error, "cannot read %s", path) : NULL;
}
