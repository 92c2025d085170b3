// SPDX-License-Identifier: Apache-2.0
// While a process stands still no page of its memory is asked for that somebody has to provide. It is read when the
// process runs again, and then the next stop has it.

#include "attach/arch/gadget_code.h"
#include "attach/guard/refused_reads.h"
#include "attach/guard/standstill.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/gadgets.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/remote_call.h"
#include "attach/ptrace/threads.h"
#include "check.h"
#include "error_check.h"
#include "held_process.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4 * HS_PAGE_SIZE, LARGE = 64 << 20 };

static char *of_file, *marked, *of_memory_file, *anonymous;

// Write-protects a page of a file that is there, and drops it. False: this kernel does not do that (before Linux 6.7).
static bool mark(char *page)
{
	enum { WP_UNPOPULATED = 1 << 13, WP_ASYNC = 1 << 15 }; // UFFD_FEATURE_..., which older headers lack
	const struct uffdio_range range = { (uint64_t)page, HS_PAGE_SIZE };
	struct uffdio_api api = { .api = UFFD_API, .features = WP_UNPOPULATED | WP_ASYNC };
	struct uffdio_register watch = { .range = range, .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect protect = { .range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	(void)*(volatile char *)page;
	return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &watch) == 0 &&
	       ioctl(fd, UFFDIO_WRITEPROTECT, &protect) == 0 && madvise(page, HS_PAGE_SIZE, MADV_DONTNEED) == 0;
}

// *marked_ret: whether the page `marked` is, in it.
static pid_t start(bool *marked_ret)
{
	int answer[2];
	pid_t pid;

	CHECK(pipe(answer) == 0);
	pid = fork();
	if (pid == 0) {
		const bool is_marked = mark(marked);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(answer[1], &is_marked, sizeof(is_marked)) != sizeof(is_marked))
			_exit(1);
		for (;;)
			pause();
	}
	CHECK(read(answer[0], marked_ret, sizeof(*marked_ret)) == sizeof(*marked_ret));
	close(answer[0]);
	close(answer[1]);
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

// Code in a file of that size, of which only `there` bytes remain.
static char *map_sparse_code(size_t size, off_t there)
{
	char path[] = "/tmp/heapsnap-test-XXXXXX";
	const int file = mkstemp(path);
	void *place;

	CHECK(file >= 0 && unlink(path) == 0 && ftruncate(file, (off_t)size) == 0);
	place = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	CHECK(place != MAP_FAILED && ftruncate(file, there) == 0 && close(file) == 0);
	return place;
}

static size_t pages_there(const struct target_memory *memory, const char *large)
{
	size_t count = 0;

	for (size_t at = 0; at < LARGE; at += HS_PAGE_SIZE)
		count += target_memory_is_resident(memory, (uint64_t)large + at, 1);
	return count;
}

// `other`: NULL = none.
static void keep_code(struct proc_maps *maps, const char *other)
{
	for (size_t i = 0; i < maps->count; i++) {
		struct proc_map *map = &maps->items[i];

		map->executable = map->start == (uint64_t)code || (other && map->start == (uint64_t)other);
	}
}

// Whether it is only for want of a processor: then it is printed and freed, and the caller tries again.
static bool took_too_long(struct hs_error *error)
{
	if (!error || error->code != HS_ERROR_TIMEOUT)
		return false;
	printf("again: %s\n", error->message);
	hs_error_destroy(error);
	return true;
}

static void freeze(struct target_memory *memory, struct frozen_process *ret)
{
	struct hs_error *error;

	do
		error = threads_freeze_memory(memory, HS_FREEZE_TIMEOUT_MS, ret);
	while (took_too_long(error));
	must(error);
}

// Stops it, as if it had no other code than ours, and `other`.
static void freeze_with_code(struct target_memory *memory, const char *other, struct frozen_process *ret)
{
	const struct proc_maps *maps;

	freeze(memory, ret);
	must(frozen_maps(ret, &maps));
	keep_code(ret->maps, other);
}

static void freeze_again(struct target_memory *memory, const char *other, struct frozen_process *frozen)
{
	must(threads_thaw(frozen));
	freeze_with_code(memory, other, frozen);
}

// After freeze_with_code with that `other`, as call.
static bool no_call(struct frozen_process *frozen, struct target_memory *memory, const char *other)
{
	struct remote_caller caller;
	struct hs_error *error;

	while (took_too_long(error = remote_call_open(frozen, memory, &caller)))
		freeze_again(memory, other, frozen);
	return is_refused(error);
}

static struct hs_error *try_call(struct frozen_process *frozen, const struct target_memory *memory, char *leave)
{
	static const uint64_t none[6];
	struct remote_caller caller;
	int64_t result = 0;
	struct hs_error *error = remote_call_open(frozen, memory, &caller), *close_error;

	if (error)
		return error;
	CHECK_EQUAL(caller.syscall_gadget, (uint64_t)code);
	CHECK_EQUAL(caller.leave_gadget, (uint64_t)leave);
	error = remote_call(&caller, SYS_getpid, none, &result);
	if (!error)
		CHECK_EQUAL(result, frozen->process->pid);
	close_error = remote_call_close(&caller);
	if (!error)
		return close_error;
	hs_error_destroy(close_error);
	return error;
}

static void call(struct frozen_process *frozen, struct target_memory *memory, const char *other, char *leave)
{
	struct hs_error *error;

	while (took_too_long(error = try_call(frozen, memory, leave)))
		freeze_again(memory, other, frozen);
	must(error);
}

// What calls can be made without is not searched for everywhere.
static void test_bound(const struct target_memory *memory, const char *large)
{
	struct proc_maps maps;
	struct gadgets found;
	bool is_found;

	must(proc_maps_read(memory->process, &maps));
	keep_code(&maps, large);
	must(gadgets_find(&maps, memory, &found, &is_found));
	CHECK(is_found && !found.leave_gadget);
	CHECK(pages_there(memory, large) * HS_PAGE_SIZE < LARGE / 2 && pages_there(memory, large) > 0);
	proc_maps_deinit(&maps);
}

// A code piece that calls are made without where there is none: it may be in a page that is not in memory.
static void test_code(void)
{
	struct frozen_process frozen;
	struct target_memory memory;
	char bytes[8], *room, *other, *cut_short, *large;
	bool is_marked;
	pid_t pid;

	// not before a standstill: for one the tool has all of its own memory mapped (mlockall), and so has a child
	other = map_code(0, NULL);
	cut_short = map_sparse_code(4 * HS_PAGE_SIZE, HS_PAGE_SIZE);
	large = map_sparse_code(LARGE, LARGE);
	code = map_code(2, (const struct arch_code *const[]){ arch_syscall_gadgets, arch_sigreturn_gadgets });
	leave_code = map_code(1, (const struct arch_code *const[]){ arch_leave_gadgets });
	// it is searched in the order of addresses
	room = mmap(NULL, HS_PAGE_SIZE + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code = mremap(code, HS_PAGE_SIZE, HS_PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	large = mremap(large, LARGE, LARGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + HS_PAGE_SIZE);
	CHECK(code != MAP_FAILED && large != MAP_FAILED);
	pid = start(&is_marked);
	must(target_memory_open(held_process(pid), &memory));
	must(target_memory_read(&memory, (uint64_t)code, bytes, 8));

	freeze_with_code(&memory, leave_code, &frozen);
	CHECK(no_call(&frozen, &memory, leave_code));
	CHECK(refused_reads_any() && !is_there(&memory, leave_code));
	must(threads_thaw(&frozen));
	freeze_with_code(&memory, leave_code, &frozen);
	call(&frozen, &memory, leave_code, leave_code);
	CHECK(!refused_reads_any());
	must(threads_thaw(&frozen));

	// where it is nowhere, another page that is not in memory does not matter
	freeze_with_code(&memory, NULL, &frozen);
	CHECK(is_refused(target_memory_read(&memory, (uint64_t)other, bytes, 8)));
	call(&frozen, &memory, NULL, NULL);
	must(threads_thaw(&frozen));

	// nor does one that cannot be had, but for one more stop
	freeze_with_code(&memory, cut_short, &frozen);
	CHECK(no_call(&frozen, &memory, cut_short));
	must(threads_thaw(&frozen));
	freeze_with_code(&memory, cut_short, &frozen);
	call(&frozen, &memory, cut_short, NULL);
	must(threads_thaw(&frozen));

	test_bound(&memory, large);
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
	bool is_marked;
	pid_t pid;

	CHECK(file >= 0 && unlink(path) == 0 && memory_file >= 0 && ftruncate(memory_file, SIZE) == 0);
	for (int i = 0; i < 4; i++) {
		memset(bytes, 'a' + i, HS_PAGE_SIZE);
		CHECK(write(file, bytes, HS_PAGE_SIZE) == HS_PAGE_SIZE);
	}
	of_file = map(MAP_PRIVATE, file);
	marked = map(MAP_PRIVATE, file);
	of_memory_file = map(MAP_SHARED, memory_file);
	anonymous = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	pid = start(&is_marked);
	if (!is_marked)
		CHECK_LEFT_OUT("userfaultfd marks no page of a file here");
	must(target_memory_open(held_process(pid), &memory));

	freeze(&memory, &frozen);
	CHECK(!refused_reads_any());
	must(target_memory_read(&memory, (uint64_t)anonymous + HS_PAGE_SIZE - 4, bytes, 8));
	must(target_memory_read(&memory, (uint64_t)of_memory_file, bytes, 8));
	must(target_memory_write(&memory, (uint64_t)of_memory_file + HS_PAGE_SIZE, bytes, 8, pid));
	CHECK(!refused_reads_any());
	CHECK(is_refused(target_memory_read(&memory, (uint64_t)of_file + HS_PAGE_SIZE, bytes, 8)));
	CHECK(refused_reads_any());
	if (is_marked) {
		CHECK(!is_there(&memory, marked));
		CHECK(is_refused(target_memory_read(&memory, (uint64_t)marked, bytes, 8)));
	}
	CHECK(is_refused(target_memory_write(&memory, (uint64_t)of_file + 2 * HS_PAGE_SIZE - 4, "12345678", 8, pid)));
	CHECK(!is_there(&memory, of_file + HS_PAGE_SIZE) && !is_there(&memory, of_file + 2 * HS_PAGE_SIZE));
	must(threads_thaw(&frozen));

	freeze(&memory, &frozen);
	CHECK(!refused_reads_any());
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
