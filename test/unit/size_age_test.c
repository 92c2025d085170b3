// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/size_age.h"

#define SECOND INT64_C(1000000000)

static const struct {
	uint64_t bytes;
	unsigned index;
	const char *text;
} sizes[] = {
	{ 0, 0, "unknown" },
	{ 1, 1, "0 B..1 B" },
	{ 2, 2, "2 B..3 B" },
	{ 3, 2, "2 B..3 B" },
	{ 64, 7, "64 B..127 B" },
	{ 127, 7, "64 B..127 B" },
	{ 128, 8, "128 B..255 B" },
	{ 1023, 10, "512 B..1023 B" },
	{ 1024, 11, "1 KiB..2 KiB" },
	{ 2047, 11, "1 KiB..2 KiB" },
	{ 600000, 20, "512 KiB..1 MiB" },
	{ UINT64_C(1) << 40, 41, "1 TiB..2 TiB" },
	{ UINT64_C(1) << 62, 63, "4 EiB..8 EiB" },
	{ UINT64_MAX, 64, "8 EiB..16 EiB" },
};

static const struct {
	int64_t nanoseconds;
	unsigned index;
	const char *text;
} ages[] = {
	{ INT64_MIN, 1, "under 1 s" },
	{ 0, 1, "under 1 s" },
	{ SECOND - 1, 1, "under 1 s" },
	{ SECOND, 2, "1 s..10 s" },
	{ 10 * SECOND, 3, "10 s..1 min" },
	{ 60 * SECOND - 1, 3, "10 s..1 min" },
	{ 60 * SECOND, 4, "1 min..10 min" },
	{ 600 * SECOND, 5, "10 min..1 h" },
	{ 3600 * SECOND, 6, "1 h..1 d" },
	{ 86400 * SECOND, 7, "1 d..7 d" },
	{ 7 * 86400 * SECOND, 8, "7 d and more" },
	{ INT64_MAX, 8, "7 d and more" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK_EQUAL(size_class_index(sizes[i].bytes), sizes[i].index);
		CHECK_STRING(size_class_text(sizes[i].index).text, sizes[i].text);
	}
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		CHECK_EQUAL(age_class_index(ages[i].nanoseconds), ages[i].index);
		CHECK_STRING(age_class_text(ages[i].index).text, ages[i].text);
	}
	// each class begins where its least member says, and the number before is in the class before
	for (unsigned i = 1; i <= SIZE_CLASSES; i++) {
		CHECK_EQUAL(size_class_index(size_class_least(i)), i);
		CHECK_EQUAL(size_class_index(size_class_least(i) - 1), i - 1);
	}
	CHECK_EQUAL(size_class_least(0), 0);
	CHECK_EQUAL(age_class_least(0), 0);
	CHECK_EQUAL(age_class_least(1), 0);
	for (unsigned i = 2; i <= AGE_CLASSES; i++) {
		CHECK_EQUAL(age_class_index(age_class_least(i)), i);
		CHECK_EQUAL(age_class_index(age_class_least(i) - 1), i - 1);
	}
	CHECK_STRING(size_class_text(SIZE_CLASSES + 1).text, "unknown");
	CHECK_STRING(age_class_text(AGE_CLASSES + 1).text, "unknown");
	CHECK_STRING(age_class_text(0).text, "unknown");
	return CHECK_RESULT();
}
