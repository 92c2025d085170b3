// SPDX-License-Identifier: Apache-2.0
// What is said of blocks by the hooks that have seen them made.
#include "check.h"
#include "made_region.h"
#include "snapshot/profile/hook_labels.h"
#include "snapshot/profile/label_texts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const paths[] = { "/usr/lib/libc.so.6", "program", "/opt/a\nb.so", "/odd/" };
static const struct {
	const char *name;
	uint16_t module;
	uint32_t kind, allocator; // of a block: the first hook that says the same, + 1
	const char *kind_text, *allocator_text;
} hooks[] = {
	{ "malloc", 0, 1, 1, "malloc", "libc.so.6" },
	{ "free", 0, 2, 1, "free", "libc.so.6" },
	{ "malloc", 1, 1, 3, "malloc", "program" },
	{ "_Znwm", 1, 4, 3, "operator new", "program" },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", 1, 4, 3, "operator new", "program" },
	{ "_Znam", 2, 6, 6, "operator new[]", "a\\x0ab.so" },
	{ "a\033[1mname", 2, 7, 6, "a\\x1b[1mname", "a\\x0ab.so" },
	{ "pool_get", 3, 8, 8, "pool_get", "" },                  // a path without a name
	{ "pool_get", HS_MODULES_MAX - 1, 8, 9, "pool_get", "" }, // there is no such module
};
enum { HOOKS = COUNT(hooks) };

static void make(struct made_region *region)
{
	struct module_record *modules;
	struct hook_record *records;
	char *strings;

	made_region_init(region, 10);
	modules = (struct module_record *)(region->bytes + HS_OFFSET_MODULES);
	records = (struct hook_record *)(region->bytes + HS_OFFSET_HOOKS);
	strings = (char *)region->bytes + HS_OFFSET_STRINGS;
	for (size_t i = 0; i < COUNT(paths); i++) {
		modules[i].ready = 1;
		modules[i].path = region->header->string_bytes;
		modules[i].path_size = (uint32_t)strlen(paths[i]);
		memcpy(strings + modules[i].path, paths[i], strlen(paths[i]));
		region->header->string_bytes += modules[i].path_size;
	}
	region->header->module_count = COUNT(paths);
	for (size_t i = 0; i < HOOKS; i++) {
		records[i].module = hooks[i].module;
		strcpy(records[i].name, hooks[i].name);
	}
	region->header->stable.hook_count = HOOKS;
}

static const char *text_of(const struct heap_profile *profile, uint32_t label)
{
	return label && label <= profile->label_text_count ? profile->label_texts[label - 1] : "";
}

static void test_numbers(const struct table_view *view)
{
	struct hook_labels labels;

	CHECK(!hook_labels_find(view, &labels));
	for (size_t i = 0; i < HOOKS; i++) {
		const struct block_record record = { .hook = (uint16_t)(i + 1) };

		CHECK_EQUAL(hook_label(labels.kind, &record), hooks[i].kind);
		CHECK_EQUAL(hook_label(labels.allocator, &record), hooks[i].allocator);
	}
	for (size_t i = 0; i < 4; i++) {
		const struct block_record record = { .hook = (const uint16_t[]){ 0, HOOKS + 1, HS_HOOKS_MAX + 1,
										 UINT16_MAX }[i] };

		CHECK_EQUAL(hook_label(labels.kind, &record), 0); // not known, or nonsense
	}
}

// What an earlier heapsnap has attached does not say it, and is not taken for a process of unknown functions.
static void test_earlier(const struct table_view *view)
{
	struct region_layout layout = region_layout_own;
	struct table_view earlier = *view;
	struct hook_labels labels;
	struct hs_error *error;

	layout.abi_version = 13;
	earlier.layout = &layout;
	error = hook_labels_find(&earlier, &labels);
	CHECK(error && error->code == HS_ERROR_NOT_FOUND && strstr(error->message, "(ABI 13)"));
	hs_error_destroy(error);
}

