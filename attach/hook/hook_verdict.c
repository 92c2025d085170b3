// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_verdict.h"

#include <stdbool.h>

static const struct {
	const char *name, *text;
} verdicts[] = {
#define X(name, text) { #name, text },
	HS_HOOK_VERDICTS(X)
#undef X
};

static bool is_known(enum hook_verdict verdict) { return (unsigned)verdict < VERDICT_COUNT; }

const char *hook_verdict_name(enum hook_verdict verdict)
{
	return is_known(verdict) ? verdicts[verdict].name : "unknown";
}

const char *hook_verdict_text(enum hook_verdict verdict)
{
	return is_known(verdict) ? verdicts[verdict].text : "unknown reason";
}
