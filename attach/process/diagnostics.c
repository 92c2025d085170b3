// SPDX-License-Identifier: Apache-2.0
#include "attach/process/diagnostics.h"

#include <stdio.h>

const char *diagnostic_category_name(enum diagnostic_category category)
{
	static const char *const names[CATEGORY_COUNT] = {
#define X(name, text) #name,
		HS_DIAGNOSTIC_CATEGORIES(X)
#undef X
	};

	return names[category];
}

// Where the next diagnostic goes; NULL = it is dropped. A full list gives a refusal the place of a last one that is
// none.
static struct diagnostic *next_place(struct diagnostics *diagnostics, enum diagnostic_verdict verdict)
{
	struct diagnostic *last = &diagnostics->items[DIAGNOSTICS_MAX - 1];

	if (diagnostics->count < DIAGNOSTICS_MAX)
		return &diagnostics->items[diagnostics->count++];
	return verdict == DIAGNOSTIC_REFUSAL && last->verdict != DIAGNOSTIC_REFUSAL ? last : NULL;
}

void diagnostics_add(struct diagnostics *diagnostics, enum diagnostic_category category,
		     enum diagnostic_verdict verdict, const char *remedy, const char *format, ...)
{
	struct diagnostic *diagnostic = next_place(diagnostics, verdict);
	va_list arguments;

	if (!diagnostic)
		return;
	*diagnostic = (struct diagnostic){ .category = category, .verdict = verdict, .code = HS_ERROR_REFUSED };
	va_start(arguments, format);
	vsnprintf(diagnostic->message, sizeof(diagnostic->message), format, arguments);
	va_end(arguments);
	snprintf(diagnostic->remedy, sizeof(diagnostic->remedy), "%s", remedy ? remedy : "");
}

void diagnostics_add_error(struct diagnostics *diagnostics, enum diagnostic_category category, struct hs_error *error)
{
	struct diagnostic *diagnostic;

	if (!error)
		return;
	diagnostic = next_place(diagnostics, DIAGNOSTIC_REFUSAL);
	if (diagnostic) {
		*diagnostic = (struct diagnostic){ .category = category,
						   .verdict = DIAGNOSTIC_REFUSAL,
						   .code = error->code,
						   .error_number = error->error_number };
		snprintf(diagnostic->message, sizeof(diagnostic->message), "%s", error->message);
	}
	hs_error_destroy(error);
}

enum diagnostic_verdict diagnostics_verdict(const struct diagnostics *diagnostics, enum diagnostic_category category)
{
	enum diagnostic_verdict worst = DIAGNOSTIC_OK;

	for (size_t i = 0; i < diagnostics->count; i++)
		if (diagnostics->items[i].category == category && diagnostics->items[i].verdict > worst)
			worst = diagnostics->items[i].verdict;
	return worst;
}

bool diagnostics_refuse(const struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < diagnostics->count; i++)
		if (diagnostics->items[i].verdict == DIAGNOSTIC_REFUSAL)
			return true;
	return false;
}

struct hs_error *diagnostics_error(const struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct diagnostic *diagnostic = &diagnostics->items[i];
		struct hs_error *error;

		if (diagnostic->verdict != DIAGNOSTIC_REFUSAL)
			continue;
		error = hs_error_create(diagnostic->code, "%s%s%s", diagnostic->message,
					diagnostic->remedy[0] ? ": " : "", diagnostic->remedy);
		if (error != &hs_error_no_memory)
			error->error_number = diagnostic->error_number;
		return error;
	}
	return NULL;
}
