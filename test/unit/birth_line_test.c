// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/profile/birth_line.h"

enum { LINE = 1000, LAST_THREAD = HS_THREAD_HISTORY_MAX - 1 };

// Blocks by thread and the thread's last reading of the time before their birth.
static const struct {
	uint64_t birth;
	uint32_t thread;
	enum birth_side side;
	const char *why;
} blocks[] = {
	{ 500, 1, BORN_BEFORE, "the thread has read 900 later" },
	{ 900, 1, BORN_UNSURE, "its next reading is behind the line" },
	{ 900, 1, BORN_UNSURE, "of the same reading" },
	{ 1001, 1, BORN_AFTER, "read behind the line" },
	{ 500, 2, BORN_UNSURE, "no later reading is known; that of another thread says nothing" },
	{ 999, 3, BORN_BEFORE, "its thread has read at the line" },
	{ 1000, 3, BORN_UNSURE, "at the line, and perhaps born behind it" },
	{ UINT64_MAX, 3, BORN_AFTER, "a clock that is ahead" },
	{ 0, 4, BORN_UNSURE, "nothing is known" },
	{ 500, LAST_THREAD, BORN_UNSURE, "threads share the last entry" },
	{ 600, LAST_THREAD, BORN_UNSURE, "so that this may be another one's" },
};

static const struct {
	uint64_t ticks, nanoseconds;
	uint32_t per_us;
	uint64_t before;
} times[] = {
	{ 10000, 1000, 3000, 7000 },
	{ 10000, 1, 3000, 9997 },
	{ 10000, 4000, 3000, 0 },
	{ UINT64_MAX, UINT64_MAX, UINT32_MAX, 0 },
	{ UINT64_C(30000000000000), UINT64_C(3600000000000), 3000, UINT64_C(19200000000000) },
};

int main(void)
{
	struct birth_line line;

	CHECK(!birth_line_init(&line, LINE));
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		birth_line_note(&line, &(struct block_record){ .birth = blocks[i].birth,
							       .thread = blocks[i].thread & LAST_THREAD });
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		const struct block_record record = { .birth = blocks[i].birth,
						     .thread = blocks[i].thread & LAST_THREAD };
		const int failures = check_failures;

		CHECK_EQUAL(birth_line_side(&line, &record), blocks[i].side);
		if (check_failures != failures)
			fprintf(stderr, "of block %zu: %s\n", i, blocks[i].why);
	}
	birth_line_deinit(&line);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		CHECK_EQUAL(ticks_before(times[i].ticks, times[i].nanoseconds, times[i].per_us), times[i].before);
	return CHECK_RESULT();
}
