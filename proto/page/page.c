// SPDX-License-Identifier: Apache-2.0
#include "proto/page/page.h"

#include "proto/page/page_data.h"
#include "proto/page/page_image.h"

#include <stdio.h>
#include <stdlib.h>

// Compared as addresses: the compiler takes two arrays for two objects.
bool page_is_built(void) { return &page_head_end[0] != &page_head[0] && &page_tail_end[0] != &page_tail[0]; }

// fclose in any case. The only reason for which writing to memory fails is that there is none.
static struct hs_error *close_memory(FILE *file)
{
	const bool failed = ferror(file) != 0;

	return fclose(file) != 0 || failed ? &hs_error_no_memory : NULL;
}

struct hs_error *page_encode(const struct named_profile *named, const struct site_list *sites,
			     const struct page_options *options, char **data_ret, size_t *size_ret)
{
	struct hs_error *error, *closing;
	char *data = NULL;
	size_t size = 0;
	FILE *file;

	if (!page_is_built())
		return hs_error_create(HS_ERROR_REFUSED, "this heapsnap was built without its page, for lack of npm; "
							 "another format works: .pb.gz, .json, .txt");
	file = open_memstream(&data, &size);
	if (!file)
		return &hs_error_no_memory;
	fwrite(page_head, 1, (size_t)(page_head_end - page_head), file);
	error = page_data_write(named, sites, options, file);
	fwrite(page_tail, 1, (size_t)(page_tail_end - page_tail), file);
	closing = close_memory(file);
	if (!error)
		error = closing;
	if (error) {
		free(data);
		return error;
	}
	*data_ret = data;
	*size_ret = size;
	return NULL;
}
