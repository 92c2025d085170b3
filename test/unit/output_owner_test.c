// SPDX-License-Identifier: Apache-2.0
// Whose a file becomes where sudo is at work, and whose an attacker's environment does not make it.
#include "output_folder.h"

#include "proto/output_owner.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_texts(void)
{
	static const struct {
		uid_t real, effective;
		const char *user, *group;
		bool is_known;
	} cases[] = {
		{ 0, 0, "1000", "1000", true },
		{ 0, 0, "1000", "0", true },
		{ 0, 0, "4294967294", "4294967294", true },
		{ 0, 0, NULL, NULL, false },
		{ 0, 0, "1000", NULL, false },
		{ 0, 0, NULL, "1000", false },
		{ 0, 0, "0", "0", false },             // root's it is already
		{ 1000, 0, "1001", "1001", false },    // a set-user-ID program: the user has set that
		{ 1000, 1000, "1001", "1001", false }, //
		{ 0, 1000, "1001", "1001", false },
		{ 0, 0, "", "1000", false },
		{ 0, 0, "1000", "", false },
		{ 0, 0, "-1", "1000", false },
		{ 0, 0, "+1", "1000", false },
		{ 0, 0, " 1", "1000", false },
		{ 0, 0, "1 ", "1000", false },
		{ 0, 0, "1e3", "1000", false },
		{ 0, 0, "0x10", "1000", false },
		{ 0, 0, "root", "root", false },
		{ 0, 0, "4294967295", "1000", false }, // means "as it is" to chown
		{ 0, 0, "1000", "4294967295", false },
		{ 0, 0, "4294967296", "1000", false },
		{ 0, 0, "18446744073709551617", "1000", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct output_owner owner =
			output_owner_of(cases[i].real, cases[i].effective, cases[i].user, cases[i].group);

		if (owner.is_known != cases[i].is_known)
			fprintf(stderr, "case %zu\n", i);
		CHECK_EQUAL(owner.is_known, cases[i].is_known);
		CHECK(!owner.is_known || (owner.user == strtoul(cases[i].user, NULL, 10) &&
					  owner.group == strtoul(cases[i].group, NULL, 10)));
	}
}

static void test_directories(void)
{
	static const struct output_owner owner = { true, 1000, 1001 };
	static const struct {
		uid_t user;
		gid_t group;
		mode_t mode;
		bool may_write;
	} cases[] = {
		{ 1000, 1000, 0700, true },  { 1000, 1000, 0500, false }, { 1000, 1001, 0577, false },
		{ 1000, 1001, 0677, false }, { 0, 0, 0755, false },       { 0, 0, 01777, true },
		{ 0, 0, 0777, true },        { 0, 0, 0776, false },       { 0, 1001, 0775, true },
		{ 0, 1001, 0757, false },    { 0, 1000, 0770, false },    { 7, 7, 0755, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct stat directory_status = { .st_uid = cases[i].user,
						       .st_gid = cases[i].group,
						       .st_mode = S_IFDIR | cases[i].mode };

		if (output_owner_may_write(&owner, &directory_status) != cases[i].may_write)
			fprintf(stderr, "directory %zu\n", i);
		CHECK_EQUAL(output_owner_may_write(&owner, &directory_status), cases[i].may_write);
	}
}

static void write_profile(const char *path)
{
	struct output_file file;
	uint64_t size;

	CHECK(!output_file_create(path, &file));
	CHECK(!output_file_commit_gzip(&file, PROFILE, strlen(PROFILE), &size));
}

static bool is_of(const char *path, uid_t user, gid_t group)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_uid == user && status.st_gid == group &&
	       status.st_mode == (S_IFREG | 0600);
}

// As root, called by somebody with sudo.
static void test_files(void)
{
	struct output_file file;

	if (!is_root())
		return;
	CHECK(setenv("SUDO_UID", "65534", 1) == 0 && setenv("SUDO_GID", "65533", 1) == 0);
	write_profile(in_directory("out")); // root's folder
	CHECK(is_of(in_directory("out"), 0, 0));
	CHECK(chown(directory, SOMEBODY, SOMEBODY) == 0);
	write_profile(in_directory("out")); // theirs, over a file of root's
	CHECK(is_of(in_directory("out"), SOMEBODY, 65533));
	write_profile(in_directory("out")); // over their own
	CHECK(is_of(in_directory("out"), SOMEBODY, 65533));
	CHECK(setenv("SUDO_UID", "-1", 1) == 0);
	CHECK(fails_with(output_file_create(in_directory("out"), &file), "a file that belongs to user 65534"));
	CHECK(setenv("SUDO_UID", "65533", 1) == 0); // another one's
	CHECK(fails_with(output_file_create(in_directory("out"), &file), "a file that belongs to user 65534"));
	unlink(in_directory("out"));
	write_profile(in_directory("new")); // a folder that is not theirs
	CHECK(is_of(in_directory("new"), 0, 0));
	CHECK(setenv("SUDO_UID", "65534", 1) == 0);
	CHECK(symlink("new", in_directory("link")) == 0 && lchown(in_directory("link"), SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_create(in_directory("link"), &file),
			 "a symbolic link that belongs to user 65534"));
	unlink(in_directory("link"));
	unlink(in_directory("new"));
	CHECK_EQUAL(count_entries(), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	test_texts();
	test_directories();
	test_files();
	rmdir(directory);
	return CHECK_RESULT();
}