static void test_texts(const struct table_view *view)
{
	struct profile_sample samples[HOOKS + 3] = { 0 };
	struct heap_profile profile = { .samples = samples, .sample_count = COUNT(samples) };

	for (size_t i = 0; i < HOOKS; i++) {
		samples[i].labels.kind = hooks[i].kind;
		samples[i].labels.allocator = hooks[i].allocator;
	}
	samples[HOOKS].labels.kind = HOOKS + 1; // there is no such hook
	samples[HOOKS + 1].labels.allocator = UINT32_MAX;
	samples[HOOKS + 2].labels.allocator = 1; // alone
	CHECK(!label_texts_hooks(view, &profile));
	for (size_t i = 0; i < HOOKS; i++) {
		CHECK_STRING(text_of(&profile, samples[i].labels.kind), hooks[i].kind_text);
		CHECK_STRING(text_of(&profile, samples[i].labels.allocator), hooks[i].allocator_text);
	}
	CHECK_EQUAL(samples[HOOKS].labels.kind, 0);
	CHECK_EQUAL(samples[HOOKS + 1].labels.allocator, 0);
	CHECK_EQUAL(samples[HOOKS + 2].labels.kind, 0);
	CHECK_STRING(text_of(&profile, samples[HOOKS + 2].labels.allocator), "libc.so.6");
	CHECK_EQUAL(profile.label_text_count, 6 + 3); // each once
	profile.samples = NULL;
	heap_profile_deinit(&profile);
}

// Frames of stacks that came through malloc, innermost first.
enum { MALLOC, NEW, NEW_ARRAY, OWN, NEW_OF_CLASS, UNNAMED, PLACES };
static const char *const functions[PLACES] = {
	[MALLOC] = "__libc_malloc",   [NEW] = "_Znwm", [NEW_ARRAY] = "_ZnamRKSt9nothrow_t", [OWN] = "_Znwish",
	[NEW_OF_CLASS] = "_ZN1AnwEm", [UNNAMED] = "",
};
static const struct {
	uint32_t frames[4], count;
	bool has_kind;
	const char *kind;
} stacks[] = {
	{ { OWN }, 1, true, "malloc" },
	{ { NEW, OWN }, 2, true, "operator new" },
	{ { MALLOC, NEW, OWN }, 3, true, "operator new" },
	{ { NEW, NEW_ARRAY, OWN }, 3, true, "operator new[]" },
	{ { NEW_ARRAY }, 1, true, "operator new[]" },
	{ { OWN, NEW, OWN }, 3, true, "malloc" }, // what it asked for was not this block
	{ { UNNAMED, NEW, OWN }, 3, true, "malloc" },
	{ { NEW_OF_CLASS, OWN }, 2, true, "malloc" },
	{ { 0 }, 0, true, "malloc" },
	{ { NEW, OWN }, 2, false, "" }, // not asked for, or not known
};
enum { STACKS = COUNT(stacks) };

static void test_operators(void)
{
	struct profile_function names[PLACES] = { 0 };
	struct profile_line lines[PLACES] = { 0 };
	struct profile_location locations[PLACES] = { 0 };
	struct profile_sample samples[STACKS] = { 0 };
	uint32_t frames[4 * STACKS];
	struct heap_profile profile = { .functions = names,
					.function_count = PLACES,
					.lines = lines,
					.line_count = PLACES,
					.locations = locations,
					.location_count = PLACES,
					.frames = frames,
					.frame_count = COUNT(frames),
					.samples = samples,
					.sample_count = STACKS };

	profile.label_texts = calloc(1, sizeof(*profile.label_texts));
	CHECK(profile.label_texts != NULL);
	if (!profile.label_texts)
		return;
	profile.label_texts[profile.label_text_count++] = strdup("malloc");
	for (uint32_t i = 0; i < PLACES; i++) {
		names[i].system_name = (char *)(uintptr_t)functions[i];
		lines[i].function = i;
		locations[i] = (struct profile_location){ .first_line = i,
							  .line_count = i != UNNAMED,
							  .is_allocator = i != OWN };
	}
	for (size_t i = 0; i < STACKS; i++) {
		memcpy(frames + 4 * i, stacks[i].frames, sizeof(stacks[i].frames));
		samples[i] = (struct profile_sample){ .first_frame = (uint32_t)(4 * i),
						      .frame_count = stacks[i].count,
						      .labels.kind = stacks[i].has_kind };
	}
	CHECK(!label_texts_operators(&profile));
	for (size_t i = 0; i < STACKS; i++)
		CHECK_STRING(text_of(&profile, samples[i].labels.kind), stacks[i].kind);
	CHECK_EQUAL(profile.label_text_count, 3);
	profile = (struct heap_profile){ .label_texts = profile.label_texts,
					 .label_text_count = profile.label_text_count };
	heap_profile_deinit(&profile);
}

int main(void)
{
	struct made_region region;
	struct table_view view;

	make(&region);
	view = made_view(&region);
	test_numbers(&view);
	test_earlier(&view);
	test_texts(&view);
	made_region_deinit(&region);
	test_operators();
	return CHECK_RESULT();
}
