// SPDX-License-Identifier: Apache-2.0
// Memory of another process is read where it is there, and no page is asked for that somebody would have to provide.

#include "attach/process/memory.h"
#include "check.h"
#include "held_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4 * HS_PAGE_SIZE };

static char *of_file, *anonymous;

// Pages 1 of each mapping are touched, the others are not there.
static _Noreturn void be_the_target(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	*(volatile char *)(of_file + HS_PAGE_SIZE) = 'c'; // a private copy
	*(volatile char *)(anonymous + HS_PAGE_SIZE) = 'a';
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool is_read(const struct target_memory *memory, const char *place, size_t size, char first)
{
	char buffer[2 * HS_PAGE_SIZE] = { 0 };
	struct hs_error *error = target_memory_read_resident(memory, (uint64_t)place, buffer, size);

	CHECK(!error || (error->code == HS_ERROR_FAULT && error->address == (uint64_t)place));
	hs_error_destroy(error);
	CHECK(error || buffer[0] == first);
	return !error;
}

// Its page with the kernel's random bytes is another one, which is not there. Stands far from that page.
static _Noreturn void be_the_old_program(int ready)
{
	volatile char depth[16 * HS_PAGE_SIZE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	depth[0] = 1;
	if (mmap((void *)page_of(getauxval(AT_RANDOM)), HS_PAGE_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
	    write(ready, "", 1) != 1)
		_exit(1);
	while (depth[0])
		pause();
	_exit(0);
}

static pid_t start(void (*be)(int ready))
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0)
		be(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

// As if the second process had executed its program since its memory was opened, and the first had kept the old memory.
static void test_open_again(pid_t pid)
{
	const uint64_t random = getauxval(AT_RANDOM);
	const pid_t old = start(be_the_old_program);
	struct target_memory memory, of_old;
	bool executed;
	uint8_t byte;

	CHECK(target_memory_open(held_process(old), &memory) == NULL);
	CHECK(target_memory_open(held_process(old), &of_old) == NULL);
	memory.process = held_process(pid);
	CHECK(target_memory_open_again(&memory, &executed) == NULL && executed);
	CHECK(is_read(&memory, anonymous + HS_PAGE_SIZE, 8, 'a'));
	// and its page was not asked for: it is still not there
	struct hs_error *error = target_memory_read_resident(&of_old, random, &byte, sizeof(byte));
	CHECK(error);
	hs_error_destroy(error);
	CHECK(target_memory_open_again(&memory, &executed) == NULL && !executed);
	target_memory_close(&of_old);
	target_memory_close(&memory);
	end(old);
}

// What the kernel does not say is not taken for an answer; a kernel without a pagemap says that all is there.
static void test_residence(struct target_memory *memory)
{
	const int pagemap = memory->pagemap;
	const uint64_t there = (uint64_t)anonymous + HS_PAGE_SIZE, absent = (uint64_t)anonymous + 3 * HS_PAGE_SIZE;

	CHECK_EQUAL(target_memory_residence(memory, there, 8), RESIDENCE_THERE);
	CHECK_EQUAL(target_memory_residence(memory, absent, 8), RESIDENCE_ABSENT);
	memory->pagemap = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_EQUAL(target_memory_residence(memory, there, 8), RESIDENCE_UNKNOWN);
	CHECK(!target_memory_is_resident(memory, there, 8));
	close(memory->pagemap);
	memory->pagemap = -1;
	CHECK_EQUAL(target_memory_residence(memory, absent, 8), RESIDENCE_THERE);
	memory->pagemap = pagemap;
}

int main(void)
{
	char path[] = "/tmp/heapsnap-test-XXXXXX";
	int file = mkstemp(path);
	struct target_memory memory;
	pid_t pid;

	CHECK(file >= 0 && unlink(path) == 0 && ftruncate(file, SIZE) == 0);
	of_file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	anonymous = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(of_file != MAP_FAILED && anonymous != MAP_FAILED);
	CHECK(madvise(anonymous, SIZE, MADV_NOHUGEPAGE) == 0 && madvise(of_file, SIZE, MADV_RANDOM) == 0);
	pid = start(be_the_target);
	CHECK(target_memory_open(held_process(pid), &memory) == NULL);
	CHECK(is_read(&memory, of_file + HS_PAGE_SIZE, HS_PAGE_SIZE, 'c'));
	CHECK(is_read(&memory, anonymous + HS_PAGE_SIZE, 8, 'a'));
	CHECK(!is_read(&memory, of_file + 2 * HS_PAGE_SIZE, 8, 0));
	CHECK(!is_read(&memory, anonymous + 3 * HS_PAGE_SIZE, 8, 0));
	// from the one into the other
	CHECK(!is_read(&memory, of_file + 2 * HS_PAGE_SIZE - 4, 8, 0));
	CHECK(!is_read(&memory, of_file + HS_PAGE_SIZE - 4, 8, 0));
	CHECK(!is_read(&memory, of_file + HS_PAGE_SIZE, HS_PAGE_SIZE + 1, 'c'));
	test_residence(&memory);
	target_memory_close(&memory);
	test_open_again(pid);
	end(pid);
	return CHECK_RESULT();
}
