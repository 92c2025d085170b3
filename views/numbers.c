// SPDX-License-Identifier: Apache-2.0
#include "views/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int64_t number_whole(double number)
{
	if (isnan(number))
		return 0;
	return number > 9e18 ? INT64_MAX : number < -9e18 ? INT64_MIN : llround(number);
}

const char *number_bytes(uint64_t bytes, char *buffer)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	// 1023.95 KiB would be written as 1024.0 KiB
	while (value >= (unit ? 1023.95 : 1024) && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(buffer, NUMBER_SIZE, "%" PRIu64 " B", bytes);
	else
		snprintf(buffer, NUMBER_SIZE, "%.1f %s", value, units[unit]);
	return buffer;
}

// What `write` writes of its size, with a sign before it.
static const char *with_sign(const char *(*write)(uint64_t, char *), int64_t value, bool is_difference, char *buffer)
{
	const uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	const char *sign = value < 0 ? "-" : value > 0 && is_difference ? "+" : "";
	char text[NUMBER_SIZE];

	snprintf(buffer, NUMBER_SIZE, "%s%.28s", sign, write(size, text));
	return buffer;
}

const char *number_bytes_signed(int64_t bytes, char *buffer) { return with_sign(number_bytes, bytes, true, buffer); }

const char *number_bytes_of(int64_t bytes, bool is_difference, char *buffer)
{
	return with_sign(number_bytes, bytes, is_difference, buffer);
}

const char *number_rate(double bytes, bool is_difference, char *buffer)
{
	char number[NUMBER_SIZE];

	snprintf(buffer, NUMBER_SIZE, "%.28s/s", number_bytes_of(number_whole(bytes), is_difference, number));
	return buffer;
}

const char *number_grouped_of(int64_t value, bool is_difference, char *buffer)
{
	return with_sign(number_grouped, value, is_difference, buffer);
}

const char *number_short_of(int64_t value, bool is_difference, char *buffer)
{
	return with_sign(number_short, value, is_difference, buffer);
}

const char *number_grouped(uint64_t value, char *buffer)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value), at = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			buffer[at++] = ',';
		buffer[at++] = digits[i];
	}
	buffer[at] = 0;
	return buffer;
}

const char *number_short(uint64_t value, char *buffer)
{
	static const char units[] = "kMGTPE";
	double scaled = (double)value / 1000;
	size_t unit = 0;

	if (value < 10000)
		return number_grouped(value, buffer);
	while (scaled >= 999.5 && units[unit + 1]) {
		scaled /= 1000;
		unit++;
	}
	snprintf(buffer, NUMBER_SIZE,
		 scaled < 9.995   ? "%.2f%c"
		 : scaled < 99.95 ? "%.1f%c"
				  : "%.0f%c",
		 scaled, units[unit]);
	return buffer;
}

const char *number_error(int64_t value, uint64_t error, char *buffer)
{
	double percent = value > 0 ? 100 * (double)error / (double)value : 100;

	if (value <= 0 || percent > 100)
		return number_bytes(error, buffer);
	snprintf(buffer, NUMBER_SIZE, percent < 0.05 ? "<0.1 %%" : percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
	return buffer;
}

const char *number_duration(uint64_t nanoseconds, char *buffer)
{
	double seconds = (double)nanoseconds / 1e9;

	if (nanoseconds < 1000000)
		snprintf(buffer, NUMBER_SIZE, "%.0f us", seconds * 1e6);
	else if (nanoseconds < 1000000000)
		snprintf(buffer, NUMBER_SIZE, "%.1f ms", seconds * 1e3);
	else if (seconds < 120)
		snprintf(buffer, NUMBER_SIZE, "%.0f s", seconds);
	else if (seconds < 7200)
		snprintf(buffer, NUMBER_SIZE, "%.0f min", seconds / 60);
	else if (seconds < 172800)
		snprintf(buffer, NUMBER_SIZE, "%.0f h", seconds / 3600);
	else
		snprintf(buffer, NUMBER_SIZE, "%.0f d", seconds / 86400);
	return buffer;
}
