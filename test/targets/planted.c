// SPDX-License-Identifier: Apache-2.0
// A server that is handed memory files by a client of another user, as display and sound servers are, and keeps them
// open or mapped. The client has given them names and contents of heapsnap's. usage: planted [cleared]: it first clears
// the bytes at its AT_RANDOM, as Go's runtime does. Commands:
//   plant DIGITS CONTENT HOW   DIGITS: how many stand in the name. CONTENT: empty, page (a keymap), magic (begins as
//                              our code), image (the code of an attach, with islands, made for the addresses where the
//                              server maps it). HOW: fd, private, shared, exec: "planted"
//   check                      whether all that was planted is as it was: "intact", or what has changed
//   child                      forks a child that gives up root and allocates until the parent ends: its id
//   own THREADS NUMBERS        so many threads, each with a table of its own with so many more descriptors: "made"
//   watch                      from now on the pauses of a thread that sleeps for 2 ms each time are noted,
//                              without what it waits for a processor: "watched"
//   longest                    the longest, in ms: a number
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "inject/abi/payload_header.h"

#define DIGITS "0123456789abcdef"
#define CODE   UINT64_C(0x200000000000) // the worst that can be: where ours would be, and the client knows
#define AREA   UINT64_C(0x200001000000)

enum { IMAGE_SIZE = 8192, AREA_SIZE = 4096, PLANTED_MAX = 32, NOBODY = 65534 };

static struct planted {
	int fd; // -1 = not kept
	ino_t inode;
	uint8_t *memory; // NULL = not mapped
	size_t size;
	uint8_t content[IMAGE_SIZE];
} planted[PLANTED_MAX];
static int planted_count;

static uint8_t *places; // of the server's own code: what the islands say is patched

