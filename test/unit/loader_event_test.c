// SPDX-License-Identifier: Apache-2.0
// The module history (inject/hook/loader_event.c), from lists of a made-up dynamic loader: what comes, goes, and comes
// again, as it tells debuggers.
#include <stdint.h>

// As in <link.h>, but for its name, which the loader may write to while this program runs.
struct loader_list {
	int32_t version;
	struct library *first;
	uint64_t brk;
	int32_t state;
	uint64_t base;
	struct loader_list *next; // another namespace
};

static struct loader_list list, other_list;

#define PAYLOAD_CONFIG .r_debug = (uint64_t)&list

#include "check.h"
#include "made_elf.h"
#include "payload_region.h"

#include "inject/payload.h"

void hook_loader_event(void) HS_HIDDEN;

enum { CONSISTENT = 0, ADDS = 1, DELETES = 2, PATH_MOST = 4096 };

// The beginning of the loader's struct link_map.
struct library {
	uint64_t bias;
	const char *name;
	uint64_t dynamic;
	struct library *next, *previous;
};

static struct made_region made;
static struct made_elf images[4];
static struct library libraries[4];

static struct module_record *module_at(uint32_t index)
{
	return (struct module_record *)(made.bytes + HS_OFFSET_MODULES) + index;
}

// The libraries with these numbers, in this order, up to one below 0.
static void list_libraries(struct loader_list *which, const int *numbers)
{
	struct library **end = &which->first;

	for (; *numbers >= 0; numbers++) {
		*end = &libraries[*numbers];
		end = &libraries[*numbers].next;
	}
	*end = NULL;
}

#define LIST(which, ...) list_libraries(which, (const int[]){ __VA_ARGS__, -1 })

static void tell(int32_t state)
{
	list.state = state;
	hook_loader_event();
}

// What the loader tells when a library has come, or has gone.
static void load(void)
{
	tell(ADDS);
	tell(CONSISTENT);
}

static void unload(void)
{
	tell(DELETES);
	tell(CONSISTENT);
}

// A library of `number` at its place, with the build id of `build_id`.
static void make_library(unsigned number, uint8_t build_id)
{
	static char names[4][20];

	made_elf_write(&images[number], build_id);
	snprintf(names[number], sizeof(names[number]), "/lib/made-%u.so", number);
	libraries[number] = (struct library){ .bias = images[number].bias,
					      .name = names[number],
					      .dynamic = images[number].bias + DYNAMIC_AT };
}

// The program has library 0 when the tool attaches.
static void begin(void)
{
	struct module_record *module;

	payload_region_init(&made, 4);
	list = other_list = (struct loader_list){ .version = 1 };
	for (unsigned i = 0; i < 4; i++)
		make_library(i, (uint8_t)(i + 1));
	module = made_module(&made, "/lib/made-0.so");
	module->load_bias = images[0].bias;
	module->start = images[0].bias;
	module->end = images[0].bias + ELF_PAGES * ELF_PAGE;
	module->link_map = (uint64_t)&libraries[0];
	module->flags = MODULE_IN_LINK_MAP;
	made.header->module_generation = 1;
	LIST(&list, 0);
}

static void end(void) { payload_region_deinit(&made); }

static bool is_there(uint32_t index) { return module_at(index)->ready && !module_at(index)->unloaded; }

#define CHECK_HISTORY(count, generation)                                                                               \
	do {                                                                                                           \
		CHECK_EQUAL(made.header->module_count, count);                                                         \
		CHECK_EQUAL(made.header->module_generation, generation);                                               \
		CHECK_EQUAL(made.header->loader_busy, 0);                                                              \
		CHECK_EQUAL(made.header->modules_lost, 0);                                                             \
	} while (0)

static void check_path(const struct module_record *module, const char *path)
{
	CHECK_EQUAL(module->path_size, strlen(path));
	CHECK(memcmp(made.bytes + HS_OFFSET_STRINGS + module->path, path, strlen(path)) == 0);
}

static void test_nothing_new(void)
{
	begin();
	load();
	unload();
	CHECK_HISTORY(1, 1);
	CHECK(is_there(0));
	CHECK_EQUAL(made.header->loader_scans, 2); // not while the list changes
	end();
}

static void test_comes(void)
{
	const struct module_record *module;

	begin();
	LIST(&list, 0, 1, 2);
	tell(ADDS);
	CHECK_HISTORY(1, 1);
	tell(CONSISTENT);
	CHECK_HISTORY(3, 3);
	module = module_at(1);
	CHECK(is_there(1) && is_there(2));
	CHECK_EQUAL(module->load_bias, images[1].bias);
	CHECK_EQUAL(module->eh_frame_hdr, images[1].bias + FRAMES_AT);
	CHECK_EQUAL(module->link_map, (uint64_t)&libraries[1]);
	CHECK_EQUAL(module->flags, MODULE_IN_LINK_MAP | MODULE_AFTER_ATTACH | MODULE_CAN_UNLOAD);
	CHECK(module->readable_low == module->text_low && module->readable_high == module->text_high);
	CHECK_EQUAL(module->build_id[0], 2);
	CHECK(module->loaded == 2 && module_at(2)->loaded == 3);
	check_path(module, "/lib/made-1.so");
	check_path(module_at(2), "/lib/made-2.so");
	load();
	CHECK_HISTORY(3, 3);
	end();
}

