// SPDX-License-Identifier: Apache-2.0
// Layouts of arguments, the table of names, and what users add.
#include "attach/hook/allocator_table.h"
#include "attach/hook/hook_addition.h"
#include "attach/hook/hook_layout.h"
#include "check.h"

#include <string.h>

static struct hook_signature parse(const char *text, bool general)
{
	struct hook_signature signature = { .kind = HOOK_KIND_COUNT };
	struct hs_error *error = hook_signature_parse(text, general, &signature);

	if (error)
		fprintf(stderr, "%s: %s\n", text, error->message);
	CHECK(error == NULL);
	hs_error_destroy(error);
	return signature;
}

static void check(const char *text, enum hook_kind kind, struct hook_layout layout)
{
	struct hook_signature signature = parse(text, true);

	CHECK_EQUAL(signature.kind, kind);
	CHECK(memcmp(&signature.layout, &layout, sizeof(layout)) == 0);
}

static void check_wrong(const char *text, const char *words)
{
	struct hook_signature signature;
	struct hs_error *error = hook_signature_parse(text, false, &signature);

	CHECK(error != NULL);
	if (!error) {
		fprintf(stderr, "accepted: %s\n", text);
		return;
	}
	CHECK_EQUAL(error->code, HS_ERROR_BAD_DATA);
	if (!strstr(error->message, words))
		fprintf(stderr, "%s: %s\n", text, error->message);
	CHECK(strstr(error->message, words) != NULL);
	hs_error_destroy(error);
}

static void test_layouts(void)
{
	check("alloc(size)", HOOK_allocate, (struct hook_layout){ .size = 1 });
	check(" alloc ( _ , count , size ) ", HOOK_allocate, (struct hook_layout){ .count = 2, .size = 3 });
	check("alloc(_,_,_,_,_,size)", HOOK_allocate, (struct hook_layout){ .size = 6 });
	check("alloc(*block,_,size)", HOOK_allocate, (struct hook_layout){ .where = 1, .size = 3 });
	check("string(_,_)", HOOK_allocate, (struct hook_layout){ .flags = HS_LAYOUT_STRING });
	check("realloc(_,block,size)", HOOK_reallocate, (struct hook_layout){ .block = 2, .size = 3 });
	check("realloc(*block,count,size)", HOOK_reallocate, (struct hook_layout){ .where = 1, .count = 2, .size = 3 });
	check("reallocf(block,size)", HOOK_reallocate,
	      (struct hook_layout){ .block = 1, .size = 2, .flags = HS_LAYOUT_FREES });
	check("resize(block,size,extra,_)", HOOK_resize, (struct hook_layout){ .block = 1, .size = 2, .extra = 3 });
	check("free(_,block)", HOOK_release, (struct hook_layout){ .block = 2 });
	check("free(block,count,size)", HOOK_release, (struct hook_layout){ .block = 1, .count = 2, .size = 3 });
	check("new(size,_)", HOOK_allocate, (struct hook_layout){ .size = 1, .flags = HS_LAYOUT_COMPANION });
	check("renew(block,size)", HOOK_reallocate,
	      (struct hook_layout){ .block = 1, .size = 2, .flags = HS_LAYOUT_COMPANION });
}

static void test_wrong(void)
{
	check_wrong("", "no verb");
	check_wrong("malloc(size)", "no verb");
	check_wrong("alloc", "missing (");
	check_wrong("alloc(", "an argument other than");
	check_wrong("alloc()", "an argument other than");
	check_wrong("alloc(size", "missing )");
	check_wrong("alloc(size _)", "missing )");
	check_wrong("alloc(size,)", "an argument other than");
	check_wrong("alloc(size))", "behind the )");
	check_wrong("alloc(size)x", "behind the )");
	check_wrong("alloc(sizes)", "an argument other than");
	check_wrong("alloc(size,size)", "twice");
	check_wrong("alloc(_)", "no argument size");
	check_wrong("alloc(block,size)", "does not have");
	check_wrong("alloc(_,_,_,_,_,_,size)", "more than six");
	check_wrong("realloc(size)", "not one of block and *block");
	check_wrong("realloc(block,*block,size)", "not one of block and *block");
	check_wrong("realloc(block)", "no argument size");
	check_wrong("free(size)", "no argument block");
	check_wrong("free(block,count)", "a count without a size");
	check_wrong("free(*block)", "does not have");
	check_wrong("resize(block,extra)", "no argument size");
	check_wrong("string(size)", "does not have");
}

static void test_quick(void)
{
	static const struct {
		const char *text;
		enum hook_kind kind;
	} cases[] = {
		{ "alloc(size)", HOOK_malloc },
		{ "alloc(count,size)", HOOK_calloc },
		{ "alloc(_,size)", HOOK_memalign },
		{ "alloc(*block,_,size)", HOOK_posix_memalign },
		{ "realloc(block,size)", HOOK_realloc },
		{ "realloc(block,count,size)", HOOK_reallocarray },
		{ "free(block)", HOOK_free },
		{ "new(size)", HOOK_new },
		{ "new(size,_)", HOOK_new },
		// One argument more than the quick kind would hand on.
		{ "alloc(size,_)", HOOK_allocate },
		{ "alloc(_,size,_)", HOOK_allocate },
		{ "realloc(block,size,_)", HOOK_reallocate },
		{ "free(block,_)", HOOK_release },
		{ "new(size,_,_)", HOOK_allocate },
		{ "reallocf(block,size)", HOOK_reallocate },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQUAL(parse(cases[i].text, false).kind, cases[i].kind);
		CHECK(parse(cases[i].text, true).kind >= HOOK_allocate);
	}
}

