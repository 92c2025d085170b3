// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/debuginfod_output.h"

#include <string.h>

void debuginfod_output_add(struct debuginfod_output *output, const char *bytes, size_t size)
{
	if (size > DEBUGINFOD_OUTPUT_MAX) {
		bytes += size - DEBUGINFOD_OUTPUT_MAX;
		size = DEBUGINFOD_OUTPUT_MAX;
	}
	if (output->size + size > DEBUGINFOD_OUTPUT_MAX) {
		const size_t gone = output->size + size - DEBUGINFOD_OUTPUT_MAX;

		memmove(output->text, output->text + gone, output->size - gone);
		output->size -= gone;
	}
	if (size)
		memcpy(output->text + output->size, bytes, size);
	output->size += size;
	output->text[output->size] = 0;
	for (size_t i = output->size - size; i < output->size; i++)
		if (!output->text[i])
			output->text[i] = '?';
}

// The number that ends before *end, which goes to its first digit.
static bool number_before(const char *text, const char **end, uint64_t *ret)
{
	const char *first = *end;

	while (first > text && first[-1] >= '0' && first[-1] <= '9')
		first--;
	if (first == *end || *end - first > 18)
		return false;
	*ret = 0;
	for (const char *digit = first; digit < *end; digit++)
		*ret = *ret * 10 + (uint64_t)(*digit - '0');
	*end = first;
	return true;
}

bool debuginfod_output_progress(const struct debuginfod_output *output, uint64_t *done_ret, uint64_t *total_ret)
{
	const char *line = strrchr(output->text, '\r'), *end = output->text + output->size;
	uint64_t last, first;

	// A host's name may be a number, so only what follows one counts.
	if (!line || strncmp(line, "\rDownloading from ", strlen("\rDownloading from ")) != 0 ||
	    !number_before(line, &end, &last))
		return false;
	*done_ret = last;
	*total_ret = 0;
	if (end[-1] == '/') {
		end--;
		if (!number_before(line, &end, &first))
			return false;
		*done_ret = first;
		*total_ret = last;
	}
	return end[-1] == ' ';
}

const char *debuginfod_output_reason(struct debuginfod_output *output)
{
	char *text = output->text;
	size_t end = output->size;

	while (end > 0 && strchr("\r\n ", text[end - 1]))
		end--;
	text[end] = 0;
	while (end > 0 && text[end - 1] != '\n' && text[end - 1] != '\r')
		end--;
	return text + end;
}