// What was mapped when the tool attached, and no more: the loader lists it later.
static void test_listed_later(void)
{
	struct module_record *module;

	begin();
	module = made_module(&made, "/lib/made-3.so");
	module->start = images[3].bias;
	module->end = libraries[3].dynamic + 1;
	load();
	unload();
	CHECK_HISTORY(2, 1);
	CHECK(is_there(1)); // not listed, so that it is not there says nothing
	LIST(&list, 0, 3);
	load();
	CHECK_HISTORY(2, 1);
	CHECK_EQUAL(module->link_map, (uint64_t)&libraries[3]);
	CHECK(module->flags & MODULE_IN_LINK_MAP);
	LIST(&list, 0);
	unload();
	CHECK_HISTORY(2, 2);
	CHECK(!is_there(1));
	end();

	begin(); // one whose dynamic section lies right behind it is another one
	module = made_module(&made, "/lib/other.so");
	module->start = images[3].bias;
	module->end = libraries[3].dynamic;
	LIST(&list, 0, 3);
	load();
	CHECK_HISTORY(3, 2);
	CHECK(!module->link_map && is_there(1) && is_there(2));
	end();
}

// Each change makes the rules void that threads have kept: also that a library goes.
static void test_goes(void)
{
	begin();
	LIST(&list, 0, 1, 2);
	load();
	tell(DELETES);
	CHECK_EQUAL(made.header->loader_busy, 1);
	CHECK(is_there(1) && is_there(2));
	LIST(&list, 0, 2);
	tell(CONSISTENT);
	CHECK_HISTORY(3, 4);
	CHECK(is_there(0) && !is_there(1) && is_there(2));
	CHECK_EQUAL(module_at(1)->unloaded, 4);
	LIST(&list, 0);
	unload();
	CHECK_HISTORY(3, 5);
	CHECK(module_at(1)->unloaded == 4 && module_at(2)->unloaded == 5);
	// The loader's record of another library may be where that one's was.
	make_library(1, 9);
	libraries[1].bias = images[3].bias;
	libraries[1].dynamic = images[3].bias + DYNAMIC_AT;
	LIST(&list, 0, 1);
	load();
	CHECK_HISTORY(4, 6);
	CHECK(!is_there(1) && is_there(3));
	CHECK_EQUAL(module_at(3)->load_bias, images[3].bias);
	end();
}

// A reader that never ends, because a signal handler has jumped out of it, is not waited for without end.
static void test_reader_stays(void)
{
	begin();
	made.header->decoders = 1;
	unload();
	CHECK_HISTORY(1, 1);
	CHECK_EQUAL(made.header->decoders, 1);
	end();
}

// The same library at the same place has its old record again; another one there, or one that cannot be told from
// another, has its own.
static void test_comes_again(void)
{
	enum { SAME, OTHER_BUILD_ID, NO_BUILD_ID, OTHER_SIZE, OTHER_FRAMES, OTHER_CODE, SHORT_BUILD_ID, HOW_MANY };

	for (unsigned how = 0; how < HOW_MANY; how++) {
		struct library again;

		begin();
		if (how == NO_BUILD_ID)
			images[1].segments[SEGMENT_NOTE].p_type = PT_NULL;
		LIST(&list, 0, 1);
		load();
		LIST(&list, 0);
		unload();
		CHECK_HISTORY(2, 3);
		if (how == OTHER_BUILD_ID)
			made_elf_write(&images[1], 77);
		if (how == OTHER_SIZE)
			images[1].segments[SEGMENT_VARIABLES].p_memsz -= ELF_PAGE;
		if (how == OTHER_FRAMES)
			images[1].segments[SEGMENT_FRAMES].p_vaddr += 8;
		if (how == OTHER_CODE)
			images[1].segments[SEGMENT_CODE].p_vaddr += ELF_PAGE;
		if (how == SHORT_BUILD_ID)
			// 20 bytes before, the first 16 of which are the same
			((Elf64_Nhdr *)(images[1].bytes + NOTE_AT))->n_descsz = 16;
		again = libraries[1]; // the loader's own record is another one
		again.next = NULL;
		libraries[0].next = &again;
		load();
		CHECK_HISTORY(how == SAME ? 2 : 3, 4);
		CHECK(how == SAME ? is_there(1) : !is_there(1) && is_there(2));
		CHECK_EQUAL(module_at(how == SAME ? 1 : 2)->link_map, (uint64_t)&again);
		LIST(&list, 0);
		unload();
		CHECK_HISTORY(how == SAME ? 2 : 3, 5);
		CHECK(!is_there(1) && (how == SAME || !is_there(2)));
		end();
	}
}

