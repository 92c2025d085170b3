// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/io.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

static bool failed_with(struct hs_error *error, enum hs_error_code code)
{
	bool result = error && error->code == code;

	if (error && !result)
		fprintf(stderr, "unexpected error: %s\n", error->message);
	hs_error_destroy(error);
	return result;
}

static void test_read_file(int fd, const char *path)
{
	enum { SIZE = 100000 };
	static char written[SIZE];
	HS_CLEANUP_FREE char *text = NULL;
	size_t size = 0;

	for (size_t i = 0; i < SIZE; i++)
		written[i] = (char)(i * 7);
	CHECK(!hs_write_all(fd, written, SIZE));

	CHECK(!hs_read_file(path, SIZE, &text, &size));
	CHECK_EQUAL(size, SIZE);
	CHECK(text && memcmp(text, written, SIZE) == 0 && text[SIZE] == 0);

	char *unset = NULL;

	CHECK(failed_with(hs_read_file(path, SIZE - 1, &unset, &size), HS_ERROR_BAD_DATA));
	CHECK(failed_with(hs_read_file("/nonexistent", 10, &unset, &size), HS_ERROR_SYSTEM));
	CHECK(failed_with(hs_read_file("/", 10, &unset, &size), HS_ERROR_SYSTEM));
	CHECK(!unset);

	// A /proc file says that it has 0 bytes.
	HS_CLEANUP_FREE char *status = NULL;

	CHECK(!hs_read_file("/proc/self/status", 1 << 20, &status, &size));
	CHECK(size > 0 && strncmp(status, "Name:", 5) == 0);
}

static void test_ranges(int fd)
{
	char buffer[8] = { 0 };

	CHECK(!hs_pwrite_all(fd, "abcdef", 6, 10));
	CHECK(!hs_pread_exact(fd, buffer, 6, 10));
	CHECK_STRING(buffer, "abcdef");
	CHECK(!hs_pread_exact(fd, buffer, 0, 1 << 30));
	CHECK(failed_with(hs_pread_exact(fd, buffer, 8, 100000 - 7), HS_ERROR_BAD_DATA));
	CHECK(failed_with(hs_pread_exact(-1, buffer, 1, 0), HS_ERROR_SYSTEM));
	CHECK(failed_with(hs_pwrite_all(-1, buffer, 1, 0), HS_ERROR_SYSTEM));
}

static void test_write_fails(void)
{
	HS_CLEANUP_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct hs_error *error = hs_write_all(full, "x", 1);

	CHECK(error && error->error_number == ENOSPC);
	hs_error_destroy(error);
}

// A pipe takes less than it is given; the rest follows when the reader, here a child, makes room.
static void test_short_writes(void)
{
	enum { SIZE = 1 << 20 };
	static char data[SIZE];
	int pipe_fds[2];

	CHECK(pipe2(pipe_fds, O_CLOEXEC) == 0);

	pid_t child = fork();

	if (child == 0) {
		size_t total = 0;
		ssize_t count;

		close(pipe_fds[1]);
		while ((count = read(pipe_fds[0], data, 1000)) > 0)
			total += (size_t)count;
		_exit(total == SIZE ? 0 : 1);
	}
	close(pipe_fds[0]);
	CHECK(!hs_write_all(pipe_fds[1], data, SIZE));
	close(pipe_fds[1]);

	int status = -1;

	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void test_format(void)
{
	HS_CLEANUP_FREE char *text = NULL;

	CHECK(!hs_format(&text, "%d and %s", 1, "two"));
	CHECK_STRING(text, "1 and two");
}

static void test_nothing(void)
{
	const int lowest = dup(STDIN_FILENO);
	char byte;
	int fd;

	close(lowest);
	fd = hs_open_nothing(O_CLOEXEC);
	CHECK_EQUAL(fd, lowest);
	CHECK_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQUAL(read(fd, &byte, 1), 0);
	CHECK(write(fd, &byte, 1) < 0 && errno == EBADF);
	CHECK_EQUAL(dup(STDIN_FILENO), fd + 1); // no other end is left
	close(fd + 1);
	close(fd);
}

int main(void)
{
	HS_CLEANUP_CLOSE int fd = memfd_create("io_test", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	test_read_file(fd, path);
	test_ranges(fd);
	test_write_fails();
	test_short_writes();
	test_format();
	test_nothing();
	return CHECK_RESULT();
}
