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
#include <sys/wait.h>
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

static const uid_t SOMEBODY = 65534;

// Runs `check` as another user, who may write into `directory`.
static void as_somebody(void (*check)(void))
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0)
			_exit(2);
		check();
		_exit(check_failures != 0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQUAL(status, 0);
}

static void write_over_others_file(void)
{
	struct output_file file;
	uint64_t size;

	CHECK(!output_file_create(in_directory("of_root"), &file));
	CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "cannot create"));
}

static void write_over_others_link(void)
{
	struct output_file file;
	uint64_t size;

	CHECK(!output_file_create(in_directory("link_of_root"), &file));
	CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "cannot create"));
}

// What others have planted in a directory where all may write (mode 1777, like /tmp).
static void test_planted(void)
{
	struct output_file file;
	struct stat status;
	uint64_t size;
	char victim[256];

	if (geteuid() != 0) {
		printf("not root: files and links of other users are not tried\n");
		return;
	}
	snprintf(victim, sizeof(victim), "%s", in_directory("victim"));
	CHECK(mkdir(victim, 0700) == 0 && chmod(directory, 01777) == 0);

	// Somebody's link in the place of the file is replaced, and what it leads to stays.
	CHECK(symlink("victim/file", in_directory("link")) == 0 && lchown(in_directory("link"), SOMEBODY, SOMEBODY) == 0);
	CHECK(!output_file_create(in_directory("link"), &file));
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
	CHECK(lstat(in_directory("link"), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == 0);
	CHECK_EQUAL(status.st_mode & 07777, 0600);
	CHECK(access(in_directory("victim/file"), F_OK) != 0);
	unlink(in_directory("link"));

	// Somebody's file there is replaced too, not written into.
	HS_CLEANUP_CLOSE int planted = open(in_directory("planted"), O_RDWR | O_CREAT, 0666);

	CHECK(planted >= 0 && fchown(planted, SOMEBODY, SOMEBODY) == 0);
	CHECK(!output_file_create(in_directory("planted"), &file));
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
	CHECK(fstat(planted, &status) == 0 && status.st_size == 0 && status.st_nlink == 0);
	CHECK(stat(in_directory("planted"), &status) == 0 && status.st_uid == 0 && (status.st_mode & 07777) == 0600);
	unlink(in_directory("planted"));

	// Somebody's link in the place of a directory is not followed; one's own is.
	CHECK(symlink("victim", in_directory("way")) == 0);
	CHECK(!output_file_create(in_directory("way/out"), &file));
	output_file_discard(&file);
	CHECK(lchown(in_directory("way"), SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_create(in_directory("way/out"), &file), "a symbolic link that user 65534 has made"));
	unlink(in_directory("way"));
	CHECK(rmdir(victim) == 0);

	// And the other way round: what is root's stays root's, and nothing is left behind.
	HS_CLEANUP_CLOSE int of_root = open(in_directory("of_root"), O_RDWR | O_CREAT, 0644);

	CHECK(of_root >= 0 && symlink("of_root", in_directory("link_of_root")) == 0);
	as_somebody(write_over_others_file);
	as_somebody(write_over_others_link);
	CHECK(fstat(of_root, &status) == 0 && status.st_size == 0 && status.st_nlink == 1);
	unlink(in_directory("of_root"));
	unlink(in_directory("link_of_root"));
	CHECK_EQUAL(count_entries(), 0);
	CHECK(chmod(directory, 0700) == 0);
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
	test_planted();
	test_refused();
	test_full();
	test_standard_output();
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}
