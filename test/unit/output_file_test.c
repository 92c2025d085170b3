// SPDX-License-Identifier: Apache-2.0
#include "lacks_unnamed.h"
#include "output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// Stand before the C library's: what a file system lacks.
static bool lacks_noreplace, lacks_links;
static int file_sync_error, directory_sync_error; // errno; 0 = none

static struct {
	unsigned files, directories;
	int entries; // of the directory when it was synced last
} synced;

static const char *comes_at_naming; // a pipe that another program makes just before the file gets its name

static void let_come(void)
{
	if (comes_at_naming)
		CHECK(mkfifo(comes_at_naming, 0600) == 0);
	comes_at_naming = NULL;
}

int fsync(int fd)
{
	struct stat status;
	bool is_directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);

	synced.files += !is_directory;
	synced.directories += is_directory;
	if (is_directory)
		synced.entries = count_entries();
	errno = is_directory ? directory_sync_error : file_sync_error;
	return errno ? -1 : 0;
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	let_come();
	if (lacks_noreplace) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	let_come();
	if (lacks_links) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
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
	CHECK(!output_file_commit_gzip(&file, PROFILE, strlen(PROFILE), &size));
	umask(022);
	CHECK_EQUAL(count_entries(), 1);
	CHECK(stat(path, &status) == 0);
	CHECK_EQUAL(status.st_mode, S_IFREG | 0600);
	CHECK_EQUAL(status.st_size, size);
	CHECK(has_content(path, PROFILE));
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

	snprintf(target, sizeof(target), "%s", in_directory("carrier"));
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

	CHECK(fails_with(output_file_create(in_directory("of_root"), &file), ": a file that belongs to user 0"));
}

static void write_over_others_link(void)
{
	struct output_file file;

	CHECK(fails_with(output_file_create(in_directory("link_of_root"), &file),
			 ": a symbolic link that belongs to user 0"));
}

// What others have planted in a directory where all may write (mode 1777, like /tmp).
static void test_planted(void)
{
	struct output_file file;
	struct stat status;
	uint64_t size;

	if (!is_root())
		return;
	CHECK(mkdir(in_directory("carrier"), 0700) == 0 && chmod(directory, 01777) == 0);

	// Somebody's link in the place of the file, to something and to nothing: it stays, and what it leads to.
	CHECK(symlink("carrier/file", in_directory("link")) == 0 &&
	      lchown(in_directory("link"), SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_create(in_directory("link"), &file),
			 ": a symbolic link that belongs to user 65534"));
	CHECK(access(in_directory("carrier/file"), F_OK) != 0);
	unlink(in_directory("link"));

	// Somebody's file there.
	HS_CLEANUP_CLOSE int planted = open(in_directory("planted"), O_RDWR | O_CREAT, 0666);

	CHECK(planted >= 0 && fchown(planted, SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_create(in_directory("planted"), &file), ": a file that belongs to user 65534"));
	CHECK(fstat(planted, &status) == 0 && status.st_size == 0 && status.st_nlink == 1);
	unlink(in_directory("planted"));

	// A pipe: nobody opens it.
	CHECK(mkfifo(in_directory("pipe"), 0666) == 0 && lchown(in_directory("pipe"), SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_create(in_directory("pipe"), &file), "is not a plain file"));
	unlink(in_directory("pipe"));

	// A second name of root's own file, where others make names; where they do not, the name is replaced and the
	// file stays.
	HS_CLEANUP_CLOSE int of_root = open(in_directory("of_root"), O_RDWR | O_CREAT, 0644);

	CHECK(of_root >= 0 && link(in_directory("of_root"), in_directory("second")) == 0);
	CHECK(fails_with(output_file_create(in_directory("second"), &file), "has another name too"));
	CHECK(chmod(directory, 0700) == 0 && !output_file_create(in_directory("second"), &file));
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size));
	CHECK(fstat(of_root, &status) == 0 && status.st_size == 0 && status.st_nlink == 1);
	unlink(in_directory("second"));
	CHECK(chmod(directory, 01777) == 0);

	// Somebody's link in the place of a directory is not followed; one's own is.
	CHECK(symlink("carrier", in_directory("way")) == 0);
	CHECK(!output_file_create(in_directory("way/out"), &file));
	output_file_discard(&file);
	CHECK(lchown(in_directory("way"), SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_create(in_directory("way/out"), &file),
			 "a symbolic link that user 65534 has made"));
	unlink(in_directory("way"));

	// And the other way round: what is root's stays root's, and nothing is left behind.
	CHECK(symlink("of_root", in_directory("link_of_root")) == 0);
	as_somebody(write_over_others_file);
	as_somebody(write_over_others_link);
	CHECK(fstat(of_root, &status) == 0 && status.st_size == 0 && status.st_nlink == 1);
	unlink(in_directory("of_root"));
	unlink(in_directory("link_of_root"));
	CHECK(rmdir(in_directory("carrier")) == 0);
	CHECK_EQUAL(count_entries(), 0);
	CHECK(chmod(directory, 0700) == 0);
}

