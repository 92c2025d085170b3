// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/symbols/debug_package.h"
#include "snapshot/symbols/unnamed_code.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *text;
} lists[] = {
	{ "libruby3.1:amd64.list", "/.\n/usr\n/usr/lib/libruby-3.1.so.3.1.2\n/usr/lib/libruby-3.1.so.3.1\n" },
	{ "libc6:amd64.list", "/lib/x/libc.so.6\n" },
	{ "libc6-x.list", "/lib/other.so" }, // the last line is not ended
	{ "tools.list", "/usr/lib/libruby-3.1.so.3.1.2.more\n/opt/usr/bin/tool\n/usr/bin/tool\n" },
	{ "empty.list", "" },
	{ "wrong.md5sums", "/usr/bin/wrong\n" },
	{ "Bad Name;.list", "/usr/bin/bad\n" },
};

static const struct {
	const char *path, *package; // NULL = none
} cases[] = {
	{ "/usr/lib/libruby-3.1.so.3.1", "libruby3.1-dbgsym" },
	{ "/lib/libruby-3.1.so.3.1.2", "libruby3.1-dbgsym" },
	{ "/usr/lib/x/libc.so.6", "libc6-dbg" },
	{ "/lib/x/libc.so.6", "libc6-dbg" },
	{ "/usr/lib/other.so", "libc6-x-dbgsym" },
	{ "/usr/bin/tool", "tools-dbgsym" },
	{ "/usr/bin/too", NULL },
	{ "/opt/bin/tool", NULL },
	{ "tool", NULL },
	{ "", NULL },
	{ "/usr/bin/wrong", NULL },
	{ "/usr/bin/bad", NULL },
	{ "/usr/bin/tool\n", NULL },
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char folder[] = "/tmp/unnamed_code_test.XXXXXX";

static void path_of(char *path, size_t room, const char *name) { snprintf(path, room, "%s/%s", folder, name); }

static void make_lists(void)
{
	char path[256];

	CHECK(mkdtemp(folder) != NULL);
	for (size_t i = 0; i < COUNT(lists); i++) {
		path_of(path, sizeof(path), lists[i].name);

		FILE *file = fopen(path, "w");

		CHECK(file && fputs(lists[i].text, file) >= 0 && fclose(file) == 0);
	}
	path_of(path, sizeof(path), "fifo.list"); // nobody is waited for
	CHECK(mkfifo(path, 0600) == 0);
	path_of(path, sizeof(path), "link.list");
	CHECK(symlink("/etc/passwd", path) == 0);
}

static void remove_lists(void)
{
	char path[256];

	for (size_t i = 0; i < COUNT(lists); i++) {
		path_of(path, sizeof(path), lists[i].name);
		CHECK(unlink(path) == 0);
	}
	path_of(path, sizeof(path), "fifo.list");
	unlink(path);
	path_of(path, sizeof(path), "link.list");
	unlink(path);
	CHECK(rmdir(folder) == 0);
}

static void test_packages(void)
{
	const char *paths[COUNT(cases)];
	char *names[COUNT(cases)];

	for (size_t i = 0; i < COUNT(cases); i++)
		paths[i] = cases[i].path;
	CHECK(!debug_packages_find(folder, paths, COUNT(cases), names));
	for (size_t i = 0; i < COUNT(cases); i++) {
		CHECK_STRING(names[i] ? names[i] : "(none)", cases[i].package ? cases[i].package : "(none)");
		free(names[i]);
	}
	CHECK(!debug_packages_find("/not/there", paths, COUNT(cases), names));
	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK(!names[i]);
}

static const struct {
	struct unnamed_file files[5];
	const char *lists, *text;
} texts[] = {
	{ { { NULL, 0 } }, NULL, NULL },
	{ { { "/a/none.so", 0 } }, NULL, NULL },
	{ { { "/a/x.so", 1 } }, folder, "code without symbols: 1 place in x.so" },
	{ { { "/a/x.so", 2 }, { "/usr/lib/libruby-3.1.so.3.1", 12 } },
	  folder,
	  "code without symbols: 12 places in libruby-3.1.so.3.1 (package libruby3.1-dbgsym), 2 in x.so" },
	{ { { "/usr/lib/libruby-3.1.so.3.1", 12 } }, NULL, "code without symbols: 12 places in libruby-3.1.so.3.1" },
	{ { { "b", 3 }, { "a", 9 }, { "e", 1 }, { "c", 3 }, { "d", 2 } },
	  NULL,
	  "code without symbols: 9 places in a, 3 in b, 3 in c, and in 2 more files" },
	{ { { "b", 1 }, { "a", 1 }, { "e", 1 }, { "c", 5 } },
	  NULL,
	  "code without symbols: 5 places in c, 1 in b, 1 in a, and in 1 more file" },
};

static void test_texts(void)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct unnamed_code unnamed = { .file_count = 0 };
		char *text;

		for (size_t j = 0; j < COUNT(texts[i].files) && texts[i].files[j].path; j++)
			unnamed_code_add(&unnamed, texts[i].files[j].path, texts[i].files[j].count);
		CHECK(!unnamed_code_text(&unnamed, texts[i].lists, &text));
		CHECK_STRING(text ? text : "(none)", texts[i].text ? texts[i].text : "(none)");
		free(text);
	}
}

int main(void)
{
	make_lists();
	test_packages();
	test_texts();
	remove_lists();
	return CHECK_RESULT();
}
