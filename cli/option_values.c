// SPDX-License-Identifier: Apache-2.0
#include "cli/option_values.h"

#include "lib/sampling.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
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
	if (*end == '%')
		end++;
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

bool parse_signal(const char *text, int *ret)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = { { "HUP", SIGHUP },   { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },   { "ALRM", SIGALRM },
			{ "TERM", SIGTERM }, { "QUIT", SIGQUIT }, { "WINCH", SIGWINCH }, { "PWR", SIGPWR },
			{ "IO", SIGIO },     { "URG", SIGURG } };
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		char number[12];

		snprintf(number, sizeof(number), "%d", signals[i].number);
		*ret = signals[i].number;
		if (strcasecmp(name, signals[i].name) == 0 || strcmp(text, number) == 0)
			return true;
	}
	return false;
}

const char *parse_output_name(const char *text)
{
	const bool is_stream = strcmp(text, "/dev/stdout") == 0 || strcmp(text, "/dev/fd/1") == 0 ||
			       strcmp(text, "/proc/self/fd/1") == 0;

	return is_stream ? "-" : text;
}
