// SPDX-License-Identifier: Apache-2.0
#include "cli/option_values.h"

#include "lib/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool parse_size(const char *text, uint64_t *ret)
{
	static const char *const suffixes[] = { "", "B", "K", "KB", "KiB", "M", "MB", "MiB", "G", "GB", "GiB" };
	static const unsigned shifts[] = { 0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30 };
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		if (strcasecmp(end, suffixes[i]) != 0)
			continue;
		*ret = (uint64_t)value << shifts[i];
		return *ret >> shifts[i] == value;
	}
	return false;
}

bool parse_percent(const char *text, uint32_t *ret)
{
	char *end;
	double value;

	if (*text != '.' && (*text < '0' || *text > '9'))
		return false; // neither spaces nor signs, nor names of numbers
	value = strtod(text, &end);
	if (*end || strpbrk(text, "xXeEpP") || !(value >= 0.0001) || value > 100)
		return false;
	*ret = (uint32_t)(value * 10000 + 0.5);
	return true;
}

bool parse_duration(const char *text, uint64_t *ret)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	const size_t length = strspn(text, "0123456789.");
	double value, ns;
	char *end;

	if (length == 0 || length > 20)
		return false;
	value = strtod(text, &end);
	if (end != text + length) // "1e3", "0x10", "1.2.3"
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		ns = value * units[i].ns;
		*ret = ns >= 1 && ns <= 3600e12 ? (uint64_t)ns : 0;
		return *ret > 0;
	}
	return false;
}

bool parse_rate(const char *text, uint32_t *ret)
{
	char *end;
	double value;

	if (*text != '.' && (*text < '0' || *text > '9'))
		return false;
	value = strtod(text, &end);
	return !*end && !strpbrk(text, "xXpP") && hs_sampling_interval_of_rate(value, ret);
}
