// SPDX-License-Identifier: Apache-2.0
// What is taken for a memory file of ours, and what is not: each property by itself, on descriptors of this process.
#include "check.h"
#include "held_process.h"

#include "attach/process/memory_file.h"
#include "attach/process/thread_descriptor.h"
#include "inject/abi/payload_header.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME "heapsnap-code-0123456789abcdef0123456789abcdef"

static struct code_names names;
static char made[HS_CODE_NAME_SIZE]; // a name that heapsnap could have made here

static char folder[] = "/tmp/heapsnap-memory-file-XXXXXX";

static int make(const char *name, unsigned flags) { return memfd_create(name, MFD_CLOEXEC | flags); }

// Closes `fd`. Whether it is taken as a new file of the name NAME.
static bool is_taken(int fd)
{
	int taken = -1;
	struct hs_error *error = memory_file_take(held_process(getpid()), getpid(), fd, NAME, &taken);

	CHECK(fd >= 0);
	CHECK(error ? error->code == HS_ERROR_REFUSED && taken == -1 : taken >= 0);
	hs_error_destroy(error);
	if (taken >= 0)
		close(taken);
	close(fd);
	return !error;
}

static int reopened(int fd, int flags)
{
	char path[32];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, flags | O_CLOEXEC);
	close(fd);
	return opened;
}

static int in_folder(const char *name, bool fifo)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (fifo)
		CHECK(mkfifo(path, 0600) == 0);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
	unlink(path);
	return fd;
}

static void test_take(void)
{
	int fd = make(NAME, MFD_ALLOW_SEALING), other, taken;

	CHECK(is_taken(fd));
	CHECK(is_taken(make(NAME, MFD_ALLOW_SEALING | 8 /* MFD_NOEXEC_SEAL */)));
	CHECK(!is_taken(make("heapsnap-code-0123456789abcdef0123456789abcdee", MFD_ALLOW_SEALING)));
	CHECK(!is_taken(make(NAME "0", MFD_ALLOW_SEALING)));
	CHECK(!is_taken(make(NAME, 0))); // sealed against seals
	fd = make(NAME, MFD_ALLOW_SEALING);
	CHECK(ftruncate(fd, 1) == 0);
	CHECK(!is_taken(fd));
	fd = make(NAME, MFD_ALLOW_SEALING);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0);
	CHECK(!is_taken(fd));
	CHECK(!is_taken(reopened(make(NAME, MFD_ALLOW_SEALING), O_RDONLY)));
	CHECK(!is_taken(in_folder("memfd:" NAME, false)));
	CHECK(!is_taken(in_folder("memfd:" NAME, true)));
	CHECK(!is_taken(open("/dev/zero", O_RDWR | O_CLOEXEC)));
	CHECK(!is_taken(open("/etc/passwd", O_PATH | O_CLOEXEC)));
	CHECK(!is_taken(open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)));
	// A handle is opened when it is known what it stands for, as where the kernel gives no more than that.
	CHECK(is_taken(reopened(make(NAME, MFD_ALLOW_SEALING), O_PATH)));
	CHECK(!is_taken(reopened(make("heapsnap-code-0123456789abcdef0123456789abcdee", MFD_ALLOW_SEALING), O_PATH)));
	// What is taken is the very file.
	fd = make(NAME, MFD_ALLOW_SEALING);
	other = make(NAME, MFD_ALLOW_SEALING);
	CHECK(memory_file_take(held_process(getpid()), getpid(), fd, NAME, &taken) == NULL);
	CHECK(memory_file_is_at(held_process(getpid()), getpid(), fd, taken));
	CHECK(!memory_file_is_at(held_process(getpid()), getpid(), other, taken));
	CHECK(dup2(other, fd) == fd);
	CHECK(!memory_file_is_at(held_process(getpid()), getpid(), fd, taken));
	close(fd);
	close(other);
	close(taken);
	CHECK(!memory_file_is_at(held_process(getpid()), getpid(), fd, STDIN_FILENO)); // nothing is there
}

static void test_mapped(void)
{
	int fd = make(NAME, 0), other = make(NAME, 0);
	bool is_ours = false;
	void *memory;

	CHECK(ftruncate(fd, 8192) == 0 && ftruncate(other, 8192) == 0);
	memory = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(memory_file_is_mapped_at(held_process(getpid()), (uint64_t)memory, 8192, fd, &is_ours) == NULL &&
	      is_ours);
	CHECK(memory_file_is_mapped_at(held_process(getpid()), (uint64_t)memory, 4096, fd, &is_ours) == NULL &&
	      !is_ours);
	CHECK(memory_file_is_mapped_at(held_process(getpid()), (uint64_t)memory, 8192, other, &is_ours) == NULL &&
	      !is_ours);
	munmap(memory, 8192);
	close(fd);
	close(other);
}

// Closes `fd`.
static bool is_left(int fd)
{
	bool left = memory_file_is_left(held_process(getpid()), &names, getpid(), fd);

	CHECK(fd >= 0);
	close(fd);
	return left;
}

static int filled(const char *name, uint64_t word)
{
	int fd = make(name, MFD_ALLOW_SEALING);

	CHECK(write(fd, &word, sizeof(word)) == sizeof(word));
	return fd;
}

