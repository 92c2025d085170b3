// SPDX-License-Identifier: Apache-2.0
// Where a path of an output file leads to, and what others can do about it meanwhile.
#include "output_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// A directory of somebody else: what stands in it may be root's own, but they can have put it there.
static void test_others_directory(void)
{
	struct output_file file;
	uint64_t size;

	if (!is_root())
		return;
	CHECK(mkdir(in_directory("theirs"), 0755) == 0 && mkdir(in_directory("theirs/real"), 0755) == 0);
	CHECK(lchown(in_directory("theirs"), SOMEBODY, SOMEBODY) == 0);
	CHECK(!output_file_create(in_directory("theirs/real/out"), &file));
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
	CHECK(unlink(in_directory("theirs/real/out")) == 0);

	CHECK(symlink("real", in_directory("theirs/way")) == 0);
	CHECK(fails_with(output_file_create(in_directory("theirs/way/out"), &file),
			 "way, a symbolic link in a directory that other users can change"));
	CHECK(fails_with(output_file_create(in_directory("theirs/way"), &file),
			 "a symbolic link in a directory that other users can change"));
	// a link to be followed, and one behind it
	CHECK(symlink(in_directory("theirs/way"), in_directory("chain")) == 0);
	CHECK(fails_with(output_file_create(in_directory("chain/out"), &file),
			 "in a directory that other users can change"));
	CHECK(fails_with(output_file_create(in_directory("theirs/../out"), &file), "leads by .. out of a directory"));
	unlink(in_directory("chain"));
	unlink(in_directory("theirs/way"));
	CHECK(rmdir(in_directory("theirs/real")) == 0 && rmdir(in_directory("theirs")) == 0);
	CHECK_EQUAL(count_entries(), 0);
}

// Paths that lead about in one's own directories.
static void test_ways(void)
{
	static const char *const ways[] = { "a/out",   "./a//out",  "a/../a/out",     "up/a/out",
					    "far/out", "chain/out", "chain/../a/out", "/proc" };
	char path[512], before[256];
	struct output_file file;
	uint64_t size;

	CHECK(mkdir(in_directory("a"), 0700) == 0 && symlink("../", in_directory("a/parent")) == 0);
	CHECK(symlink("a/parent", in_directory("up")) == 0 && symlink("far", in_directory("chain")) == 0);
	snprintf(path, sizeof(path), "%s/./a/", directory);
	CHECK(symlink(path, in_directory("far")) == 0 && symlink("loop", in_directory("loop")) == 0);
	CHECK(getcwd(before, sizeof(before)) != NULL);
	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
		const char *way = ways[i / 2];

		// From within the directory, and from elsewhere.
		if (way[0] == '/')
			snprintf(path, sizeof(path), "/proc/self/../..%s/a/out", directory);
		else if (i % 2)
			snprintf(path, sizeof(path), "%s", way);
		else
			snprintf(path, sizeof(path), "%s/%s", directory, way);
		CHECK(chdir(i % 2 ? directory : before) == 0);
		CHECK(!output_file_create(path, &file));
		CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
		CHECK(unlink(in_directory("a/out")) == 0);
	}
	CHECK(chdir(before) == 0);
	CHECK(fails_with(output_file_create(in_directory("loop/out"), &file), "Too many levels"));
	CHECK(fails_with(output_file_create("/proc/self/cwd/out", &file),
			 "cwd, a link of /proc that stands for a file"));
	CHECK(fails_with(output_file_create("/proc/thread-self/root/tmp/out", &file), "root, a link of /proc"));
	CHECK(fails_with(output_file_create("/dev/fd/0/out", &file), "0, a link of /proc"));
	CHECK(fails_with(output_file_create("/dev/./stdout", &file), "is not a plain file"));
	CHECK(symlink("/proc/self/fd/1", in_directory("stream")) == 0);
	CHECK(fails_with(output_file_create(in_directory("stream"), &file), "is not a plain file"));
	for (size_t i = 0; i < 6; i++)
		unlink(in_directory((const char *const[]){ "stream", "loop", "far", "chain", "up", "a/parent" }[i]));
	CHECK(rmdir(in_directory("a")) == 0);
	CHECK_EQUAL(count_entries(), 0);
}

