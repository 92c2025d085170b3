// SPDX-License-Identifier: Apache-2.0
#include "cli/peak_text.h"

#include "cli/console.h"
#include "cli/headline.h"
#include "cli/view_text.h"
#include "views/numbers.h"

static void print_file(const struct options *options, const struct peak_file *file)
{
	char bytes[NUMBER_SIZE], count[COUNT_SIZE];

	if (file->missed)
		console_print(options, "%s failed: a higher peak may not have been seen.\n",
			      console_count(file->missed, "look", count));
	console_print(options, "%s: %s\n", file->path, number_bytes(file->bytes, bytes));
}

struct hs_error *peak_print(const struct options *options, const struct hs_dump_result *result,
			    const struct peak_file *file)
{
	struct hs_error *error;

	console_print(options, "At the highest that was seen:\n");
	headline_print(options, &result->profile);
	shown_print(options, &result->view);
	error = view_rows_print(options, &result->view);
	if (error)
		return error;
	truth_print(options, &result->profile);
	print_file(options, file);
	return NULL;
}

void peak_print_end(const struct options *options, const struct peak_file *file)
{
	char count[COUNT_SIZE];

	if (file->looks == 1)
		console_print(options, "There was no look before the end: a higher peak was not seen.\n");
	else
		console_print(options, "The highest of %s is the heap at the end.\n",
			      console_count(file->looks, "look", count));
	print_file(options, file);
}
