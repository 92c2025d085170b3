// SPDX-License-Identifier: Apache-2.0
// The whole of our unit test framework: a failed check prints its place and values, and the program's exit status is
// its verdict.
#ifndef HEAPSNAP_TEST_UNIT_CHECK_H
#define HEAPSNAP_TEST_UNIT_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int check_failures;
static int check_count;
static int check_left_out;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		check_count++;                                                                                         \
		if (!(condition)) {                                                                                    \
			check_failures++;                                                                              \
			fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__, #condition);                         \
		}                                                                                                      \
	} while (0)

// How often something is tried: less with a sanitizer, with which each step takes many times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_TIMES(without, with) (with)
#else
#define CHECK_TIMES(without, with) (without)
#endif

// Integers of any width.
#define CHECK_EQUAL(actual, expected)                                                                                  \
	do {                                                                                                           \
		int64_t check_actual_ = (int64_t)(actual), check_expected_ = (int64_t)(expected);                      \
		check_count++;                                                                                         \
		if (check_actual_ != check_expected_) {                                                                \
			check_failures++;                                                                              \
			fprintf(stderr, "%s:%d: %s is %" PRId64 " (0x%" PRIx64 "), not %" PRId64 " (0x%" PRIx64 ")\n", \
				__FILE__, __LINE__, #actual, check_actual_, (uint64_t)check_actual_, check_expected_,  \
				(uint64_t)check_expected_);                                                            \
		}                                                                                                      \
	} while (0)

#define CHECK_STRING(actual, expected)                                                                                 \
	do {                                                                                                           \
		const char *check_actual_ = (actual), *check_expected_ = (expected);                                   \
		check_count++;                                                                                         \
		if (!check_actual_ || strcmp(check_actual_, check_expected_) != 0) {                                   \
			check_failures++;                                                                              \
			fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #actual,              \
				check_actual_ ? check_actual_ : "(null)", check_expected_);                            \
		}                                                                                                      \
	} while (0)

// Says that something is not tried, and what this machine or user lacks for it. The test then does not count as passed:
// `./dev test` in CI wants each such reason in test/allowed_skips.txt.
#define CHECK_LEFT_OUT(...) (check_left_out++, printf("SKIPPED: "), printf(__VA_ARGS__), putchar('\n'), fflush(stdout))

#define CHECK_SKIPPED 77 // exit status: SKIP_RETURN_CODE in the CMake files

// The last statement of main. A program that checked nothing has failed, unless it says why.
#define CHECK_RESULT()                                                                                                 \
	(printf("%d checks, %d failed\n", check_count, check_failures), check_failures > 0   ? 1                       \
									: check_left_out > 0 ? CHECK_SKIPPED           \
									: check_count > 0    ? 0                       \
											     : 1)

#endif