static _Noreturn void exchange_for_ever(const char *one, const char *other)
{
	for (;;)
		syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

// Somebody exchanges a directory of theirs and a link to root's, without a pause.
static void test_exchanged(void)
{
	enum { RUNS = 3000 };
	char real[256], link[256], out[300];
	unsigned done = 0, refused = 0;
	struct output_file file;
	uint64_t size;
	pid_t child;

	if (!is_root())
		return;
	CHECK(chmod(directory, 0711) == 0 && mkdir(in_directory("theirs"), 0755) == 0 &&
	      mkdir(in_directory("theirs/real"), 0755) == 0);
	CHECK(mkdir(in_directory("behind"), 0700) == 0 && mkdir(in_directory("behind/deeper"), 0700) == 0);
	CHECK(mkdir(in_directory("theirs/real/deeper"), 0755) == 0);
	CHECK(symlink("../behind", in_directory("theirs/link")) == 0);
	for (size_t i = 0; i < 4; i++)
		CHECK(lchown(in_directory((const char *const[]){ "theirs", "theirs/real", "theirs/real/deeper",
								 "theirs/link" }[i]),
			     SOMEBODY, SOMEBODY) == 0);
	snprintf(real, sizeof(real), "%s/theirs/real", directory);
	snprintf(link, sizeof(link), "%s/theirs/link", directory);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) != 0 || setresuid(SOMEBODY, SOMEBODY, SOMEBODY) != 0)
			_exit(2);
		exchange_for_ever(real, link);
	}
	// The link is met most of the time, the directory now and then.
	for (unsigned i = 0; (i < RUNS || done < 5 || refused < 50) && i < 20 * RUNS; i++) {
		struct hs_error *error;

		snprintf(out, sizeof(out), i % 2 ? "%s/out" : "%s/deeper/out", real);
		error = output_file_create(out, &file);
		if (!error)
			error = output_file_commit_gzip(&file, "text", 4, &size);
		done += !error;
		refused += error != NULL;
		hs_error_destroy(error);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%u files written, %u refused beside an exchanged link\n", done, refused);
	CHECK(refused >= 50);
	CHECK(rmdir(in_directory("behind/deeper")) == 0 && rmdir(in_directory("behind")) == 0); // nothing is there
	for (size_t i = 0; i < 2; i++) {
		const char *where = i ? link : real;

		snprintf(out, sizeof(out), "%s/out", where);
		unlink(out);
		snprintf(out, sizeof(out), "%s/deeper/out", where);
		unlink(out);
		snprintf(out, sizeof(out), "%s/deeper", where);
		rmdir(out);
		if (rmdir(where) != 0)
			unlink(where);
	}
	CHECK(rmdir(in_directory("theirs")) == 0 && chmod(directory, 0700) == 0);
	CHECK_EQUAL(count_entries(), 0);
}

static void test_control(void)
{
	static const struct {
		mode_t mode;
		uid_t uid, user;
		gid_t gid;
		enum place_control control;
	} directories[] = {
		{ 0755, 0, 0, 0, PLACE_OWN },
		{ 0755, 1000, 1000, 1000, PLACE_OWN },
		{ 0755, 0, 1000, 0, PLACE_OWN },
		{ 0755, 1000, 0, 1000, PLACE_FOREIGN },
		{ 0700, 1001, 1000, 1000, PLACE_FOREIGN },
		{ 01777, 1001, 1000, 1000, PLACE_FOREIGN },
		{ 01777, 0, 1000, 0, PLACE_SHARED },
		{ 01777, 0, 0, 0, PLACE_SHARED },
		{ 0777, 0, 0, 0, PLACE_FOREIGN },
		{ 0777, 1000, 1000, 1000, PLACE_FOREIGN },
		{ 01777, 1000, 1000, 1000, PLACE_SHARED },
		{ 02775, 0, 0, 50, PLACE_FOREIGN },
		{ 03775, 0, 0, 50, PLACE_SHARED },
		{ 0775, 0, 0, 0, PLACE_OWN },
		{ 0775, 1000, 1000, 1000, PLACE_OWN },
		{ 0775, 1000, 1000, 100, PLACE_FOREIGN },
		{ 0775, 1000, 1000, 0, PLACE_OWN },
	};

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		const struct stat status = { .st_mode = S_IFDIR | directories[i].mode,
					     .st_uid = directories[i].uid,
					     .st_gid = directories[i].gid };

		CHECK_EQUAL(place_control(&status, directories[i].user), directories[i].control);
	}
	CHECK(place_may_follow(0, PLACE_OWN, 1000) && place_may_follow(1000, PLACE_SHARED, 1000) &&
	      place_may_follow(0, PLACE_SHARED, 0));
	CHECK(!place_may_follow(1001, PLACE_OWN, 1000) && !place_may_follow(1000, PLACE_OWN, 0) &&
	      !place_may_follow(1001, PLACE_SHARED, 0));
	CHECK(!place_may_follow(0, PLACE_FOREIGN, 0) && !place_may_follow(1000, PLACE_FOREIGN, 1000));
}

int main(void)
{
	CHECK(mkdtemp(directory) != NULL);
	test_control();
	test_others_directory();
	test_ways();
	test_exchanged();
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}
