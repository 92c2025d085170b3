// SPDX-License-Identifier: Apache-2.0
#include "base/io.h"
#include "output_folder.h"
#include "proto/gzip_file.h"
#include "proto/profile_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LIMIT = 100000 };
static const struct profile_file_limits limits = { LIMIT, 200 };

static uint8_t file_bytes[2 * LIMIT];
static size_t file_size;

// Behind what is there already: a member of a gzip with `size` equal bytes.
static void add_gzip(size_t size)
{
	const char *path = in_directory("member.gz");
	struct output_file file;
	uint8_t *data = malloc(size + 1);
	char *text = NULL;
	uint64_t written;
	size_t read_size = 0;

	if (!data)
		abort();
	memset(data, 'x', size);
	CHECK(!output_file_create(path, &file));
	CHECK(!output_file_commit_gzip(&file, data, size, &written));
	CHECK(!hs_read_file(path, sizeof(file_bytes) - file_size, &text, &read_size));
	memcpy(file_bytes + file_size, text, read_size);
	file_size += read_size;
	unlink(path);
	free(data);
	free(text);
}

static void add(const void *data, size_t size)
{
	memcpy(file_bytes + file_size, data, size);
	file_size += size;
}

static const char *write_file(void)
{
	const char *path = in_directory("profile");
	HS_CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && !hs_write_all(fd, file_bytes, file_size));
	return path;
}

// Reads as many bytes, all 'x' from `from` on.
static bool reads(const char *path, size_t from, size_t expected)
{
	HS_CLEANUP_FREE uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = profile_file_read(path, &limits, &data, &size);

	if (error)
		fprintf(stderr, "error: %s\n", error->message);
	hs_error_destroy(error);
	if (error || size != expected)
		return false;
	for (size_t i = from; i < size; i++)
		if (data[i] != 'x')
			return false;
	return true;
}

static bool fails(const char *path, enum hs_error_code code, const char *part)
{
	uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = profile_file_read(path, &limits, &data, &size);
	bool is_right = error && error->code == code && strncmp(error->message, "cannot read ", 12) == 0 && !data;

	return fails_with(error, part) && is_right;
}

static void test_plain(void)
{
	static const char *const texts[] = { "x", "xxx", "\x1f", "\x1f\x8a xx" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		file_size = 0;
		add(texts[i], strlen(texts[i]));
		CHECK(reads(write_file(), i < 2 ? 0 : SIZE_MAX, file_size));
	}
	memset(file_bytes, 'x', LIMIT + 1);
	file_size = LIMIT;
	CHECK(reads(write_file(), 0, LIMIT));
	file_size = LIMIT + 1;
	CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "it is longer than 100000 bytes;"));
	file_size = 0;
	CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "it is empty;"));
}

static void test_gzip(void)
{
	static const size_t sizes[] = { 1, 65535, 65536, 65537, LIMIT };

	for (size_t i = 0; i < COUNT(sizes); i++) {
		file_size = 0;
		add_gzip(sizes[i]);
		CHECK(reads(write_file(), 0, sizes[i]));
	}
	file_size = 0;
	add_gzip(LIMIT + 1);
	CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "it expands to more than 100000 bytes;"));
	file_size = 0;
	add_gzip(50 * 1000 * 1000); // of 50 kB
	CHECK(file_size < LIMIT);
	CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "it expands to more than 100000 bytes;"));
	file_size = 0;
	add_gzip(0);
	CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "it is an empty gzip;"));
}

static void test_members(void)
{
	static const uint8_t zeros[1000];

	file_size = 0;
	add_gzip(1000);
	add_gzip(0);
	add_gzip(70000);
	CHECK(reads(write_file(), 0, 71000));
	add(zeros, sizeof(zeros));
	CHECK(reads(write_file(), 0, 71000));
	add_gzip(5); // behind padding, as gzip(1) reads it
	CHECK(reads(write_file(), 0, 71005));
	add("xx", 2);
	CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "its compressed data is damaged;"));
}

