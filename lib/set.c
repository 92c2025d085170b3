// SPDX-License-Identifier: Apache-2.0
#include "lib/set.h"

#include "attach/session/session.h"
#include "lib/sampling_convert.h"

static struct sampling_change change_of(const struct hs_set_options *options)
{
	switch (options->change) {
	case HS_SET_KEEP:
		break;
	case HS_SET_SAMPLING:
		return (struct sampling_change){ SAMPLING_SET, sampling_to_region(&options->sampling) };
	case HS_SET_STOP:
		return (struct sampling_change){ .kind = SAMPLING_STOP };
	case HS_SET_START:
		return (struct sampling_change){ .kind = SAMPLING_START };
	}
	return (struct sampling_change){ .kind = SAMPLING_KEEP };
}

static struct hs_settings settings_of(const struct region_settings *settings)
{
	return (struct hs_settings){ sampling_from_region(&settings->sampling), settings->depth };
}

struct hs_error *hs_set(const struct process *process, const struct hs_set_options *options, struct hs_set_result *ret)
{
	const struct set_options set = { .change = change_of(options), .depth = options->depth };
	struct set_report report;
	struct hs_error *error = session_set(process, &set, &report);

	if (error)
		return error;
	*ret = (struct hs_set_result){
		.before = settings_of(&report.before),
		.after = settings_of(&report.after),
		.threads = report.threads,
		.stopped_longest_ns = report.stopped_longest_ns,
		.bloom_in_use = report.bloom_in_use,
	};
	return NULL;
}
