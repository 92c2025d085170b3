// SPDX-License-Identifier: Apache-2.0
#include "snapshot/size_age.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

// Where the second and later classes of ages begin.
static const struct {
	int64_t nanoseconds;
	const char *text;
} age_bounds[AGE_CLASSES - 1] = {
	{ SECOND, "1 s" },        { 10 * SECOND, "10 s" },   { 60 * SECOND, "1 min" },      { 600 * SECOND, "10 min" },
	{ 3600 * SECOND, "1 h" }, { 86400 * SECOND, "1 d" }, { 7 * 86400 * SECOND, "7 d" },
};

unsigned size_class_index(uint64_t bytes) { return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0; }

uint64_t size_class_least(unsigned index) { return index ? UINT64_C(1) << (index - 1) : 0; }

// Writes 2^bits bytes; returns as snprintf.
static int power_text(char *text, size_t room, unsigned bits)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return snprintf(text, room, "%u %s", 1U << bits % 10, units[bits / 10]);
}

struct class_text size_class_text(unsigned index)
{
	struct class_text ret = { "unknown" };
	char from[16], to[16];

	if (index == 1) {
		strcpy(ret.text, "0 B..1 B");
	} else if (index >= 2 && index <= 10) {
		const unsigned least = 1U << (index - 1);

		snprintf(ret.text, sizeof(ret.text), "%u B..%u B", least, 2 * least - 1);
	} else if (index > 10 && index <= SIZE_CLASSES) {
		power_text(from, sizeof(from), index - 1);
		power_text(to, sizeof(to), index);
		snprintf(ret.text, sizeof(ret.text), "%s..%s", from, to);
	}
	return ret;
}

unsigned age_class_index(int64_t nanoseconds)
{
	unsigned index = 1;

	while (index < AGE_CLASSES && nanoseconds >= age_bounds[index - 1].nanoseconds)
		index++;
	return index;
}

int64_t age_class_least(unsigned index) { return index > 1 ? age_bounds[index - 2].nanoseconds : 0; }

struct class_text age_class_text(unsigned index)
{
	struct class_text ret = { "unknown" };

	if (index == 1)
		snprintf(ret.text, sizeof(ret.text), "under %s", age_bounds[0].text);
	else if (index == AGE_CLASSES)
		snprintf(ret.text, sizeof(ret.text), "%s and more", age_bounds[AGE_CLASSES - 2].text);
	else if (index > 1 && index < AGE_CLASSES)
		snprintf(ret.text, sizeof(ret.text), "%s..%s", age_bounds[index - 2].text, age_bounds[index - 1].text);
	return ret;
}
