// SPDX-License-Identifier: Apache-2.0
// Threads with tables of descriptors of their own, and a process that shares one and exchanges what is in it.
// usage: descriptor_tables FILE [outside]; it never opens FILE but by O_PATH, of which it keeps many, so that most
// numbers stand for it here. Commands:
//   own N            N threads with a table of their own each, of which the first is busy with malloc and free; the
//                    others wait: "made"
//   share N          so too, with the descriptors of the main thread: "made"
//   busy N           from now on thread N is the busy one: "busy"
//   swap KIND        a process that shares the busy thread's table, without sharing its memory, puts something else
//                    into the place of each of heapsnap's memory files that it sees there: an O_PATH descriptor of FILE
//                    (path), a memory file of the same name (memory), a pipe with a name (pipe, in the current folder),
//                    an empty file without a name (file), or nothing, so that it is only there (nothing): "swaps".
//                    With "outside" it is the program's parent, and does so from another PID namespace
//   swapped          "SWAPPED LOST": how often it did so, and how many of the descriptors that it put there somebody
//                    has closed
//   decoys           what only looks like a memory file of heapsnap, in this table and in the busy thread's: "N", how
//                    many
//   decoys left      how many of them are still there: "N"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

#define DIGITS "0123456789abcdef"

enum { THREADS_MAX = 8, NUMBERS = 64, DECOYS_MAX = 16, MANY = 30 };

struct shared {
	_Atomic int swapped, lost, wanted;
	char kind[16];
	_Atomic ino_t inodes[NUMBERS]; // of what was put there; 0 = nothing
};

static const char *file;
static struct shared *shared;
static _Atomic int busy_thread, thread_count, wanted_kind, answer;
static bool waits[THREADS_MAX]; // under the mutex
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char stack[1 << 20] __attribute__((aligned(16)));
static bool outside, own_tables;
static struct decoy {
	int fd;
	ino_t inode;
} decoys[DECOYS_MAX];
static int decoy_count;

