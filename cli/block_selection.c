// SPDX-License-Identifier: Apache-2.0
// What the words of a command line choose.
#include "cli/block_words.h"
#include "cli/options.h"
#include "lib/read_profile.h"

static struct hs_error *read_since(const char *path, struct profile_cut *ret)
{
	struct heap_profile profile;
	struct hs_error *error = hs_read_profile(path, &profile);

	if (error)
		return error;
	*ret = profile.cut;
	if (!ret->session || profile.is_difference)
		error = hs_error_create(HS_ERROR_BAD_DATA,
					"%s does not say when in the life of an attach it was taken: give a profile "
					"that this version of heapsnap dump has written",
					path);
	heap_profile_deinit(&profile);
	return error;
}

struct hs_error *block_words_selection(const struct options *options, struct block_selection *ret)
{
	*ret = options->blocks.selection;
	switch (view_words_unit(&options->view)) {
	case ROWS_THREAD:
		ret->labels |= LABEL_THREAD;
		break;
	case ROWS_SIZE:
		ret->labels |= LABEL_SIZE;
		break;
	case ROWS_AGE:
		ret->labels |= LABEL_AGE;
		break;
	case ROWS_KIND:
		ret->labels |= LABEL_KIND;
		break;
	case ROWS_ALLOCATOR:
		ret->labels |= LABEL_ALLOCATOR;
		break;
	default:
		break;
	}
	return options->blocks.since_dump ? read_since(options->blocks.since_dump, &ret->since) : NULL;
}