// A program that loads and unloads the same library for ever.
static void test_comes_and_goes(void)
{
	begin();
	for (unsigned i = 0; i < 2 * HS_MODULES_MAX; i++) {
		LIST(&list, 0, 1);
		load();
		CHECK(is_there(1));
		LIST(&list, 0);
		unload();
		CHECK(!is_there(1));
	}
	CHECK_HISTORY(2, 1 + 4 * HS_MODULES_MAX);
	end();
}

// Libraries of dlmopen are in lists of their own, since version 2 of the loader's structure.
static void test_namespaces(void)
{
	begin();
	list.next = &other_list;
	LIST(&other_list, 1);
	load();
	CHECK_HISTORY(1, 1);
	list.version = other_list.version = 2;
	load();
	CHECK_HISTORY(2, 2);
	// While the other list changes nothing is known of either.
	other_list.first = NULL;
	other_list.state = ADDS;
	LIST(&list, 0, 2);
	tell(CONSISTENT);
	CHECK_HISTORY(2, 2);
	CHECK(is_there(1));
	other_list.state = DELETES;
	tell(CONSISTENT);
	CHECK_EQUAL(made.header->loader_busy, 1);
	other_list.state = CONSISTENT;
	tell(CONSISTENT);
	CHECK_HISTORY(3, 4);
	CHECK(!is_there(1) && is_there(2));
	end();
}

// Lists that end nowhere are not followed for ever.
static void test_circles(void)
{
	begin();
	LIST(&list, 0, 1, 2);
	libraries[2].next = &libraries[1];
	load();
	CHECK_HISTORY(3, 3);
	list.version = 2;
	list.next = &list;
	load();
	CHECK_HISTORY(3, 3);
	CHECK(is_there(0) && is_there(1) && is_there(2));
	end();
}

// What cannot be described is counted, and leaves nothing in the record of the next one.
static void test_not_described(void)
{
	begin();
	images[1].segments[SEGMENT_DATA].p_type = images[1].segments[SEGMENT_CODE].p_type =
		images[1].segments[SEGMENT_VARIABLES].p_type = PT_NULL;
	images[2].segments[SEGMENT_NOTE].p_type = images[2].segments[SEGMENT_FRAMES].p_type = PT_NULL;
	LIST(&list, 0, 1, 2);
	load();
	CHECK_EQUAL(made.header->modules_lost, 1);
	CHECK_EQUAL(made.header->module_count, 2);
	CHECK_EQUAL(module_at(1)->load_bias, images[2].bias);
	CHECK(module_at(1)->build_id_size == 0 && module_at(1)->eh_frame_hdr == 0);
	check_path(module_at(1), "/lib/made-2.so");
	load();
	unload();
	CHECK_EQUAL(made.header->modules_lost, 1); // it is the same one
	images[3].segments[SEGMENT_DATA].p_type = images[3].segments[SEGMENT_CODE].p_type =
		images[3].segments[SEGMENT_VARIABLES].p_type = PT_NULL;
	LIST(&list, 0, 1, 2, 3);
	load();
	CHECK_EQUAL(made.header->modules_lost, 2);
	LIST(&list, 0, 2);
	unload();
	CHECK_EQUAL(made.header->modules_lost, 2);
	end();
}

static void test_no_room(void)
{
	static char long_name[PATH_MOST + 100];

	begin();
	while (made.header->module_count < HS_MODULES_MAX - 1)
		module_at(made.header->module_count++)->unloaded = 1;
	LIST(&list, 0, 1, 2);
	load();
	CHECK_EQUAL(made.header->modules_lost, 1);
	CHECK_EQUAL(made.header->module_count, HS_MODULES_MAX);
	CHECK(is_there(HS_MODULES_MAX - 1));
	end();

	begin(); // names: the longest that the loader takes, the rest of the room, none
	memset(long_name, 'n', sizeof(long_name) - 1);
	libraries[1].name = long_name;
	libraries[2].name = NULL;
	LIST(&list, 0, 1, 2);
	load();
	CHECK_EQUAL(module_at(1)->path_size, PATH_MOST);
	CHECK_EQUAL(module_at(2)->path_size, 0);
	made.header->string_bytes = HS_STRINGS_SIZE - 5;
	LIST(&list, 0, 1, 2, 3);
	load();
	CHECK_EQUAL(module_at(3)->path, HS_STRINGS_SIZE - 5);
	CHECK_EQUAL(module_at(3)->path_size, 5);
	CHECK_EQUAL(made.header->string_bytes, HS_STRINGS_SIZE);
	CHECK(memcmp(made.bytes + HS_OFFSET_STRINGS + module_at(3)->path, "/lib/", 5) == 0);
	end();
}

int main(void)
{
	for (unsigned i = 0; i < 4; i++)
		made_elf_init(&images[i], 1);
	test_nothing_new();
	test_comes();
	test_listed_later();
	test_goes();
	test_reader_stays();
	test_comes_again();
	test_comes_and_goes();
	test_namespaces();
	test_circles();
	test_not_described();
	test_no_room();
	return CHECK_RESULT();
}