static int make_file(const char *digits, const char *content)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "heapsnap-code-%s", strcmp(digits, "16") == 0 ? DIGITS : DIGITS DIGITS);
	fd = memfd_create(name, MFD_ALLOW_SEALING);
	if (strcmp(content, "page") == 0) {
		pwrite(fd, "keymap of a client", 18, 0);
		ftruncate(fd, 4096);
	} else if (strcmp(content, "magic") == 0) {
		pwrite(fd, "SPAYLOAD", 8, 0);
		ftruncate(fd, 4096);
	} else if (strcmp(content, "image") == 0) {
		static const uint8_t stub[] = { 0x4c, 0x8d, 0x1d, 0xe9, 0xff, 0xff, 0xff, 0x41, 0xff, 0x23 };
		struct payload_header header = {
			.magic = HS_PAYLOAD_MAGIC,
			.abi_version = HS_ABI_VERSION,
			.image_size = IMAGE_SIZE,
			.config.code = CODE,
			.config.state = CODE + IMAGE_SIZE,
			.config.state_size = HS_STATE_SIZE,
		};
		struct hook_island island = {
			.entry = CODE + 64, .begin = HS_ISLAND_STUB_OFFSET, .kind = HOOK_malloc, .size = 5
		};

		memcpy(island.stub, stub, sizeof(stub));
		pwrite(fd, &header, sizeof(header), 0);
		// where a jump to the island stands, and where neither that nor the old bytes do
		for (uint32_t i = 0; i < 2; i++) {
			island.hook_index = i;
			island.address = (uint64_t)(uintptr_t)(places + i * 64);
			memset(island.old_bytes, 0xf4, sizeof(island.old_bytes));
			pwrite(fd, &island, sizeof(island), (off_t)(IMAGE_SIZE + i * sizeof(island)));
		}
		ftruncate(fd, IMAGE_SIZE + AREA_SIZE);
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

static bool give_up_root(void)
{
	return geteuid() != 0 || (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

// What a client has made and sent.
static int receive(const char *digits, const char *content)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { 0 };
	char byte = 'x';
	struct iovec vector = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pair[2], fd;
	pid_t client;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	client = fork();
	if (client == 0) {
		if (!give_up_root())
			_exit(1);
		fd = make_file(digits, content);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
		_exit(sendmsg(pair[1], &message, 0) != 1);
	}
	close(pair[1]);
	fd = -1;
	if (recvmsg(pair[0], &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	close(pair[0]);
	waitpid(client, NULL, 0);
	return fd;
}

static void *must_map(uint64_t address, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *memory = mmap((void *)(uintptr_t)address, size, protection, flags | (address ? MAP_FIXED_NOREPLACE : 0),
			    fd, offset);

	if (memory == MAP_FAILED)
		exit(3);
	return memory;
}

static void note(int fd, void *memory, size_t size)
{
	struct planted *new = &planted[planted_count++];
	struct stat status = { 0 };

	if (fd >= 0)
		fstat(fd, &status);
	*new = (struct planted){ .fd = fd, .inode = status.st_ino, .memory = memory, .size = size };
	if (memory)
		memcpy(new->content, memory, size);
}

static const char *plant(const char *digits, const char *content, const char *how)
{
	int fd = receive(digits, content), flags = strcmp(how, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE;
	int protection = PROT_READ | (strcmp(how, "exec") == 0 ? PROT_EXEC : 0);

	if (fd < 0 || planted_count + 3 > PLANTED_MAX)
		return "cannot";
	if (strcmp(how, "fd") == 0) {
		note(fd, NULL, 0);
		return "planted";
	}
	if (strcmp(content, "image") == 0) {
		const size_t state_size = HS_STATE_SIZE < IMAGE_SIZE ? HS_STATE_SIZE : IMAGE_SIZE;
		uint8_t *state;

		note(-1, must_map(CODE, IMAGE_SIZE, protection, flags, fd, 0), IMAGE_SIZE);
		state = must_map(CODE + IMAGE_SIZE, HS_STATE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		memset(state, 0x55, state_size);
		note(-1, state, state_size);
		note(-1, must_map(AREA, AREA_SIZE, protection, flags, fd, IMAGE_SIZE), AREA_SIZE);
	} else {
		note(-1, must_map(0, 4096, protection, flags, fd, 0), 4096);
	}
	close(fd);
	return "planted";
}

static const char *find_change(void)
{
	for (int i = 0; i < planted_count; i++) {
		const struct planted *one = &planted[i];
		unsigned char pages[IMAGE_SIZE / 4096];
		struct stat status;

		if (one->fd >= 0 && (fstat(one->fd, &status) != 0 || status.st_ino != one->inode))
			return "a descriptor is gone";
		if (one->memory && mincore(one->memory, one->size, pages) != 0)
			return "a mapping is gone";
		if (one->memory && memcmp(one->memory, one->content, one->size) != 0)
			return "a mapping has changed";
	}
	return "intact";
}

// A page of the server's own code.
static void make_places(void)
{
	const int32_t displacement = (int32_t)(AREA + HS_ISLAND_STUB_OFFSET - (AREA + 0x100000 + 5));

	places = must_map(AREA + 0x100000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(places, 0x90, 4096);
	places[0] = 0xe9;
	memcpy(places + 1, &displacement, sizeof(displacement));
	mprotect(places, 4096, PROT_READ | PROT_EXEC);
	note(-1, places, 4096);
}

static void allocate(void)
{
	void *volatile block = malloc(100);

	free(block);
}

static int make_child(void)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!give_up_root())
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); // a change of rights has taken it back
	for (;;) {
		allocate();
		usleep(1000);
	}
}

static _Atomic int made, numbers;
static _Atomic long longest_ns;

static void *have_own_table(void *unused)
{
	unshare(CLONE_FILES);
	for (int i = 0; i < numbers; i++)
		dup(2);
	made++;
	for (;;)
		pause();
	return unused;
}

// For how long the thread has waited for a processor, in ns: the second number of its schedstat. 0 where there is none.
static long waited(int schedstat)
{
	char text[100] = "";
	long wait_ns = 0;

	if (pread(schedstat, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%*s %ld", &wait_ns);
	return wait_ns;
}

// The time without that, in ns.
static long not_waiting(int schedstat)
{
	struct timespec now;
	long wait_ns;

	do {
		wait_ns = waited(schedstat);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (waited(schedstat) != wait_ns);
	return now.tv_sec * 1000000000 + now.tv_nsec - wait_ns;
}

static void *watch(void *unused)
{
	const struct timespec little = { .tv_nsec = 2000000 };
	const int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	long before = not_waiting(schedstat);

	for (;;) {
		long now, pause_ns;

		nanosleep(&little, NULL);
		now = not_waiting(schedstat);
		pause_ns = now - before;
		if (pause_ns > longest_ns)
			longest_ns = pause_ns;
		before = now;
	}
	return unused;
}

static void make_tables(int threads)
{
	struct rlimit limit;
	pthread_t thread;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, have_own_table, NULL);
	while (made < threads)
		usleep(1000);
}

int main(int count, char **arguments)
{
	char digits[16], content[16], how[16];
	const char *command;
	pthread_t thread;
	int number, more;

	if (count > 1 && strcmp(arguments[1], "cleared") == 0)
		memset((void *)getauxval(AT_RANDOM), 0, 16);
	make_places();
	say_ready();
	while ((command = next_command())) {
		allocate();
		if (sscanf(command, "plant %15s %15s %15s", digits, content, how) == 3) {
			puts(plant(digits, content, how));
		} else if (strcmp(command, "check") == 0) {
			puts(find_change());
		} else if (strcmp(command, "child") == 0) {
			printf("%d\n", make_child());
		} else if (sscanf(command, "own %d %d", &number, &more) == 2) {
			numbers = more;
			make_tables(number);
			puts("made");
		} else if (strcmp(command, "watch") == 0) {
			puts(pthread_create(&thread, NULL, watch, NULL) == 0 ? "watched" : "cannot");
		} else if (strcmp(command, "longest") == 0) {
			printf("%ld\n", longest_ns / 1000000);
		} else {
			puts("unknown");
		}
	}
	return 0;
}
