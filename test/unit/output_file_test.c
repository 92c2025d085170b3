// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "check.h"
#include "proto/gzip_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char directory[] = "/tmp/output_file_test.XXXXXX";

static const char *in_directory(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int count_entries(void)
{
	DIR *stream = opendir(directory);
	int count = 0;

	while (readdir(stream))
		count++;
	closedir(stream);
	return count - 2;
}

static bool fails_with(struct hs_error *error, const char *part)
{
	bool result = error && strstr(error->message, part);

	if (!result)
		fprintf(stderr, "error: %s\n", error ? error->message : "(none)");
	hs_error_destroy(error);
	return result;
}

static bool has_content(const char *path, const char *text)
{
	char buffer[256] = { 0 };
	gzFile file = gzopen(path, "rb");
	int size = file ? gzread(file, buffer, sizeof(buffer) - 1) : -1;

	if (file)
		gzclose(file);
	return size == (int)strlen(text) && strcmp(buffer, text) == 0;
}

static void test_whole(void)
{
	const char *path = in_directory("out.pb.gz");
	struct output_file file;
	struct stat status;
	uint64_t size = 0;

	umask(0277);
	CHECK(!output_file_create(path, &file));
	CHECK(access(path, F_OK) < 0);
	CHECK(count_entries() <= 1); // 0 where the file system can hold a file without a name
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
	umask(022);
	CHECK_EQUAL(count_entries(), 1);
	CHECK(stat(path, &status) == 0);
	CHECK_EQUAL(status.st_mode, S_IFREG | 0600);
	CHECK_EQUAL(status.st_size, size);
	CHECK(has_content(path, "text"));
	output_file_discard(&file);

	// Again, over the first.
	CHECK(!output_file_create(path, &file));
	CHECK(!output_file_commit_gzip(&file, "", 0, &size));
	CHECK(has_content(path, ""));
	CHECK_EQUAL(count_entries(), 1);
	unlink(path);
}

static void test_discard(void)
{
	struct output_file file, zeroed = { 0 };

	CHECK(!output_file_create(in_directory("never"), &file));
	CHECK(count_entries() <= 1);
	output_file_discard(&file);
	CHECK_EQUAL(count_entries(), 0);
	output_file_discard(&file);
	output_file_discard(&zeroed);
	CHECK(fcntl(0, F_GETFD) >= 0 || errno == EBADF);
}

// The link is replaced; what it points to stays as it is.
static void test_symbolic_link(void)
{
	char target[256], link[256];
	struct output_file file;
	struct stat status;
	uint64_t size;

	snprintf(target, sizeof(target), "%s", in_directory("victim"));
	snprintf(link, sizeof(link), "%s", in_directory("link"));

	HS_CLEANUP_CLOSE int fd = open(target, O_WRONLY | O_CREAT, 0644);

	CHECK(fd >= 0 && symlink(target, link) == 0);
	CHECK(!output_file_create(link, &file));
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
	CHECK(lstat(link, &status) == 0 && S_ISREG(status.st_mode));
	CHECK(stat(target, &status) == 0 && status.st_size == 0 && (status.st_mode & 0777) == 0644);
	unlink(link);
	unlink(target);
}

static void test_refused(void)
{
	struct output_file file;

	CHECK(fails_with(output_file_create(in_directory("missing/out"), &file), "create the directory"));
	CHECK(fails_with(output_file_create(directory, &file), "is a directory"));
	CHECK(fails_with(output_file_create(in_directory(""), &file), "is a directory"));
	CHECK(fails_with(output_file_create("", &file), "is a directory"));
	CHECK(fails_with(output_file_create("/dev/null", &file), "is not a plain file"));
	CHECK(fails_with(output_file_create("/proc/out", &file), "cannot create a file"));

	// A directory that may be written and not read, and one that may only be read; root may do all.
	if (geteuid() != 0) {
		chmod(directory, 0300);
		CHECK(!output_file_create(in_directory("x"), &file));
		output_file_discard(&file);
		chmod(directory, 0500);
		CHECK(fails_with(output_file_create(in_directory("x"), &file), "that you may write"));
		chmod(directory, 0700);
	}
	CHECK_EQUAL(count_entries(), 0);
}

// A file size limit stands for a full disk: write fails in the middle, here with EFBIG.
static void test_full(void)
{
	enum { SIZE = 1 << 20 };
	static unsigned char data[SIZE];
	struct rlimit limit, before;
	struct output_file file;
	uint64_t size, random = 1;

	for (size_t i = 0; i < SIZE; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		data[i] = (unsigned char)(random >> 56);
	}
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 100000;
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK(!output_file_create(in_directory("big"), &file));
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK(fails_with(output_file_commit_gzip(&file, data, SIZE, &size), "make room"));
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_EQUAL(count_entries(), 0);

	CHECK(!output_file_create(in_directory("big"), &file));
	CHECK(!output_file_commit_gzip(&file, data, SIZE, &size));
	CHECK(size > SIZE / 2);
	unlink(in_directory("big"));
}

static int with_standard_output(int fd)
{
	int saved = dup(STDOUT_FILENO);

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	return saved;
}

static void restore_standard_output(int saved)
{
	dup2(saved, STDOUT_FILENO);
	close(saved);
}

static void test_standard_output(void)
{
	struct output_file file;
	uint64_t size = 0;
	int pipe_fds[2];

	CHECK(pipe(pipe_fds) == 0);

	int saved = with_standard_output(pipe_fds[1]);
	struct hs_error *error = output_file_create("-", &file);

	if (!error)
		error = output_file_commit_gzip(&file, "text", 4, &size);
	CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
	CHECK(!error);
	CHECK(size > 0);

	// No reader: an error, not the death of the process.
	close(pipe_fds[0]);
	error = output_file_create("/dev/stdout", &file);
	CHECK(!error);
	error = output_file_commit_gzip(&file, "text", 4, &size);
	restore_standard_output(saved);
	close(pipe_fds[1]);
	CHECK(fails_with(error, "closed it early"));

	HS_CLEANUP_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	saved = with_standard_output(full);
	error = output_file_create("-", &file);
	if (!error)
		error = output_file_commit_gzip(&file, "text", 4, &size);
	restore_standard_output(saved);
	CHECK(fails_with(error, "make room"));
}

int main(void)
{
	CHECK(mkdtemp(directory) != NULL);
	test_whole();
	test_discard();
	test_symbolic_link();
	test_refused();
	test_full();
	test_standard_output();
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}
