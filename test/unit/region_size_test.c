// SPDX-License-Identifier: Apache-2.0
// How much memory the region may use, by what is left where.
#include "check.h"

#include "attach/region/region_size.h"
#include "attach/session/session.h"
#include "inject/abi/region.h"

#define MIB   (UINT64_C(1) << 20)
#define GIB   (UINT64_C(1) << 30)
#define NONE  UINT64_MAX
#define FIXED (HS_OFFSET_PAGES + 4 * MIB)

// 0 = refused, with these words.
static uint64_t decide(struct memory_room room, uint64_t asked, const char *words)
{
	uint64_t size = 0;
	struct hs_error *error = region_size_decide(&room, asked, &size);

	CHECK(!error == !words);
	if (error) {
		CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
		CHECK(words && strstr(error->message, words) && strstr(error->message, "--max-memory"));
		size = 0;
	}
	hs_error_destroy(error);
	return size;
}

int main(void)
{
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, NONE, NONE, NONE }, 0, NULL), 4 * GIB);
	CHECK_EQUAL(decide((struct memory_room){ 4096 * GIB, NONE, NONE, NONE, NONE }, 0, NULL), 64 * GIB);
	CHECK_EQUAL(decide((struct memory_room){ 16 * MIB, NONE, NONE, NONE, NONE }, 0, NULL), 16 * MIB);
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, NONE, NONE, NONE }, 100 * GIB, NULL), 100 * GIB);
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, 4 * GIB, NONE, NONE, NONE }, 0, NULL), 512 * MIB);
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, FIXED + 16 * MIB, NONE, NONE, NONE }, 16 * MIB, NULL),
		    16 * MIB);
	decide((struct memory_room){ 16 * GIB, FIXED + 16 * MIB - 1, NONE, NONE, NONE }, 16 * MIB, "memory cgroup");
	decide((struct memory_room){ 16 * GIB, 10 * MIB, NONE, NONE, NONE }, 0, "memory cgroup");
	// The kernel gives no mapping more than all that there is.
	CHECK_EQUAL(
		decide((struct memory_room){ 16 * GIB, NONE, NONE, NONE, HS_OFFSET_PAGES + 24 * GIB }, 24 * GIB, NULL),
		24 * GIB);
	decide((struct memory_room){ 16 * GIB, NONE, NONE, NONE, HS_OFFSET_PAGES + 24 * GIB }, 24 * GIB + 4096,
	       "overcommit_memory is 0");
	// Of the target's own no more than an eighth, or a quarter where that is not enough or more is asked for.
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, 8 * GIB, NONE, NONE }, 0, NULL), GIB - FIXED);
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, NONE, 8 * GIB, NONE }, 0, NULL), GIB - FIXED);
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, 8 * GIB, 4 * GIB, NONE }, 0, NULL), GIB / 2 - FIXED);
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, 4 * (FIXED + MIB), NONE, NONE }, 0, NULL),
		    HS_REGION_MEMORY_MIN);
	decide((struct memory_room){ 16 * GIB, NONE, 4 * (FIXED + MIB) - 4, NONE, NONE }, 0, "ulimit -v");
	decide((struct memory_room){ 16 * GIB, NONE, NONE, 4 * (FIXED + MIB) - 4, NONE }, 0, "commit limit");
	CHECK_EQUAL(decide((struct memory_room){ 16 * GIB, NONE, 8 * GIB, NONE, NONE }, 2 * GIB - FIXED, NULL),
		    2 * GIB - FIXED);
	decide((struct memory_room){ 16 * GIB, NONE, 8 * GIB, NONE, NONE }, 2 * GIB, "ulimit -v");
	decide((struct memory_room){ 16 * GIB, NONE, 0, NONE, NONE }, 0, "ulimit -v");
	return CHECK_RESULT();
}
