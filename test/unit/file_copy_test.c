// SPDX-License-Identifier: Apache-2.0
// A file that is changed or cut while it is read.
#include "attach/elf/elf_view.h"
#include "attach/elf/file_copy.h"
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 300000 };

static int make_file(void)
{
	static uint8_t bytes[SIZE];
	int fd = memfd_create("file_copy_test", MFD_CLOEXEC);

	memset(bytes, 'a', sizeof(bytes));
	CHECK(fd >= 0 && pwrite(fd, bytes, SIZE, 0) == SIZE);
	return fd;
}

static void test_ranges(void)
{
	int fd = make_file();
	struct file_copy copy;

	CHECK(!file_copy_open(fd, &copy));
	CHECK_EQUAL(copy.size, SIZE);
	CHECK(file_copy_load(&copy, 0, 0));
	CHECK(file_copy_load(&copy, SIZE, 0));
	CHECK(file_copy_load(&copy, 65535, 2));
	CHECK(copy.bytes[65535] == 'a' && copy.bytes[65536] == 'a');
	CHECK(copy.bytes[200000] == 0);
	CHECK(file_copy_load(&copy, SIZE - 1, 1));
	CHECK(copy.bytes[SIZE - 1] == 'a');
	CHECK(!file_copy_load(&copy, SIZE, 1));
	CHECK(!file_copy_load(&copy, 1, UINT64_MAX));
	CHECK(!file_copy_load(&copy, UINT64_MAX, 2));
	file_copy_close(&copy);
	close(fd);
}

static void test_changes(void)
{
	int fd = make_file();
	struct file_copy copy;

	CHECK(!file_copy_open(fd, &copy));
	CHECK(file_copy_load(&copy, 0, 10));
	CHECK(pwrite(fd, "bbbb", 4, 0) == 4);
	CHECK(copy.bytes[0] == 'a');
	CHECK(file_copy_load(&copy, 0, 10));
	CHECK(copy.bytes[0] == 'a'); // what was checked stays as it was
	CHECK(ftruncate(fd, 70000) == 0);
	CHECK(file_copy_load(&copy, 0, 10));
	CHECK(!file_copy_load(&copy, 200000, 10)); // no SIGBUS, and nothing made up
	file_copy_close(&copy);
	close(fd);
}

// A file may claim any size.
static void test_sparse(void)
{
	int fd = memfd_create("file_copy_test", MFD_CLOEXEC);
	struct file_copy copy;

	CHECK(ftruncate(fd, (off_t)8 << 30) == 0);
	CHECK(!file_copy_open(fd, &copy));
	CHECK(file_copy_load(&copy, (uint64_t)7 << 30, 4096));
	file_copy_close(&copy);
	CHECK(ftruncate(fd, (off_t)1 << 61) == 0);

	struct hs_error *error = file_copy_open(fd, &copy);

	CHECK(error != NULL);
	hs_error_destroy(error);
	close(fd);
}

static void test_elf_that_is_cut(void)
{
	int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("file_copy_test", MFD_CLOEXEC);
	struct elf_symbol symbol;
	struct elf_view view;
	char buffer[65536];
	ssize_t size;

	while ((size = read(program, buffer, sizeof(buffer))) > 0)
		CHECK(write(fd, buffer, (size_t)size) == size);
	CHECK(!elf_view_open_fd(fd, &view));
	CHECK(elf_view_find_symbol(&view, "main", &symbol));
	elf_view_deinit(&view);

	// Cut when the headers have been read: as good as no symbols, and no fault.
	CHECK(!elf_view_open_fd(fd, &view));
	CHECK(ftruncate(fd, 100) == 0);
	elf_view_find_symbol(&view, "no such symbol", &symbol);
	CHECK(!elf_view_find_symbol(&view, "no such symbol", &symbol));
	elf_view_deinit(&view);
	close(program);
	close(fd);
}

// Of what cannot be opened, only what was put is there.
static void test_put(void)
{
	enum { PAGE = 4096 };
	struct file_copy copy;

	CHECK(!file_copy_begin(5 * PAGE + 100, &copy));
	CHECK(!file_copy_load(&copy, 0, 1));
	CHECK(file_copy_put_page(&copy, PAGE) && file_copy_put_page(&copy, 5 * PAGE));
	CHECK(file_copy_put_page(&copy, PAGE)); // once more
	CHECK(file_copy_load(&copy, PAGE, PAGE));
	CHECK(!file_copy_load(&copy, PAGE, PAGE + 1));
	CHECK(!file_copy_load(&copy, PAGE - 1, 2));
	CHECK(file_copy_load(&copy, 5 * PAGE + 99, 1));
	CHECK(!file_copy_load(&copy, 5 * PAGE + 100, 1));
	file_copy_put_part(&copy, 3 * PAGE + 10, 20);
	CHECK(file_copy_load(&copy, 3 * PAGE + 10, 20));
	CHECK(file_copy_load(&copy, 3 * PAGE + 15, 15));
	CHECK(!file_copy_load(&copy, 3 * PAGE + 15, 16));
	CHECK(!file_copy_load(&copy, 3 * PAGE + 9, 2));
	CHECK(!file_copy_load(&copy, 3 * PAGE + 31, 1));
	CHECK(file_copy_put_page(&copy, 3 * PAGE));
	CHECK(file_copy_load(&copy, 3 * PAGE, 30));
	file_copy_close(&copy);
}

int main(void)
{
	test_put();
	test_ranges();
	test_changes();
	test_sparse();
	test_elf_that_is_cut();
	return CHECK_RESULT();
}
