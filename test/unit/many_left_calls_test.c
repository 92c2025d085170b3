// SPDX-License-Identifier: Apache-2.0
// Which of the calls that coroutines have left lead into the payload: of as many as a region can name, and against a
// model that looks at each guard by itself.
#include "check.h"
#include "held_process.h"

#include "attach/region/left_calls.h"
#include "attach/region/region_stable.h"
#include "attach/region/stack_look.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, SLOTS_ALL = 131072, GUARDS = HS_STABLE_LEFT_GUARDS_MAX + 1 };

#define PAYLOAD    UINT64_C(0x600000000000)
#define READ_COSTS UINT64_C(4096) // of the share, as in left_calls.c

static void *reserve(size_t size)
{
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (place == MAP_FAILED) {
		perror("no address space");
		exit(1);
	}
	return place;
}

// One freeze. Returns how many were not looked at yet.
static size_t look(struct left_calls *calls, uint64_t share)
{
	const struct address_range ranges[] = { { PAYLOAD, 0x10000 } };
	const struct slot_facts_list slots = { 0 };
	struct inside_search search;
	struct target_memory memory;
	struct proc_maps maps;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(inside_begin(&memory, &maps, &slots, NULL, ranges, 1, NULL, &search) == NULL);
	CHECK(left_calls_look(calls, &search, share) == NULL);
	inside_end(&search);
	proc_maps_deinit(&maps);
	target_memory_close(&memory);
	return calls->unseen;
}

// `slots` loses its guards.
static struct left_calls list(struct slot_facts_list *slots)
{
	struct left_calls calls = { 0 };

	CHECK(left_calls_list(&calls, slots) == NULL);
	CHECK(calls.is_listed && !slots->nobodys);
	for (size_t i = 1; i < calls.count; i++)
		if (calls.guards[i - 1] >= calls.guards[i]) {
			CHECK(!"ascending, each once");
			break;
		}
	return calls;
}

static struct slot_facts_list with_room(size_t guards)
{
	return (struct slot_facts_list){ .nobodys = calloc(guards, sizeof(uint64_t)), .nobodys_room = guards };
}

static void check_no_larger(const struct stable_header *header)
{
	for (int i = 0; i < 4; i++) {
		struct stable_header larger = *header;
		struct hs_error *error;

		larger.layout.slot_count += i == 0 ? 64 : 0;
		larger.layout.extra_slots_max += i == 1;
		larger.layout.forgotten_count += i == 2;
		larger.layout.left_guards_count += i == 3;
		error = region_stable_check(&larger, larger.size);
		CHECK(error && error->code == HS_ERROR_BAD_DATA && strstr(error->message, "out of range"));
		hs_error_destroy(error);
	}
}

enum { HEAD = 1 << 20, BLOCK = 512 * PAGE, COUNT = SLOTS_ALL / 2, FORGOTTEN = 4096, APART = 64 };

// Where in the largest region things are.
static const struct stable_layout largest_layout = {
	.hooks = PAGE,
	.hook_stride = PAGE,
	.slots = HEAD,
	.slot_stride = PAGE,
	.slot_count = COUNT,
	.used_slots = 0x10000,
	.extra_slots = 0x40000,
	.extra_slots_max = COUNT,
	.extra_slot_count = 0x2000,
	.forgotten_guards = 0x20000,
	.forgotten_count = FORGOTTEN,
	.guards_lost = 0x2004,
	.key = 0,
	.guard = 8,
	.in_original = 16,
	.left_count = 20,
	.stack_low = 24,
	.stack_high = 32,
	.left_guards = 40,
	.left_guards_count = HS_STABLE_LEFT_GUARDS_MAX,
};

// One block's slots, those of ended threads with as many guards as they can have, from `guard` on.
static void fill_block(uint8_t *block, uint64_t guard)
{
	for (size_t i = 0; i < BLOCK / PAGE; i++) {
		uint64_t *slot = (uint64_t *)(block + i * PAGE);

		slot[0] = HS_KEY_ENDED;
		slot[2] = UINT64_C(1) << 32; // left_count
		slot[3] = guard + BLOCK;     // its own stack: elsewhere
		slot[4] = slot[3] + 8;
		for (size_t k = 0; k < GUARDS; k++)
			slot[k ? 4 + k : 1] = guard + (i * GUARDS + k) * APART;
	}
}

