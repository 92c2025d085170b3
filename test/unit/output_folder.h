// SPDX-License-Identifier: Apache-2.0
// A folder for the tests of output files, and what they all ask.
#ifndef HEAPSNAP_TEST_UNIT_OUTPUT_FOLDER_H
#define HEAPSNAP_TEST_UNIT_OUTPUT_FOLDER_H

#include "base/cleanup.h"
#include "check.h"
#include "proto/gzip_file.h"
#include "somebody.h"

#include <dirent.h>
#include <stdbool.h>
#include <zlib.h>

static char directory[] = "/tmp/output_test.XXXXXX";

// The beginning of a pprof profile, a sample_type: what may be replaced.
#define PROFILE "\n\x04\x08\x01\x10\x02"

static inline const char *in_directory(const char *name)
{
	static char paths[2][256]; // two at a time
	static unsigned next;
	char *path = paths[next++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static inline int count_entries(void)
{
	DIR *stream = opendir(directory);
	int count = 0;

	while (readdir(stream))
		count++;
	closedir(stream);
	return count - 2;
}

static inline bool fails_with(struct hs_error *error, const char *part)
{
	bool result = error && strstr(error->message, part);

	if (!result)
		fprintf(stderr, "error: %s\n", error ? error->message : "(none)");
	hs_error_destroy(error);
	return result;
}

static inline bool has_content(const char *path, const char *text)
{
	char buffer[256] = { 0 };
	gzFile file = gzopen(path, "rb");
	int size = file ? gzread(file, buffer, sizeof(buffer) - 1) : -1;

	if (file)
		gzclose(file);
	return size == (int)strlen(text) && strcmp(buffer, text) == 0;
}

static inline bool is_root(void)
{
	if (geteuid() != 0)
		CHECK_LEFT_OUT("not root");
	return geteuid() == 0;
}

#endif