static int open_other(const char *kind, const char *name)
{
	if (strcmp(kind, "path") == 0)
		return open(file, O_PATH | O_CLOEXEC);
	if (strcmp(kind, "memory") == 0)
		return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (strcmp(kind, "pipe") == 0)
		return open("pipe", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void look_after(int fd)
{
	struct stat status;

	if (fstat(fd, &status) == 0 && status.st_ino == shared->inodes[fd])
		return;
	shared->lost++;
	shared->inodes[fd] = 0;
}

// In the process that shares the table. It has a copy of the memory, but for `shared`.
static void swap_for_ever(void)
{
	for (;;) {
		if (waitpid(-1, NULL, WNOHANG) > 0)
			_exit(0);
		if (strcmp(shared->kind, "nothing") == 0) {
			usleep(1000);
			continue;
		}
		for (int fd = 3; fd < NUMBERS; fd++) {
			char path[64], link[128];
			struct stat status;
			ssize_t size;
			int other;

			if (shared->inodes[fd]) {
				look_after(fd);
				continue;
			}
			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			size = readlink(path, link, sizeof(link) - 1);
			link[size > 0 ? size : 0] = 0;
			if (strncmp(link, "/memfd:heapsnap-", 16) != 0)
				continue;
			link[strcspn(link, " ")] = 0;
			other = open_other(shared->kind, link + 7);
			if (other < 0 || fstat(other, &status) != 0)
				_exit(1);
			dup3(other, fd, O_CLOEXEC);
			shared->inodes[fd] = status.st_ino;
			shared->swapped++;
			close(other);
		}
	}
}

static int swap(void *unused)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	swap_for_ever();
	return unused != NULL;
}

static int begin_swapping(void)
{
	shared->wanted = 1;
	if (outside)
		return 1;
	return clone(swap, stack + sizeof(stack), CLONE_FILES | SIGCHLD, NULL);
}

static void add_decoy(int fd)
{
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		exit(4);
	decoys[decoy_count++] = (struct decoy){ fd, status.st_ino };
}

// A file with the link that a memory file has: in a mount that is no longer anywhere, it has no more than its own name.
static int foreign_file(void)
{
	char folder[] = "/tmp/heapsnap-decoy-XXXXXX", path[128];
	int fd;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    !mkdtemp(folder))
		return -1;
	if (mount("none", folder, "tmpfs", 0, NULL) != 0)
		exit(5);
	snprintf(path, sizeof(path), "%s/memfd:heapsnap-code-" DIGITS DIGITS, folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	unlink(path);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	return fd;
}

static void make_decoys(void)
{
	int fd = memfd_create("heapsnap-code-" DIGITS DIGITS, MFD_CLOEXEC);

	write(fd, "somebody else's", 15);
	add_decoy(fd);
	add_decoy(memfd_create("heapsnap-code-" DIGITS DIGITS, MFD_CLOEXEC)); // as if just made
	fd = memfd_create("heapsnap-code-" DIGITS DIGITS, MFD_CLOEXEC);
	write(fd, "SPAYLOAD", 8); // as our code begins
	add_decoy(fd);
	add_decoy(memfd_create("heapsnap-code", MFD_CLOEXEC));
	add_decoy(memfd_create("heapsnap-other-" DIGITS DIGITS, MFD_CLOEXEC));
	add_decoy(memfd_create("heapsnap-code-" DIGITS "0123456789abcdeg", MFD_CLOEXEC));
	add_decoy(memfd_create("heapsnap-code-" DIGITS DIGITS "0", MFD_CLOEXEC));
	fd = foreign_file();
	if (fd >= 0)
		add_decoy(fd);
}

static int decoys_left(void)
{
	int left = 0;

	for (int i = 0; i < decoy_count; i++) {
		struct stat status;

		left += fstat(decoys[i].fd, &status) == 0 && status.st_ino == decoys[i].inode;
	}
	return left;
}

enum kind { NOTHING, SWAP, MAKE_DECOYS, COUNT_DECOYS };

static void wait_for_turn(int own)
{
	pthread_mutex_lock(&mutex);
	waits[own] = true;
	while (busy_thread != own)
		pthread_cond_wait(&changed, &mutex);
	waits[own] = false;
	pthread_mutex_unlock(&mutex);
}

// Ends when it works and all others wait, also the one that had the turn: a descriptor is asked about in the table of
// the right thread.
static void give_turn(int number)
{
	pthread_mutex_lock(&mutex);
	busy_thread = number;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (bool done = false; !done;) {
		pthread_mutex_lock(&mutex);
		done = !waits[number];
		for (int i = 0; i < thread_count; i++)
			done = done && (i == number || waits[i]);
		pthread_mutex_unlock(&mutex);
		usleep(1000);
	}
}

static void *work(void *number)
{
	const int own = (int)(long)number;

	if (own_tables)
		unshare(CLONE_FILES);
	close(3); // of the many: here the next file has a number that means FILE to the main thread
	thread_count++;
	for (;;) {
		void *volatile block;

		if (busy_thread != own)
			wait_for_turn(own);
		block = malloc(100);
		free(block);
		const int wanted = wanted_kind;

		switch (wanted) {
		case SWAP:
			answer = begin_swapping();
			break;
		case MAKE_DECOYS:
			make_decoys();
			answer = decoy_count;
			break;
		case COUNT_DECOYS:
			answer = decoys_left();
			break;
		default:
			continue;
		}
		wanted_kind = NOTHING;
	}
	return NULL;
}

static int ask_thread(int what)
{
	wanted_kind = what;
	while (wanted_kind)
		usleep(1000);
	return answer;
}

static int listen(void *unused)
{
	const char *command;
	int count;

	if (outside)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	say_ready();
	while ((command = next_command())) {
		if ((sscanf(command, "own %d", &count) == 1 || sscanf(command, "share %d", &count) == 1) &&
		    count <= THREADS_MAX) {
			own_tables = *command == 'o';
			for (long i = 0; i < count; i++) {
				pthread_t thread;

				pthread_create(&thread, NULL, work, (void *)i);
			}
			while (thread_count < count)
				usleep(1000);
			puts("made");
		} else if (sscanf(command, "busy %d", &count) == 1) {
			give_turn(count);
			puts("busy");
		} else if (strcmp(command, "swapped") == 0) {
			printf("%d %d\n", shared->swapped, shared->lost);
		} else if (sscanf(command, "swap %15s", shared->kind) == 1) {
			puts(ask_thread(SWAP) > 0 ? "swaps" : "cannot");
		} else if (strcmp(command, "decoys") == 0) {
			printf("%d\n", ask_thread(MAKE_DECOYS));
		} else if (strcmp(command, "decoys left") == 0) {
			printf("%d\n", ask_thread(COUNT_DECOYS));
		} else {
			puts("unknown");
		}
	}
	exit(unused != NULL); // with all threads; who returns from a clone ends alone
}

int main(int count, char **arguments)
{
	if (count < 2)
		return 2;
	file = arguments[1];
	outside = count > 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < MANY; i++)
		open(file, O_PATH | O_CLOEXEC);
	if (!outside)
		return listen(NULL);
	if (clone(listen, stack + sizeof(stack), CLONE_FILES | CLONE_NEWPID | SIGCHLD, NULL) < 0)
		return 3;
	while (!shared->wanted)
		if (usleep(1000) != 0 || waitpid(-1, NULL, WNOHANG) > 0)
			return 0;
	swap_for_ever();
	return 0;
}
