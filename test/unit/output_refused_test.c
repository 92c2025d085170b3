// SPDX-License-Identifier: Apache-2.0
// Outputs that are refused before the target is touched.
#include "output_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// What linking and renaming would refuse when the profile is made.
static void test_long_name(void)
{
	char name[NAME_MAX + 2], path[sizeof(directory) + sizeof(name)];
	struct output_file file;

	memset(name, 'x', sizeof(name));
	name[NAME_MAX + 1] = 0;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	CHECK(fails_with(output_file_create(path, &file), "File name too long; choose another path with -o"));
	name[NAME_MAX] = 0;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	CHECK(!output_file_create(path, &file));
	output_file_discard(&file);
}

// Returns whether that was to be had.
static bool mount_itself(const char *path)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount(path, path, NULL, MS_BIND, NULL) == 0;
}

static void test_mount_point(void)
{
	struct output_file file;
	struct stat status;
	pid_t child;
	int result;

	if (!is_root())
		return;
	CHECK(close(open(in_directory("out"), O_WRONLY | O_CREAT, 0600)) == 0);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		if (!mount_itself(in_directory("out")))
			_exit(CHECK_SKIPPED);
		CHECK(fails_with(output_file_create(in_directory("out"), &file), "is a mount point"));
		_exit(check_failures != 0);
	}
	CHECK(waitpid(child, &result, 0) == child);
	if (WIFEXITED(result) && WEXITSTATUS(result) == CHECK_SKIPPED)
		CHECK_LEFT_OUT("no mount namespace of its own");
	else
		CHECK_EQUAL(result, 0);
	CHECK(stat(in_directory("out"), &status) == 0 && status.st_size == 0);
	unlink(in_directory("out"));
	CHECK_EQUAL(count_entries(), 0);
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
	} else {
		CHECK_LEFT_OUT("root may write everywhere");
	}
	CHECK_EQUAL(count_entries(), 0);
}

int main(void)
{
	CHECK(mkdtemp(directory) != NULL);
	test_refused();
	test_long_name();
	test_mount_point();
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}
