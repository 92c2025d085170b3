// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_text.h"

#include "cli/console.h"

enum { WORD_SIZE = 8 };

static const char *mode_name(enum sampling_mode mode)
{
	switch (mode) {
	case SAMPLING_exact:
		return "exact";
	case SAMPLING_interval:
		return "interval";
	case SAMPLING_words:
		return "words";
	case SAMPLING_budget:
		return "budget";
	case SAMPLING_stopped:
		return "stopped";
	}
	return "unknown";
}

const char *sampling_text(const struct sampling_settings *sampling, char *buffer)
{
	struct sampling_settings before = *sampling;
	char bytes[32], text[SAMPLING_TEXT_SIZE];

	switch (sampling->mode) {
	case SAMPLING_exact:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "every allocation");
		break;
	case SAMPLING_interval:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "one sample in %s on average",
			 console_bytes(sampling->interval, bytes));
		break;
	case SAMPLING_words:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "%.4g samples per word, one in %s on average",
			 (double)WORD_SIZE / sampling->interval, console_bytes(sampling->interval, bytes));
		break;
	case SAMPLING_budget:
		snprintf(buffer, SAMPLING_TEXT_SIZE, "as much as %.4g %% of each thread's time allows",
			 sampling->budget / 1e4);
		break;
	case SAMPLING_stopped:
		before.mode = sampling->before == SAMPLING_stopped ? SAMPLING_exact : sampling->before;
		snprintf(buffer, SAMPLING_TEXT_SIZE, "nothing new (before: %.100s)", sampling_text(&before, text));
		break;
	}
	return buffer;
}

void sampling_put_json(struct json *json, const struct sampling_settings *sampling)
{
	enum sampling_mode drawn = sampling->mode == SAMPLING_stopped ? sampling->before : sampling->mode;

	json_string(json, "mode", mode_name(sampling->mode));
	if (sampling->mode == SAMPLING_stopped)
		json_string(json, "before", mode_name(drawn));
	if (drawn == SAMPLING_interval || drawn == SAMPLING_words)
		json_number(json, "interval_bytes", sampling->interval);
	if (drawn == SAMPLING_words)
		json_real(json, "samples_per_word", (double)WORD_SIZE / sampling->interval);
	if (drawn == SAMPLING_budget)
		json_real(json, "budget_percent", sampling->budget / 1e4);
}
