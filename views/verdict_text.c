// SPDX-License-Identifier: Apache-2.0
#include "base/io.h"
#include "views/other_heaps.h"
#include "views/verdict_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hs_error *add_reason(struct finding *finding, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text)
		return &hs_error_no_memory;
	if (finding->reason_count == FINDING_REASONS_MAX) // as many as the rules have
		free(text);
	else
		finding->reasons[finding->reason_count++] = text;
	return NULL;
}

struct hs_error *add_other_heap(const struct figures *figures, struct finding *finding)
{
	const struct other_heap *heap = other_heap_of(figures->named->profile);

	if (!heap)
		return NULL;
	finding->tells_other_heap = true;
	return add_reason(finding, "%.*s", (int)strlen(heap->text) - 1, heap->text); // without the full stop
}

struct figure_text rate_text(double bytes_a_second)
{
	struct figure_text text;
	char number[NUMBER_SIZE];

	snprintf(text.text, sizeof(text.text), "%s%s/s", bytes_a_second <= -0.5 ? "-" : "",
		 number_bytes((uint64_t)number_whole(fabs(bytes_a_second)), number));
	return text;
}

struct figure_text gain_text(double bytes)
{
	struct figure_text text;

	number_bytes_signed(number_whole(bytes), text.text);
	return text;
}

struct figure_text size_text(double bytes)
{
	struct figure_text text;

	number_bytes((uint64_t)number_whole(fmax(bytes, 0)), text.text);
	return text;
}

struct figure_text time_text(double seconds)
{
	struct figure_text text;

	number_duration((uint64_t)number_whole(fmax(seconds, 0) * 1e9), text.text);
	return text;
}

struct hs_error *site_text(const struct figures *figures, const struct growth_site *site, char **ret)
{
	const struct site *known = site->site;
	const struct code_place *place = known && known->path_length ? place_of(figures->named, known->path[0]) : NULL;
	const char *slash = place ? strrchr(place->file, '/') : NULL, *file = slash   ? slash + 1
									      : place ? place->file
										      : "";

	if (!place)
		return hs_format(ret, "%s", "[stack unknown]");
	if (*file && place->line > 0)
		return hs_format(ret, "%s (%s:%" PRId64 ")", place->name, file, place->line);
	return *file ? hs_format(ret, "%s (%s)", place->name, file) : hs_format(ret, "%s", place->name);
}
