// SPDX-License-Identifier: Apache-2.0
// The part of a header that never changes: read of any version, checked like all that a target can write.
#include "check.h"

#include "attach/region/region_stable.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/region.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 64 << 20 };

// Of a version whose layout is not this one's.
static struct stable_header other_version(uint32_t version)
{
	struct stable_header header = {
		.magic = HS_REGION_MAGIC,
		.abi_version = version,
		.state = REGION_ATTACHED,
		.size = SIZE,
		.state_size = 3 * HS_PAGE_SIZE,
		.tool_version = "7.8.9",
		.hook_count = 20,
		.island_count = 16,
		.layout = { .hooks = 0x8000,
			    .hook_stride = 256,
			    .slots = 0x20000,
			    .slot_stride = 8192,
			    .slot_count = 128,
			    .used_slots = 0x600,
			    .extra_slots = 0x700,
			    .extra_slots_max = 16,
			    .extra_slot_count = 0x604,
			    .forgotten_guards = 0x800,
			    .forgotten_count = 8,
			    .guards_lost = 0x608,
			    .key = 8,
			    .guard = 0xff8,
			    .in_original = 0xffc,
			    .left_guards = 0xfc0,
			    .left_guards_count = 8 },
	};

	return header;
}

static bool is_refused(const struct stable_header *header, uint64_t size, enum hs_error_code code)
{
	struct hs_error *error = region_stable_check(header, size);
	bool refused = error && error->code == code;

	hs_error_destroy(error);
	return refused;
}

#define BAD(field, value)                                                                                              \
	do {                                                                                                           \
		struct stable_header bad = other_version(HS_ABI_VERSION + 1);                                          \
		bad.field = (value);                                                                                   \
		CHECK(is_refused(&bad, SIZE, HS_ERROR_BAD_DATA));                                                      \
	} while (0)

static void test_check(void)
{
	struct stable_header header = other_version(HS_ABI_VERSION + 1);

	CHECK(region_stable_check(&header, SIZE) == NULL);
	CHECK_EQUAL(region_hook_offset(&header, 3), 0x8000 + 3 * 256);
	header.abi_version = HS_ABI_STABLE_SINCE;
	CHECK(region_stable_check(&header, SIZE) == NULL);
	header.abi_version = HS_ABI_STABLE_SINCE - 1;
	CHECK(is_refused(&header, SIZE, HS_ERROR_REFUSED));

	BAD(magic, 1);
	BAD(size, SIZE + HS_PAGE_SIZE);
	BAD(state, 0);
	BAD(state, REGION_DETACHING + 1);
	BAD(island_count, 17);
	BAD(hook_count, 65537);
	BAD(hook_count, SIZE / 256); // beginning at 0x8000 it ends behind the region
	BAD(state_size, 0);
	BAD(state_size, HS_PAGE_SIZE + 8);
	BAD(state_size, (1 << 24) + HS_PAGE_SIZE);
	BAD(layout.hooks, UINT64_MAX - 3);
	BAD(layout.hooks, SIZE);
	BAD(layout.hooks, 0x8002);
	BAD(layout.hook_stride, sizeof(struct hook_record) - 4);
	BAD(layout.hook_stride, UINT32_MAX - 3);
	BAD(layout.slots, SIZE - 4096);
	BAD(layout.slot_stride, 4092);
	BAD(layout.slot_stride, 2 << 20);
	BAD(layout.slot_count, 100);
	BAD(layout.slot_count, 2 << 20);
	BAD(layout.used_slots, SIZE - 8);
	BAD(layout.extra_slots, SIZE - 60);
	BAD(layout.extra_slots_max, (1 << 20) + 1);
	BAD(layout.extra_slot_count, SIZE);
	BAD(layout.forgotten_guards, SIZE - 56);
	BAD(layout.forgotten_count, 4097);
	BAD(layout.guards_lost, SIZE - 2);
	BAD(layout.key, 4092);
	BAD(layout.guard, 4096);
	BAD(layout.guard, UINT32_MAX - 3);
	BAD(layout.in_original, 4096);
	BAD(layout.stack_low, 4092);
	BAD(layout.stack_high, 4092);
	BAD(layout.left_count, 4096);
	BAD(layout.left_guards, 0xfc4);
	BAD(layout.left_guards_count, 9);
}

static void test_own(void)
{
	struct stable_header header = { .magic = HS_REGION_MAGIC,
					.state = REGION_ATTACHING,
					.size = HS_OFFSET_PAGES + (1 << 20) };

	region_stable_begin(&header);
	CHECK(region_stable_check(&header, header.size) == NULL);
	CHECK(region_check_version(&header) == NULL);
	CHECK(region_check_own(&header) == NULL);
	CHECK_EQUAL(header.state_size, HS_STATE_SIZE);
	CHECK(header.tool_version[0] != 0 && header.tool_version[sizeof(header.tool_version) - 1] == 0);
	CHECK_EQUAL(header.layout.guard, offsetof(struct shared_slot, guard));
}

// The message says which version attached, and what to do; what a target has written there cannot reach the terminal.
static void test_versions(void)
{
	struct stable_header newer = other_version(HS_ABI_VERSION + 1), earlier = other_version(HS_ABI_STABLE_SINCE),
			     older = other_version(HS_ABI_STABLE_SINCE - 1);
	struct hs_error *error = region_check_own(&newer);

	CHECK(error && error->code == HS_ERROR_REFUSED && strstr(error->message, "heapsnap 7.8.9 (ABI ") &&
	      strstr(error->message, "too old") && strstr(error->message, "detach"));
	hs_error_destroy(error);
	CHECK(region_check_version(&earlier) == NULL);
	error = region_check_own(&earlier);
	CHECK(error && error->code == HS_ERROR_REFUSED && strstr(error->message, "heapsnap 7.8.9 (ABI 13)") &&
	      strstr(error->message, "change nothing"));
	hs_error_destroy(error);
	error = region_check_version(&older);
	CHECK(error && error->code == HS_ERROR_REFUSED && strstr(error->message, "heapsnap 7.8.9 (ABI ") &&
	      strstr(error->message, "attach again") && !strstr(error->message, "too old"));
	hs_error_destroy(error);
	memset(newer.tool_version, '\33', sizeof(newer.tool_version));
	error = region_check_version(&newer);
	CHECK(error && strstr(error->message, "????") && !strchr(error->message, '\33'));
	hs_error_destroy(error);
}

int main(void)
{
	test_check();
	test_own();
	test_versions();
	return CHECK_RESULT();
}
