// SPDX-License-Identifier: Apache-2.0
// C libraries and allocators of files that are there: those of this system, where it has them, and small programs built
// for this test.
#include "attach/elf/libc.h"

#include "attach/hook/allocator_family.h"
#include "check.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <unistd.h>

enum { FILES_MAX = 4 };

// What modules_read would give, from files: the first is the executable, one that is named "ld..." the loader.
struct made_list {
	struct module items[FILES_MAX];
	struct module_list list;
};

static bool make_list(const char *const *paths, struct made_list *ret)
{
	*ret = (struct made_list){ 0 };
	ret->list.items = ret->items;
	for (; *paths; paths++) {
		struct module *module = &ret->items[ret->list.count];
		int fd = open(*paths, O_RDONLY | O_CLOEXEC);
		struct hs_error *error;

		if (fd < 0)
			return false;
		error = elf_view_open_fd(fd, &module->elf);
		close(fd);
		CHECK(!error);
		hs_error_destroy(error);
		module->is_main = ret->list.count == 0;
		module->is_loader = strstr(*paths, "/ld-") != NULL || strstr(*paths, "musl/libc.so") != NULL;
		ret->list.count++;
	}
	return true;
}

static void release(struct made_list *list)
{
	for (size_t i = 0; i < list->list.count; i++)
		elf_view_deinit(&list->items[i].elf);
}

struct expected {
	const char *paths[FILES_MAX + 1]; // NULL ends them
	enum libc_kind kind;
	const char *version;
	bool is_static, is_go;
	size_t module;
	const char *family; // of the last file
	bool is_known;      // its malloc, or `function` if that is not NULL
	const char *function;
};

#define DEBIAN "/usr/lib/x86_64-linux-gnu/"
#define LOADER DEBIAN "ld-linux-x86-64.so.2"

// Longer than 60 lines: a table of cases.
static void test_files(void)
{
	const struct expected cases[] = {
		{ { CHILD_PLAIN, LOADER, DEBIAN "libc.so.6" },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "glibc",
		  true,
		  NULL },
		{ { CHILD_STATIC }, LIBC_glibc, "", true, false, 0, "glibc", true, NULL },
		{ { CHILD_STATIC_PIE }, LIBC_glibc, "", true, false, 0, "glibc", true, NULL },
		{ { CHILD_OWN, LOADER, DEBIAN "libc.so.6", CHILD_OWN },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "other",
		  false,
		  NULL },
		{ { CHILD_PREFIXED, LOADER, DEBIAN "libc.so.6", CHILD_PREFIXED },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "jemalloc",
		  false,
		  NULL },
		{ { CHILD_PREFIXED, LOADER, DEBIAN "libc.so.6", CHILD_PREFIXED },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "jemalloc",
		  true,
		  "own_malloc" },
		{ { CHILD_NONE }, LIBC_unknown, "", true, false, 0, "other", false, NULL },
		{ { CHILD_PLAIN, LOADER, DEBIAN "libc.so.6", DEBIAN "libjemalloc.so.2" },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "jemalloc",
		  true,
		  NULL },
		{ { CHILD_PLAIN, LOADER, DEBIAN "libc.so.6", DEBIAN "libtcmalloc_minimal.so.4" },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "tcmalloc",
		  true,
		  NULL },
		{ { CHILD_PLAIN, LOADER, DEBIAN "libc.so.6", DEBIAN "libmimalloc.so.2" },
		  LIBC_glibc,
		  gnu_get_libc_version(),
		  false,
		  false,
		  2,
		  "mimalloc",
		  true,
		  NULL },
		{ { CHILD_PLAIN, "/usr/lib/x86_64-linux-musl/libc.so" },
		  LIBC_musl,
		  NULL,
		  false,
		  false,
		  1,
		  "musl",
		  true,
		  NULL },
		{ { "/usr/bin/go" }, LIBC_unknown, "", true, true, 0, "other", false, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct expected *expected = &cases[i];
		struct made_list list;
		struct libc_info libc;

		if (!make_list(expected->paths, &list)) {
			CHECK_LEFT_OUT("%s is not here", expected->paths[list.list.count]);
			release(&list);
			continue;
		}
		libc_identify(&list.list, &libc);
		printf("%s: %s %s%s, %s\n", expected->paths[list.list.count - 1], libc_name(libc.kind), libc.version,
		       libc.is_static ? " static" : "", allocator_family(&list.list, list.list.count - 1, &libc));
		CHECK_EQUAL(libc.kind, expected->kind);
		CHECK_EQUAL(libc.is_static, expected->is_static);
		CHECK_EQUAL(libc.is_go, expected->is_go);
		CHECK_EQUAL(libc.module, expected->module);
		if (expected->version)
			CHECK_STRING(libc.version, expected->version);
		else
			CHECK(strncmp(libc.version, "1.", 2) == 0 && strchr(libc.version + 2, '.'));
		CHECK_STRING(allocator_family(&list.list, list.list.count - 1, &libc), expected->family);
		CHECK_EQUAL(allocator_is_known(&list.list, list.list.count - 1, &libc,
					       expected->function ? expected->function : "malloc"),
			    expected->is_known);
		release(&list);
	}
}

static void test_nothing(void)
{
	struct module_list none = { 0 };
	struct libc_info libc;

	libc_identify(&none, &libc);
	CHECK_EQUAL(libc.kind, LIBC_unknown);
	CHECK(!libc.is_go);
}

int main(void)
{
	test_files();
	test_nothing();
	return CHECK_RESULT();
}