// What comes to have the name between the beginning and the end.
static void test_meanwhile(void)
{
	struct output_file file;
	struct stat status;
	uint64_t size;

	CHECK(!output_file_create(in_directory("out"), &file));
	CHECK(close(open(in_directory("out"), O_WRONLY | O_CREAT, 0600)) == 0);
	CHECK(!output_file_commit_gzip(&file, "text", 4, &size)); // the user's own
	CHECK(has_content(in_directory("out"), "text"));
	unlink(in_directory("out"));

	CHECK(!output_file_create(in_directory("out"), &file));
	CHECK(mkfifo(in_directory("out"), 0600) == 0);
	CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "is not a plain file"));
	CHECK(lstat(in_directory("out"), &status) == 0 && S_ISFIFO(status.st_mode));
	unlink(in_directory("out"));
	CHECK_EQUAL(count_entries(), 0);
	if (!is_root())
		return;
	CHECK(!output_file_create(in_directory("out"), &file));
	CHECK(close(open(in_directory("out"), O_WRONLY | O_CREAT, 0600)) == 0 &&
	      lchown(in_directory("out"), SOMEBODY, SOMEBODY) == 0);
	CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "belongs to user 65534"));
	unlink(in_directory("out"));
	CHECK_EQUAL(count_entries(), 0);
}

// So too at the last moment: what has the name now stays, and is looked at.
static void test_at_naming(void)
{
	for (unsigned named = 0; named <= 1; named++) {
		struct output_file file;
		struct stat status;
		uint64_t size;

		lacks_unnamed = named;
		CHECK(!output_file_create(in_directory("out"), &file));
		comes_at_naming = in_directory("out");
		CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "is not a plain file"));
		CHECK(lstat(in_directory("out"), &status) == 0 && S_ISFIFO(status.st_mode));
		unlink(in_directory("out"));
		CHECK_EQUAL(count_entries(), 0);
	}
	lacks_unnamed = false;
}

// First what is in the file, then its name: both are on the disk when the tool says that it is written. Some file
// systems do not know that.
static void test_synced(void)
{
	static const struct {
		int file, directory;
		const char *complaint; // NULL = none
		bool is_there;
	} cases[] = {
		{ 0, 0, NULL, true },
		{ EINVAL, EINVAL, NULL, true },
		{ EROFS, ENOTSUP, NULL, true },
		{ ENOSYS, ENOSYS, NULL, true },
		{ EIO, 0, "cannot write", false },
		{ ENOSPC, 0, "make room", false },
		{ 0, EIO, "cannot sync the directory", true },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct output_file file;
		struct hs_error *error;
		uint64_t size;

		file_sync_error = cases[i].file;
		directory_sync_error = cases[i].directory;
		memset(&synced, 0, sizeof(synced));
		CHECK(!output_file_create(in_directory("out"), &file));
		error = output_file_commit_gzip(&file, "text", 4, &size);
		CHECK_EQUAL(synced.files, 1);
		CHECK_EQUAL(synced.directories, cases[i].is_there);
		CHECK(!cases[i].is_there || synced.entries == 1);
		CHECK(cases[i].complaint ? fails_with(error, cases[i].complaint) : !error);
		CHECK_EQUAL(count_entries(), cases[i].is_there);
		if (cases[i].is_there)
			CHECK(has_content(in_directory("out"), "text"));
		unlink(in_directory("out"));
	}
	file_sync_error = directory_sync_error = 0;
}

// File systems that know no files without a name, no rename that replaces nothing, no hard links.
static void test_poor_file_systems(void)
{
	struct output_file file;
	uint64_t size;

	for (unsigned lacking = 0; lacking < 4; lacking++) {
		lacks_unnamed = true;
		lacks_noreplace = lacking & 1;
		lacks_links = lacking & 2;
		for (int i = 0; i < 2; i++) { // new, and over the first
			CHECK(!output_file_create(in_directory("out"), &file));
			CHECK(file.temporary != NULL);
			CHECK(!output_file_commit_gzip(&file, PROFILE, strlen(PROFILE), &size));
			CHECK_EQUAL(count_entries(), 1);
			CHECK(has_content(in_directory("out"), PROFILE));
		}
		unlink(in_directory("out"));
		CHECK(!output_file_create(in_directory("out"), &file));
		CHECK(mkfifo(in_directory("out"), 0600) == 0);
		CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "is not a plain file"));
		unlink(in_directory("out"));
		CHECK_EQUAL(count_entries(), 0);
	}
	// Where others make names, a rename could take away what came to be there.
	CHECK(chmod(directory, 01777) == 0);
	CHECK(!output_file_create(in_directory("out"), &file));
	CHECK(fails_with(output_file_commit_gzip(&file, "text", 4, &size), "cannot create"));
	CHECK(chmod(directory, 0700) == 0);
	CHECK_EQUAL(count_entries(), 0);
	lacks_unnamed = lacks_noreplace = lacks_links = false;
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
	struct sigaction pipe_action;
	struct output_file file;
	uint64_t size = 0;
	int pipe_fds[2];

	signal(SIGPIPE, SIG_DFL); // whatever the test was started with
	CHECK(pipe(pipe_fds) == 0);

	int saved = with_standard_output(pipe_fds[1]);
	struct hs_error *error = output_file_create("-", &file);

	if (!error)
		error = output_file_commit_gzip(&file, "text", 4, &size);
	CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
	CHECK(!error);
	CHECK(size > 0);
	// for who is started later
	CHECK(sigaction(SIGPIPE, NULL, &pipe_action) == 0 && pipe_action.sa_handler == SIG_DFL);

	// No reader: an error, not the death of the process.
	close(pipe_fds[0]);
	error = output_file_create("/dev/stdout", &file);
	CHECK(!error);
	error = output_file_commit_gzip(&file, "text", 4, &size);
	restore_standard_output(saved);
	close(pipe_fds[1]);
	CHECK(fails_with(error, "closed it early"));
	CHECK(sigaction(SIGPIPE, NULL, &pipe_action) == 0 && pipe_action.sa_handler == SIG_DFL);

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
	test_meanwhile();
	test_at_naming();
	test_synced();
	test_poor_file_systems();
	test_full();
	test_standard_output();
	CHECK(rmdir(directory) == 0);
	return CHECK_RESULT();
}
