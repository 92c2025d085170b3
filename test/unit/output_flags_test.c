// SPDX-License-Identifier: Apache-2.0
// Files and directories that keep their names whoever asks (chattr(1)): refused before the target is touched.
#include "lacks_unnamed.h"
#include "output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Returns whether the file system and the kernel let us.
static bool set_flags(const char *path, int flags)
{
	HS_CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int now;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &now) < 0)
		return false;
	now = (now & ~(FS_IMMUTABLE_FL | FS_APPEND_FL)) | flags;
	return ioctl(fd, FS_IOC_SETFLAGS, &now) == 0;
}

static bool has_flags(void)
{
	bool has = false;
	int fd = open(in_directory("probe"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && close(fd) == 0);
	for (int i = 0; i < 2; i++) {
		struct statx status;

		has = set_flags(in_directory("probe"), i == 0 ? FS_IMMUTABLE_FL : FS_APPEND_FL) &&
		      statx(AT_FDCWD, in_directory("probe"), 0, 0, &status) == 0 &&
		      status.stx_attributes & status.stx_attributes_mask &
			      (i == 0 ? STATX_ATTR_IMMUTABLE : STATX_ATTR_APPEND);
		(void)set_flags(in_directory("probe"), 0);
		if (!has)
			break;
	}
	CHECK(unlink(in_directory("probe")) == 0);
	return has;
}

// In a process of its own, so that the flags are taken away whatever becomes of it.
static void create_with_flags(const char *flagged, int flags, const char *name, const char *refusal)
{
	pid_t child;
	int result;

	CHECK(set_flags(flagged, flags));
	fflush(NULL);
	child = fork();
	if (child == 0) {
		struct output_file file;
		struct hs_error *error = output_file_create(in_directory(name), &file);

		check_failures = 0;
		alarm(30);
		if (refusal) {
			CHECK(fails_with(error, refusal));
			output_file_discard(&file);
		} else {
			CHECK(!error && !output_file_write(&file, "new", 3) && !output_file_commit(&file));
		}
		_exit(check_failures != 0);
	}
	CHECK(child > 0 && waitpid(child, &result, 0) == child && result == 0);
	CHECK(set_flags(flagged, 0));
}

// It came to be there, with the flag, or the directory got one, since the output was created.
static void commit_with_flags(const char *flagged, int flags, const char *refusal)
{
	struct output_file file;
	pid_t child;
	int result, made;

	CHECK(!output_file_create(in_directory("out"), &file));
	made = open(in_directory("out"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(made >= 0 && close(made) == 0 && set_flags(flagged, flags));
	fflush(NULL);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		alarm(30);
		CHECK(fails_with(output_file_commit(&file), refusal));
		_exit(check_failures != 0);
	}
	CHECK(child > 0 && waitpid(child, &result, 0) == child && result == 0);
	CHECK(set_flags(flagged, 0));
	output_file_discard(&file);
	CHECK(unlink(in_directory("out")) == 0);
	CHECK_EQUAL(count_entries(), 0);
}

static void test_existing(void)
{
	struct stat status;
	int fd = open(in_directory("out"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && close(fd) == 0);
	create_with_flags(in_directory("out"), FS_IMMUTABLE_FL, "out", "out is immutable (chattr +i)");
	create_with_flags(in_directory("out"), FS_APPEND_FL, "out", "out can only be appended to (chattr +a)");
	create_with_flags(directory, FS_APPEND_FL, "out", "out already exists, in a directory that names can only be");
	create_with_flags(directory, FS_IMMUTABLE_FL, "out", "the directory of ");
	CHECK(stat(in_directory("out"), &status) == 0 && status.st_size == 0);
	CHECK_EQUAL(count_entries(), 1);
	create_with_flags(in_directory("out"), 0, "out", NULL);
	CHECK(stat(in_directory("out"), &status) == 0 && status.st_size == 3);
	CHECK(unlink(in_directory("out")) == 0);
	CHECK_EQUAL(count_entries(), 0);
}

static void test_new(void)
{
	create_with_flags(directory, FS_IMMUTABLE_FL, "out", "is immutable (chattr +i)");
	CHECK_EQUAL(count_entries(), 0);
	lacks_unnamed = true;
	create_with_flags(directory, FS_APPEND_FL, "out", "makes no file without a name");
	lacks_unnamed = false;
	CHECK_EQUAL(count_entries(), 0);
	create_with_flags(directory, FS_APPEND_FL, "out", NULL);
	CHECK_EQUAL(count_entries(), 1);
	CHECK(unlink(in_directory("out")) == 0);
}

static void test_flags(void)
{
	test_existing();
	test_new();
	commit_with_flags(in_directory("out"), FS_IMMUTABLE_FL, "out is immutable (chattr +i)");
	commit_with_flags(in_directory("out"), FS_APPEND_FL, "out can only be appended to (chattr +a)");
	commit_with_flags(directory, FS_APPEND_FL, "out already exists, in a directory that names can only be");
}

int main(void)
{
	CHECK(mkdtemp(directory) != NULL);
	if (is_root()) {
		if (has_flags())
			test_flags();
		else
			CHECK_LEFT_OUT("no flags of files (chattr) in the temporary directory");
	}
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}
