// SPDX-License-Identifier: Apache-2.0
#include "lib/read_profile.h"

#include "proto/known_profile.h"
#include "proto/pprof/pprof_decoder.h"
#include "proto/profile_file.h"

#include <stdlib.h>

// What else it is says more than where it stops to be one of pprof.
static struct hs_error *name_format(struct hs_error *error, const void *data, size_t size)
{
	const char *format = error->code == HS_ERROR_BAD_DATA ? profile_other_format(data, size) : NULL;

	if (!format)
		return error;
	hs_error_destroy(error);
	return hs_error_create(
		HS_ERROR_BAD_DATA,
		"it is %s, and no pprof file: heapsnap reads pprof files alone, as -o NAME.pb.gz writes them", format);
}

struct hs_error *hs_read_profile(const char *path, struct heap_profile *ret)
{
	uint8_t *data;
	size_t size;
	struct hs_error *error = profile_file_read(path, &PROFILE_FILE_LIMITS, &data, &size);

	if (error)
		return error;
	error = pprof_decode(data, size, ret);
	if (error)
		error = name_format(error, data, size);
	free(data);
	return error ? hs_error_prefix(error, "cannot read %s", path) : NULL;
}
