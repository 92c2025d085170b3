// SPDX-License-Identifier: Apache-2.0
#include "attach/process/findings.h"

#include <stdio.h>

const char *ground_name(enum ground ground)
{
	static const char *const names[GROUND_COUNT] = {
#define X(name, text) #name,
		HS_GROUNDS(X)
#undef X
	};

	return names[ground];
}

// Where the next finding goes; NULL = it is dropped. A full list gives a refusal the place of a last one that is none.
static struct finding *next_place(struct findings *findings, enum finding_verdict verdict)
{
	struct finding *last = &findings->items[FINDINGS_MAX - 1];

	if (findings->count < FINDINGS_MAX)
		return &findings->items[findings->count++];
	return verdict == FINDING_REFUSAL && last->verdict != FINDING_REFUSAL ? last : NULL;
}

void findings_add(struct findings *findings, enum ground ground, enum finding_verdict verdict, const char *remedy,
		  const char *format, ...)
{
	struct finding *finding = next_place(findings, verdict);
	va_list arguments;

	if (!finding)
		return;
	*finding = (struct finding){ .ground = ground, .verdict = verdict, .code = HS_ERROR_REFUSED };
	va_start(arguments, format);
	vsnprintf(finding->message, sizeof(finding->message), format, arguments);
	va_end(arguments);
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy ? remedy : "");
}

void findings_add_error(struct findings *findings, enum ground ground, struct hs_error *error)
{
	struct finding *finding;

	if (!error)
		return;
	finding = next_place(findings, FINDING_REFUSAL);
	if (finding) {
		*finding = (struct finding){ .ground = ground,
					     .verdict = FINDING_REFUSAL,
					     .code = error->code,
					     .error_number = error->error_number };
		snprintf(finding->message, sizeof(finding->message), "%s", error->message);
	}
	hs_error_destroy(error);
}

enum finding_verdict findings_verdict(const struct findings *findings, enum ground ground)
{
	enum finding_verdict worst = FINDING_OK;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].ground == ground && findings->items[i].verdict > worst)
			worst = findings->items[i].verdict;
	return worst;
}

bool findings_refuse(const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->items[i].verdict == FINDING_REFUSAL)
			return true;
	return false;
}

struct hs_error *findings_error(const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		struct hs_error *error;

		if (finding->verdict != FINDING_REFUSAL)
			continue;
		error = hs_error_create(finding->code, "%s%s%s", finding->message, finding->remedy[0] ? ": " : "",
					finding->remedy);
		if (error != &hs_error_no_memory)
			error->error_number = finding->error_number;
		return error;
	}
	return NULL;
}