static int of_user(const char *name, uid_t user)
{
	int fd;

	setfsuid(user);
	fd = make(name, MFD_ALLOW_SEALING);
	setfsuid(geteuid());
	return fd;
}

static void test_left(void)
{
	char other[HS_CODE_NAME_SIZE], path[128];

	CHECK(is_left(make(made, MFD_ALLOW_SEALING)));
	CHECK(is_left(filled(made, HS_PAYLOAD_MAGIC)));
	CHECK(!is_left(filled(made, HS_PAYLOAD_MAGIC + 1)));
	// The form of the name is right.
	CHECK(!is_left(make(NAME, MFD_ALLOW_SEALING)));
	CHECK(!is_left(filled(NAME, HS_PAYLOAD_MAGIC)));
	CHECK(!is_left(filled("heapsnap-code-0123456789abcdef", HS_PAYLOAD_MAGIC)));
	for (size_t i = strlen("heapsnap-code-"); i < strlen(made); i++) {
		snprintf(other, sizeof(other), "%s", made);
		other[i] = other[i] == '0' ? '1' : '0';
		CHECK(!is_left(make(other, MFD_ALLOW_SEALING)));
	}
	snprintf(path, sizeof(path), "memfd:%s", made);
	CHECK(!is_left(in_folder(path, false)));
	CHECK(!is_left(in_folder(path, true)));
	// Who knows the program's secret, and is not who the program is.
	if (geteuid() == 0) {
		CHECK(!is_left(of_user(made, 65534)));
		CHECK(!is_left(reopened(of_user(made, 65534), O_PATH)));
		CHECK(is_left(of_user(made, 0)));
	} else {
		CHECK_LEFT_OUT("not root");
	}
}

static bool is_mapped(const char *name, uid_t user, int flags)
{
	const struct proc_map *map;
	struct proc_maps maps;
	int fd = of_user(name, user);
	void *memory;
	bool ours;

	CHECK(ftruncate(fd, 4096) == 0);
	memory = mmap(NULL, 4096, PROT_READ, flags, fd, 0);
	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	map = proc_maps_find(&maps, (uint64_t)(uintptr_t)memory);
	ours = map && memory_file_is_mapped(held_process(getpid()), &names, map);
	proc_maps_deinit(&maps);
	munmap(memory, 4096);
	close(fd);
	return ours;
}

static void test_mapping(void)
{
	CHECK(is_mapped(made, geteuid(), MAP_PRIVATE));
	CHECK(!is_mapped(NAME, geteuid(), MAP_PRIVATE));
	CHECK(!is_mapped(NAME, geteuid(), MAP_SHARED));
	if (geteuid() == 0) // as far as map_files can be looked at
		CHECK(!is_mapped(made, 65534, MAP_PRIVATE));
}

static pid_t own_tid;
static int own_number;
static pthread_barrier_t barrier;

static void *have_own_table(void *unused)
{
	CHECK(unshare(CLONE_FILES) == 0);
	own_tid = (pid_t)syscall(SYS_gettid);
	own_number = make(made, MFD_ALLOW_SEALING);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

// A number means another file in a thread with a table of its own.
static void test_tables(void)
{
	struct descriptor_tables tables;
	pthread_t thread;
	int taken, foreign;

	CHECK(!descriptor_tables_list(held_process(getpid()), &tables));
	CHECK_EQUAL(tables.count, 1);
	CHECK_EQUAL(tables.tids[0], getpid());
	descriptor_tables_deinit(&tables);
	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(pthread_create(&thread, NULL, have_own_table, NULL) == 0);
	pthread_barrier_wait(&barrier);
	foreign = open("/etc/passwd", O_PATH | O_CLOEXEC);
	CHECK(foreign == own_number || dup2(foreign, own_number) == own_number);
	CHECK(!descriptor_tables_list(held_process(getpid()), &tables));
	CHECK_EQUAL(tables.count, 2);
	CHECK_EQUAL(tables.tids[1], own_tid);
	descriptor_tables_deinit(&tables);
	CHECK(!descriptor_table_is_shared(getpid(), own_tid));
	CHECK(descriptor_table_is_shared(own_tid, own_tid));
	CHECK(memory_file_take(held_process(getpid()), own_tid, own_number, made, &taken) == NULL);
	close(taken);
	CHECK(memory_file_is_left(held_process(getpid()), &names, own_tid, own_number));
	CHECK(!memory_file_is_left(held_process(getpid()), &names, getpid(), own_number));
	CHECK(!is_taken(own_number)); // closes ours, not the thread's
	CHECK(memory_file_is_left(held_process(getpid()), &names, own_tid, own_number));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	if (foreign != own_number)
		close(foreign);
}

int main(void)
{
	struct target_memory memory;
	uint64_t nonce;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	code_names_read(&memory, &names);
	CHECK(code_names_make(&names, made, &nonce) == NULL);
	target_memory_close(&memory);
	CHECK(mkdtemp(folder) != NULL);
	test_take();
	test_mapped();
	test_left();
	test_mapping();
	test_tables();
	rmdir(folder);
	return CHECK_RESULT();
}
