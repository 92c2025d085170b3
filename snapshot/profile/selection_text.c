// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/selection_text.h"

#include "base/cleanup.h"
#include "base/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000000 };

static void put_age(FILE *file, const char *words, uint64_t nanoseconds)
{
	if (!nanoseconds)
		return;
	if (nanoseconds % SECOND == 0)
		fprintf(file, ", %s %" PRIu64 " s", words, nanoseconds / SECOND);
	else
		fprintf(file, ", %s %.6g s", words, (double)nanoseconds / SECOND);
}

struct hs_error *selection_text(const struct block_selection *selection, char **ret)
{
	HS_CLEANUP_FREE char *thread = selection->thread ? hs_printable(selection->thread) : NULL;
	HS_CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *file;
	bool failed;

	*ret = NULL;
	if (!block_selection_is_part(selection))
		return NULL;
	file = open_memstream(&text, &size);
	if (!file || (selection->thread && !thread)) {
		if (file)
			fclose(file);
		return &hs_error_no_memory;
	}
	put_age(file, "older than", selection->older_ns);
	put_age(file, "younger than", selection->younger_ns);
	if (selection->size_least)
		fprintf(file, ", of at least %" PRIu64 " bytes", selection->size_least);
	if (thread)
		fprintf(file, ", of thread %s", thread);
	if (selection->since.session)
		fputs(", allocated since an earlier dump", file);
	failed = ferror(file) != 0;
	if (fclose(file) != 0 || failed)
		return &hs_error_no_memory;
	*ret = strdup(text + 2); // without the first comma
	return *ret ? NULL : &hs_error_no_memory;
}