// The largest region that any version may have. The pages of its slots are the same 512 ones again and again, so that
// it does not take 512 MiB.
static uint8_t *make_largest(size_t size, uint64_t guard)
{
	uint8_t *bytes = reserve(size), *block = NULL;
	int fd = memfd_create("slots", 0);

	CHECK(ftruncate(fd, BLOCK) == 0);
	for (size_t at = HEAD; at < size; at += BLOCK) {
		block = mmap(bytes + at, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		CHECK(block != MAP_FAILED);
	}
	close(fd);
	*(struct stable_header *)bytes = (struct stable_header){ .magic = HS_REGION_MAGIC,
								 .abi_version = HS_ABI_VERSION + 1,
								 .state = REGION_ATTACHED,
								 .size = size,
								 .state_size = PAGE,
								 .layout = largest_layout };
	memset(bytes + largest_layout.used_slots, 0xff, COUNT / 8);
	*(uint32_t *)(bytes + largest_layout.extra_slot_count) = COUNT;
	for (uint32_t i = 0; i < COUNT; i++)
		((uint32_t *)(bytes + largest_layout.extra_slots))[i] = HEAD / PAGE + COUNT + i;
	for (size_t i = 0; i < FORGOTTEN; i++)
		((uint64_t *)(bytes + largest_layout.forgotten_guards))[i] = guard;
	fill_block(block, guard);
	return bytes;
}

static void test_largest_region(void)
{
	const size_t size = HEAD + (size_t)SLOTS_ALL * PAGE, stacks_size = BLOCK / PAGE * GUARDS * APART + PAGE;
	uint8_t *stacks = reserve(stacks_size), *bytes = make_largest(size, (uint64_t)stacks + PAGE);
	const struct stable_header *header = (struct stable_header *)bytes;
	struct region_access access = { .address = (uint64_t)bytes, .size = size, .fd = -1, .header.stable = *header };
	struct frozen_thread thread = { 0 };
	const struct frozen_process frozen = { .process = held_process(getpid()), .threads = &thread, .count = 1 };
	struct slot_facts_list slots;
	struct left_calls calls;

	CHECK(region_stable_check(header, size) == NULL);
	check_no_larger(header);
	memcpy(stacks + PAGE - 8, &(uint64_t){ PAYLOAD }, 8);
	CHECK(target_memory_open(held_process(getpid()), &access.memory) == NULL);
	CHECK(slot_facts_read(&access, &frozen, &slots) == NULL);
	target_memory_close(&access.memory);
	CHECK_EQUAL(slots.count, 0);
	CHECK_EQUAL(slots.nobodys_count, (size_t)SLOTS_ALL * GUARDS + FORGOTTEN);
	calls = list(&slots);
	CHECK_EQUAL(calls.count, BLOCK / PAGE * GUARDS);
	CHECK_EQUAL(look(&calls, HS_LEFT_CALLS_SHARE), 0);
	CHECK_EQUAL(calls.count, HS_HOOK_FRAMES_SIZE / APART); // those that have that word below them
	memset(stacks, 0, PAGE);
	CHECK_EQUAL(look(&calls, HS_LEFT_CALLS_SHARE), 0);
	CHECK_EQUAL(calls.count, 0);
	left_calls_deinit(&calls);
	slot_facts_deinit(&slots);
	munmap(bytes, size);
	munmap(stacks, stacks_size);
}

// As many, all different, of which each has many others' words below it: each piece of memory is read once.
static void test_dense(void)
{
	const size_t count = (size_t)SLOTS_ALL * GUARDS, size = (count + 512) * 8;
	const uint64_t pieces = size / (LOOK_CHUNK - HS_HOOK_FRAMES_SIZE) + 1;
	struct slot_facts_list slots = with_room(2 * count);
	uint8_t *stacks = reserve(size);
	struct left_calls calls;

	for (size_t i = 0; i < 2 * count; i++) // neither in their order nor once; 7919 is prime to their number
		slots.nobodys[slots.nobodys_count++] = (uint64_t)stacks + PAGE + i % count * 7919 % count * 8;
	memset(stacks, 1, size);
	memcpy(stacks + size / 2 / 8 * 8, &(uint64_t){ PAYLOAD + 1 }, 8);
	calls = list(&slots);
	CHECK_EQUAL(calls.count, count);
	CHECK_EQUAL(look(&calls, size + pieces * (READ_COSTS + HS_HOOK_FRAMES_SIZE)), 0);
	CHECK_EQUAL(calls.count, HS_HOOK_FRAMES_SIZE / 8);
	left_calls_deinit(&calls);
	munmap(stacks, size);
}

// Far apart they are more than one freeze may look at: the next one goes on, and none is looked at twice in a round.
static void test_goes_on(void)
{
	enum { CALLS = 1000, DISTANCE = 4 * PAGE, AT_ONCE = 64, EACH = 100 };
	const uint64_t share = AT_ONCE * (HS_HOOK_FRAMES_SIZE + READ_COSTS);
	struct slot_facts_list slots = with_room(CALLS);
	uint8_t *stacks = reserve((size_t)CALLS * DISTANCE);
	struct left_calls calls;
	size_t freezes = 0, unseen;

	for (size_t i = 0; i < CALLS; i++) {
		slots.nobodys[slots.nobodys_count++] = (uint64_t)stacks + (CALLS - i) * (size_t)DISTANCE - 8;
		if (i % EACH == 0)
			memcpy(stacks + (i + 1) * (size_t)DISTANCE - 64, &(uint64_t){ PAYLOAD }, 8);
	}
	calls = list(&slots);
	do {
		unseen = look(&calls, share);
		freezes++;
		CHECK(calls.count >= unseen && calls.count - unseen <= CALLS / EACH);
	} while (unseen && freezes < 2 * CALLS);
	CHECK_EQUAL(freezes, (CALLS + AT_ONCE - 1) / AT_ONCE);
	CHECK_EQUAL(calls.count, CALLS / EACH);
	for (size_t i = 0; i < calls.count; i++)
		CHECK_EQUAL(calls.guards[i], (uint64_t)stacks + (i * EACH + 1) * DISTANCE - 8);
	// another round, of these alone; one is over
	memset(stacks + DISTANCE - 64, 0, 8);
	CHECK_EQUAL(look(&calls, share), 0);
	CHECK_EQUAL(calls.count, CALLS / EACH - 1);
	CHECK_EQUAL(look(&calls, share), 0);
	CHECK_EQUAL(calls.count, CALLS / EACH - 1);
	left_calls_deinit(&calls);
	munmap(stacks, (size_t)CALLS * DISTANCE);
}

enum page_kind { WRITTEN, NEVER_WRITTEN, NO_ACCESS, NOT_KNOWN, KINDS };

// Whether a word of the 1024 bytes below the guard leads into the payload, or may.
static bool leads(const uint8_t *stacks, const enum page_kind *kinds, size_t guard)
{
	for (size_t at = guard - HS_HOOK_FRAMES_SIZE; at < guard; at += 8) {
		uint64_t word;

		if (kinds[at / PAGE] == NOT_KNOWN)
			return true;
		if (kinds[at / PAGE] != WRITTEN)
			continue;
		memcpy(&word, stacks + at, sizeof(word));
		if (word >= PAYLOAD && word < PAYLOAD + 0x10000)
			return true;
	}
	return false;
}

// Against the model: guards at random, in memory of every kind.
static void test_model(void)
{
	enum { PAGES = 64, ROUNDS = 40, CALLS = 300 };
	int fd = memfd_create("not there", 0);

	CHECK(ftruncate(fd, PAGES * PAGE) == 0); // nobody writes there
	srandom(1);
	for (int round = 0; round < ROUNDS; round++) {
		struct slot_facts_list slots = with_room(CALLS);
		uint8_t *stacks = reserve(PAGES * PAGE);
		enum page_kind kinds[PAGES];
		struct left_calls calls;
		size_t guards, found = 0;
		uint64_t *all;

		for (size_t i = 0; i < PAGES; i++) {
			uint8_t *page = stacks + i * PAGE;

			kinds[i] = random() % 3 ? WRITTEN : (enum page_kind)(random() % KINDS);
			if (kinds[i] == WRITTEN) {
				memset(page, 1, PAGE);
				if (random() % 2)
					memcpy(page + random() % (PAGE / 8) * 8, &(uint64_t){ PAYLOAD + 8 }, 8);
			}
			if (kinds[i] == NO_ACCESS)
				CHECK(mprotect(page, PAGE, PROT_NONE) == 0);
			if (kinds[i] == NOT_KNOWN)
				CHECK(mmap(page, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)(i * PAGE)) ==
				      page);
		}
		for (size_t i = 0; i < CALLS; i++)
			slots.nobodys[slots.nobodys_count++] =
				(uint64_t)stacks + 1024 + (size_t)random() % ((PAGES * PAGE - 1024) / 8) * 8;
		slots.nobodys[CALLS / 2] |= 4; // no place
		calls = list(&slots);
		guards = calls.count;
		all = calloc(guards, sizeof(*all));
		memcpy(all, calls.guards, guards * sizeof(*all));
		CHECK_EQUAL(look(&calls, HS_LEFT_CALLS_SHARE), 0);
		for (size_t i = 0; i < guards; i++) {
			const bool kept = found < calls.count && calls.guards[found] == all[i];

			CHECK_EQUAL(kept, leads(stacks, kinds, all[i] - (uint64_t)stacks));
			found += kept;
		}
		CHECK_EQUAL(found, calls.count);
		CHECK(found > 0 && found < guards);
		free(all);
		left_calls_deinit(&calls);
		munmap(stacks, PAGES * PAGE);
	}
	close(fd);
}

int main(void)
{
	test_model();
	test_goes_on();
	test_dense();
	test_largest_region();
	return CHECK_RESULT();
}