static bool in_table(const char *prefix, const char *name)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s", prefix, name);
	for (size_t i = 0; i < allocator_name_count; i++)
		if (strcmp(allocator_names[i].name, whole) == 0)
			return true;
	fprintf(stderr, "not in the table: %s\n", whole);
	return false;
}

static void test_table(void)
{
	for (size_t i = 0; i < allocator_name_count; i++) {
		const struct allocator_name *row = &allocator_names[i];
		char companion[64] = "";
		size_t length;

		for (size_t j = 0; j < i; j++) {
			if (strcmp(row->name, allocator_names[j].name) == 0)
				fprintf(stderr, "twice: %s\n", row->name);
			CHECK(strcmp(row->name, allocator_names[j].name) != 0);
		}
		CHECK((row->layout == NULL) == (row->belief == BELIEF_MARK));
		CHECK((row->needs[0] != NULL) == (row->belief == BELIEF_FAMILY));
		for (size_t j = 0; row->needs[j]; j++)
			CHECK(in_table(row->prefix, row->needs[j]));
		if (!row->layout)
			continue;
		parse(row->layout, false);
		CHECK((strncmp(row->layout, "new(", 4) == 0 || strncmp(row->layout, "renew(", 6) == 0) ==
		      (row->companion != NULL || strcmp(row->prefix, "moz_x") == 0));
		if (!row->companion)
			continue;
		strncpy(companion, row->companion, sizeof(companion) - 1);
		length = strlen(companion);
		if (length > 2 && strcmp(companion + length - 2, "<>") == 0)
			companion[length - 2] = '\0';
		CHECK(in_table(row->prefix, companion));
	}
}

static void test_kinds(void)
{
	CHECK(hook_kind_only_releases(HOOK_free) && hook_kind_only_releases(HOOK_release));
	CHECK(!hook_kind_only_releases(HOOK_realloc) && !hook_kind_only_releases(HOOK_reallocate));
	CHECK(hook_kind_releases(HOOK_free) && hook_kind_releases(HOOK_realloc) && hook_kind_releases(HOOK_reallocate));
	CHECK(!hook_kind_releases(HOOK_malloc) && !hook_kind_releases(HOOK_resize) && !hook_kind_releases(HOOK_new));
}

static void check_bad_addition(const char *text, const char *words)
{
	struct hook_addition addition;
	struct hs_error *error = hook_addition_parse(text, &addition);

	CHECK(error != NULL && strstr(error->message, words));
	if (!error || !strstr(error->message, words))
		fprintf(stderr, "%s: %s\n", text, error ? error->message : "accepted");
	hs_error_destroy(error);
}

static void test_additions(void)
{
	struct hook_addition addition;
	char name[200];

	CHECK(hook_addition_parse("pool_alloc=alloc(_,size)", &addition) == NULL);
	CHECK_STRING(addition.name, "pool_alloc");
	CHECK_EQUAL(addition.signature.kind, HOOK_allocate);
	CHECK_EQUAL(addition.signature.layout.size, 2);
	CHECK(hook_addition_parse("xmalloc=malloc", &addition) == NULL);
	CHECK_EQUAL(addition.signature.kind, HOOK_allocate);
	CHECK(hook_addition_parse("drop=sdallocx", &addition) == NULL);
	CHECK_EQUAL(addition.signature.layout.size, 2);
	CHECK(hook_addition_parse("_ZN4Pool4freeEPv=free(_,block)", &addition) == NULL);
	// what it may do is asked of its code
	CHECK(hook_addition_parse("_ZN4Pool5allocEm=alloc(_,size)", &addition) == NULL);
	CHECK(!addition.nothrow);
	CHECK(hook_addition_parse("pool_alloc=alloc(_,size) nothrow", &addition) == NULL);
	CHECK_EQUAL(addition.signature.layout.size, 2);
	CHECK(addition.nothrow);
	CHECK(hook_addition_parse("xmalloc=malloc  nothrow ", &addition) == NULL);
	CHECK(addition.nothrow);
	CHECK(hook_addition_parse("nothrow=malloc", &addition) == NULL);
	CHECK_STRING(addition.name, "nothrow");
	CHECK(!addition.nothrow);
	check_bad_addition("pool_alloc", "NAME=KIND");
	check_bad_addition("=malloc", "NAME=KIND");
	check_bad_addition("x=", "neither");
	check_bad_addition("x=xmalloc", "neither");
	check_bad_addition("x=__asan_init", "neither");
	check_bad_addition("x=alloc(", "an argument other than");
	check_bad_addition("x=new(size)", "may throw");
	check_bad_addition("x=_Znwm", "may throw");
	check_bad_addition("x=nothrow", "neither");
	check_bad_addition("x=alloc(size)nothrow", "behind the )");
	check_bad_addition("x=alloc(size) noexcept", "behind the )");
	check_bad_addition("x=alloc(size) nothrow nothrow", "behind the )");
	check_bad_addition("x=new(size) nothrow", "may throw");
	memset(name, 'x', sizeof(name));
	strcpy(name + 150, "=malloc");
	check_bad_addition(name, "NAME=KIND");
}

int main(void)
{
	test_layouts();
	test_wrong();
	test_quick();
	test_table();
	test_kinds();
	test_additions();
	return CHECK_RESULT();
}
