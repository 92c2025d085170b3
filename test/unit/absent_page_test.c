// SPDX-License-Identifier: Apache-2.0
// While a process stands still no page of its memory is asked for that somebody has to provide. It is read when the
// process runs again, and then the next stop has it.

#include "attach/guard/standstill.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4 * HS_PAGE_SIZE };

static char *of_file, *of_memory_file, *anonymous;

static pid_t start(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static char *map(int flags, int fd)
{
	char *place = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(place != MAP_FAILED && madvise(place, SIZE, MADV_RANDOM) == 0);
	return place;
}

static bool is_there(const struct target_memory *memory, const char *place)
{
	char byte;
	struct hs_error *error = target_memory_read_resident(memory, (uint64_t)place, &byte, 1);

	hs_error_destroy(error);
	return !error;
}

static bool is_refused(struct hs_error *error)
{
	const bool refused = error && error->code == HS_ERROR_REFUSED;

	hs_error_destroy(error);
	return refused;
}

static void must(struct hs_error *error)
{
	CHECK(!error);
	hs_error_destroy(error);
}

int main(void)
{
	char path[] = "/tmp/heapsnap-test-XXXXXX", bytes[HS_PAGE_SIZE];
	int file = mkstemp(path), memory_file = memfd_create("test", MFD_CLOEXEC);
	struct frozen_process frozen;
	struct target_memory memory;
	pid_t pid;

	CHECK(file >= 0 && unlink(path) == 0 && memory_file >= 0 && ftruncate(memory_file, SIZE) == 0);
	for (int i = 0; i < 4; i++) {
		memset(bytes, 'a' + i, HS_PAGE_SIZE);
		CHECK(write(file, bytes, HS_PAGE_SIZE) == HS_PAGE_SIZE);
	}
	of_file = map(MAP_PRIVATE, file);
	of_memory_file = map(MAP_SHARED, memory_file);
	anonymous = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	pid = start();
	must(target_memory_open(held_process(pid), &memory));

	must(threads_freeze_memory(&memory, HS_FREEZE_TIMEOUT_MS, &frozen));
	CHECK(!standstill_lacked_files());
	must(target_memory_read(&memory, (uint64_t)anonymous + HS_PAGE_SIZE - 4, bytes, 8));
	must(target_memory_read(&memory, (uint64_t)of_memory_file, bytes, 8));
	must(target_memory_write(&memory, (uint64_t)of_memory_file + HS_PAGE_SIZE, bytes, 8, pid));
	CHECK(!standstill_lacked_files());
	CHECK(is_refused(target_memory_read(&memory, (uint64_t)of_file + HS_PAGE_SIZE, bytes, 8)));
	CHECK(standstill_lacked_files());
	CHECK(is_refused(target_memory_write(&memory, (uint64_t)of_file + 2 * HS_PAGE_SIZE - 4, "12345678", 8, pid)));
	CHECK(!is_there(&memory, of_file + HS_PAGE_SIZE) && !is_there(&memory, of_file + 2 * HS_PAGE_SIZE));
	must(threads_thaw(&frozen));

	must(threads_freeze_memory(&memory, HS_FREEZE_TIMEOUT_MS, &frozen));
	CHECK(!standstill_lacked_files());
	must(target_memory_read(&memory, (uint64_t)of_file + HS_PAGE_SIZE, bytes, HS_PAGE_SIZE));
	CHECK(bytes[0] == 'b' && bytes[HS_PAGE_SIZE - 1] == 'b');
	must(threads_thaw(&frozen));
	standstill_done();

	// where no thread is stopped it is asked for
	must(target_memory_read(&memory, (uint64_t)of_file + 3 * HS_PAGE_SIZE, bytes, 8));
	CHECK(bytes[0] == 'd');
	target_memory_close(&memory);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return CHECK_RESULT();
}
