// SPDX-License-Identifier: Apache-2.0
// While a process stands still no page of its memory is asked for that somebody has to provide. It is read when the
// process runs again, and then the next stop has it.

#include "attach/arch/gadget_code.h"
#include "attach/guard/standstill.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/remote_call.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "error_check.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

// Of one page each, code of two files: what makes calls, and what leaves them.
static char *code, *leave_code;

static char *map_code(size_t count, const struct arch_code *const *pieces)
{
	char path[] = "/tmp/heapsnap-test-XXXXXX", bytes[HS_PAGE_SIZE] = { 0 };
	const int file = mkstemp(path);
	void *place;

	for (size_t i = 0; i < count; i++)
		memcpy(bytes + i * 64, pieces[i]->bytes, pieces[i]->size);
	CHECK(file >= 0 && unlink(path) == 0 && write(file, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
	place = mmap(NULL, HS_PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	CHECK(place != MAP_FAILED && close(file) == 0);
	return place;
}

// Stops it, as if it had no other code than ours.
static void freeze_with_code(struct target_memory *memory, bool with_leave, struct frozen_process *ret)
{
	const struct proc_maps *maps;

	must(threads_freeze_memory(memory, HS_FREEZE_TIMEOUT_MS, ret));
	must(frozen_maps(ret, &maps));
	for (size_t i = 0; i < ret->maps->count; i++) {
		struct proc_map *map = &ret->maps->items[i];

		map->executable = map->start == (uint64_t)code || (with_leave && map->start == (uint64_t)leave_code);
	}
}

static void call(struct frozen_process *frozen, const struct target_memory *memory, char *leave)
{
	static const uint64_t none[6];
	struct remote_caller caller;
	int64_t result = 0;

	must(remote_call_open(frozen, memory, &caller));
	CHECK_EQUAL(caller.syscall_gadget, (uint64_t)code);
	CHECK_EQUAL(caller.leave_gadget, (uint64_t)leave);
	must(remote_call(&caller, SYS_getpid, none, &result));
	CHECK_EQUAL(result, frozen->process->pid);
	must(remote_call_close(&caller));
}

// A code piece that calls are made without where there is none: it may be in a page that is not in memory.
static void test_code(void)
{
	struct frozen_process frozen;
	struct remote_caller caller;
	struct target_memory memory;
	char bytes[8], *other;
	pid_t pid;

	// not before a standstill: for one the tool has all of its own memory mapped (mlockall), and so has a child
	other = map_code(0, NULL);
	code = map_code(2, (const struct arch_code *const[]){ arch_syscall_gadgets, arch_sigreturn_gadgets });
	leave_code = map_code(1, (const struct arch_code *const[]){ arch_leave_gadgets });
	pid = start();
	must(target_memory_open(held_process(pid), &memory));
	must(target_memory_read(&memory, (uint64_t)code, bytes, 8));

	freeze_with_code(&memory, true, &frozen);
	CHECK(is_refused(remote_call_open(&frozen, &memory, &caller)));
	CHECK(standstill_lacked() && !is_there(&memory, leave_code));
	must(threads_thaw(&frozen));
	freeze_with_code(&memory, true, &frozen);
	call(&frozen, &memory, leave_code);
	CHECK(!standstill_lacked());
	must(threads_thaw(&frozen));

	// where it is nowhere, another page that is not in memory does not matter
	freeze_with_code(&memory, false, &frozen);
	CHECK(is_refused(target_memory_read(&memory, (uint64_t)other, bytes, 8)));
	call(&frozen, &memory, NULL);
	must(threads_thaw(&frozen));
	standstill_done();
	target_memory_close(&memory);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
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
	CHECK(!standstill_lacked());
	must(target_memory_read(&memory, (uint64_t)anonymous + HS_PAGE_SIZE - 4, bytes, 8));
	must(target_memory_read(&memory, (uint64_t)of_memory_file, bytes, 8));
	must(target_memory_write(&memory, (uint64_t)of_memory_file + HS_PAGE_SIZE, bytes, 8, pid));
	CHECK(!standstill_lacked());
	CHECK(is_refused(target_memory_read(&memory, (uint64_t)of_file + HS_PAGE_SIZE, bytes, 8)));
	CHECK(standstill_lacked());
	CHECK(is_refused(target_memory_write(&memory, (uint64_t)of_file + 2 * HS_PAGE_SIZE - 4, "12345678", 8, pid)));
	CHECK(!is_there(&memory, of_file + HS_PAGE_SIZE) && !is_there(&memory, of_file + 2 * HS_PAGE_SIZE));
	must(threads_thaw(&frozen));

	must(threads_freeze_memory(&memory, HS_FREEZE_TIMEOUT_MS, &frozen));
	CHECK(!standstill_lacked());
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
	test_code();
	return CHECK_RESULT();
}
