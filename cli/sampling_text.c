// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_text.h"

#include "cli/console.h"

enum { WORD_SIZE = 8 };

static const char *mode_name(enum hs_sampling_mode mode)
{
	switch (mode) {
	case HS_SAMPLING_EXACT:
		return "exact";
	case HS_SAMPLING_INTERVAL:
		return "interval";
	case HS_SAMPLING_WORDS:
		return "words";
	case HS_SAMPLING_BUDGET:
		return "budget";
	case HS_SAMPLING_STOPPED:
		return "stopped";
	}
	return "unknown";
}

const char *sampling_text(const struct hs_sampling *sampling, char *buffer)
{
	struct hs_sampling before = *sampling;
	char bytes[32], text[SAMPLING_TEXT_SIZE];

	switch (sampling->mode) {
	case HS_SAMPLING_EXACT:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "every allocation");
		break;
	case HS_SAMPLING_INTERVAL:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "one sample in %s on average",
			 number_bytes(sampling->interval, bytes));
		break;
	case HS_SAMPLING_WORDS:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "%.4g samples per word, one in %s on average",
			 (double)WORD_SIZE / sampling->interval, number_bytes(sampling->interval, bytes));
		break;
	case HS_SAMPLING_BUDGET:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "as much as %.4g %% of each thread's time allows",
			 sampling->budget / 1e4);
		break;
	case HS_SAMPLING_STOPPED:
		before.mode = sampling->before == HS_SAMPLING_STOPPED ? HS_SAMPLING_EXACT : sampling->before;
		snprintf(buffer, SAMPLING_TEXT_SIZE, "nothing new (before: %.100s)", sampling_text(&before, text));
		break;
	}
	return buffer;
}

void sampling_put_json(struct json *json, const struct hs_sampling *sampling)
{
	enum hs_sampling_mode drawn = sampling->mode == HS_SAMPLING_STOPPED ? sampling->before : sampling->mode;

	json_string(json, "mode", mode_name(sampling->mode));
	if (sampling->mode == HS_SAMPLING_STOPPED)
		json_string(json, "before", mode_name(drawn));
	if (drawn == HS_SAMPLING_INTERVAL || drawn == HS_SAMPLING_WORDS)
		json_number(json, "interval_bytes", sampling->interval);
	if (drawn == HS_SAMPLING_WORDS)
		json_real(json, "samples_per_word", (double)WORD_SIZE / sampling->interval);
	if (drawn == HS_SAMPLING_BUDGET)
		json_real(json, "budget_percent", sampling->budget / 1e4);
}