// Each shorter beginning, and each bit of it.
static void test_damaged_gzip(void)
{
	size_t whole;
	int accepted = 0;

	file_size = 0;
	add_gzip(300);
	whole = file_size;
	for (file_size = 2; file_size < whole; file_size++)
		CHECK(fails(write_file(), HS_ERROR_BAD_DATA, "its compressed data is cut short;"));
	for (size_t bit = 16; bit < 8 * whole; bit++) {
		uint8_t *data = NULL;
		size_t size;
		struct hs_error *error;

		file_bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		error = gzip_expand(file_bytes, whole, LIMIT, &data, &size);
		accepted += !error;
		hs_error_destroy(error);
		free(data);
		file_bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CHECK(accepted <= 8 * 7); // time, operating system and flags of the header say nothing of the bytes
}

static void test_no_files(void)
{
	CHECK(fails("/nonexistent/profile", HS_ERROR_SYSTEM, "/nonexistent/profile: No such file or directory; check"));
	CHECK(fails(directory, HS_ERROR_REFUSED, "it is a directory; name a file in it"));
	CHECK(fails("/dev/null", HS_ERROR_REFUSED, "it is neither a file nor a pipe;"));
	CHECK(fails("/dev/zero", HS_ERROR_REFUSED, "it is neither a file nor a pipe;"));
	CHECK(fails("", HS_ERROR_SYSTEM, "No such file"));
}

// A file that may not be read; root may read all, so it is somebody else who tries.
static void test_unreadable(void)
{
	const char *path;
	pid_t child;
	int status;

	file_size = 1;
	path = write_file();
	CHECK(chmod(path, 0) == 0);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (geteuid() == 0 && setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0)
			_exit(2);
		_exit(fails(path, HS_ERROR_SYSTEM, "Permission denied; run the command as the file's owner") ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(chmod(path, 0600) == 0);
}

// Starts a child that opens a pipe and writes `count` times, with a pause before each, then waits.
static pid_t start_writer(const char *path, int count, int pause_us, int wait_us)
{
	pid_t child = fork();

	if (child == 0) {
		int fd = open(path, O_WRONLY);

		for (int i = 0; i < count; i++) {
			usleep((useconds_t)pause_us);
			if (write(fd, "xxxxx", 5) != 5)
				_exit(1);
		}
		usleep((useconds_t)wait_us);
		_exit(0);
	}
	return child;
}

static void end_writer(pid_t child)
{
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child);
}

static void test_pipes(void)
{
	const char *path = in_directory("pipe");
	HS_CLEANUP_CLOSE int reader = -1;
	pid_t child;

	CHECK(mkfifo(path, 0600) == 0);
	CHECK(fails(path, HS_ERROR_BAD_DATA, "nothing was written into the pipe;"));
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // so that the writer gets to write
	child = start_writer(path, 3, 30000, 0);
	usleep(20000);
	CHECK(reads(path, 0, 15));
	end_writer(child);
	child = start_writer(path, 0, 0, 20000000);
	usleep(20000);
	CHECK(fails(path, HS_ERROR_TIMEOUT, "nobody has written into the pipe for 0.2 s;"));
	end_writer(child);
	unlink(path);
}

// Puts `fd`, which it closes, into the place of standard input for a call.
static int put_as_input(int fd)
{
	int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	dup2(fd, STDIN_FILENO);
	close(fd);
	return before;
}

static void put_back(int before)
{
	dup2(before, STDIN_FILENO);
	close(before);
}

static void test_standard_input(void)
{
	int ends[2], before;

	file_size = 0;
	add_gzip(777);
	before = put_as_input(open(write_file(), O_RDONLY | O_CLOEXEC));
	CHECK(reads("-", 0, 777));
	put_back(before);

	CHECK(pipe(ends) == 0 && write(ends[1], file_bytes, file_size) == (ssize_t)file_size);
	close(ends[1]);
	before = put_as_input(ends[0]);
	CHECK(reads("-", 0, 777));
	put_back(before);

	CHECK(pipe(ends) == 0 && write(ends[1], file_bytes, file_size) == (ssize_t)file_size);
	close(ends[1]);
	before = put_as_input(ends[0]);
	CHECK(reads("/dev/stdin", 0, 777)); // as the shell's <(command), which is /dev/fd/63
	put_back(before);

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], "xx", 2) == 2);
	close(ends[1]);
	before = put_as_input(ends[0]);
	CHECK(reads("-", 0, 2));
	put_back(before);

	before = put_as_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
	CHECK(fails("-", HS_ERROR_REFUSED, "standard input: it is neither a file nor a pipe;"));
	put_back(before);
	before = put_as_input(open(directory, O_RDONLY | O_CLOEXEC));
	CHECK(fails("-", HS_ERROR_REFUSED, "standard input: it is a directory;"));
	put_back(before);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	test_plain();
	test_gzip();
	test_members();
	test_damaged_gzip();
	test_no_files();
	test_unreadable();
	test_pipes();
	test_standard_input();
	unlink(in_directory("profile"));
	rmdir(directory);
	return CHECK_RESULT();
}
