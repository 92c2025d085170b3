// SPDX-License-Identifier: Apache-2.0
// System calls in every kind of carrier, which must not notice.
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/remote_call.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

// An error that is not the one asked for, but only for want of a processor: the test is run again.
static void must_be_in_time(struct hs_error *error)
{
	if (error && error->code == HS_ERROR_TIMEOUT)
		must(error);
}

static int64_t call(struct remote_caller *caller, long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		    uint64_t e)
{
	int64_t result = -1;

	must(remote_call(caller, number, (const uint64_t[6]){ a, b, c, d, e, 0 }, &result));
	return result;
}

// As much as makes sure that arguments and results are right.
static void make_calls(struct remote_caller *caller, pid_t pid, const struct target_memory *memory)
{
	uint64_t word = 0x1122334455667788, back = 0, address;
	struct hs_error *error;

	CHECK_EQUAL(call(caller, SYS_getpid, 0, 0, 0, 0, 0), pid);
	CHECK_EQUAL(call(caller, SYS_gettid, 0, 0, 0, 0, 0), caller->carrier->tid);
	must(remote_call_checked(
		caller, "map memory", SYS_mmap,
		(const uint64_t[6]){ 0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 },
		&address));
	must(target_memory_write(memory, address + 4096, &word, sizeof(word), 0));
	must(target_memory_read(memory, address + 4096, &back, sizeof(back)));
	CHECK_EQUAL(back, word);
	CHECK_EQUAL(call(caller, SYS_munmap, address, 65536, 0, 0, 0), 0);
	CHECK_EQUAL(call(caller, SYS_close, 12345, 0, 0, 0, 0), -EBADF);
	error = remote_call_checked(caller, "close a descriptor", SYS_close, (const uint64_t[6]){ 12345 }, NULL);
	must_be_in_time(error);
	CHECK(error && error->code == HS_ERROR_REMOTE && error->error_number == EBADF);
	hs_error_destroy(error);
}

// Each thread in turn is the only candidate. Returns how many could not be used.
static size_t call_in_each_thread(pid_t pid, const struct target_memory *memory)
{
	struct frozen_process process;
	size_t refused = 0;

	must(freeze_prepared(memory, 2000, &process));
	for (size_t i = 0; i < process.count; i++) {
		struct frozen_process one = { .process = held_process(pid),
					      .threads = &process.threads[i],
					      .count = 1 };
		struct user_regs_struct before = process.threads[i].registers, after;
		struct remote_caller caller;
		struct hs_error *error;
		uint64_t mask, mask_before;

		must(ptrace_get_signal_mask(process.threads[i].tid, &mask_before));
		error = remote_call_open(&one, memory, &caller);
		must_be_in_time(error);
		if (error) {
			CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
			hs_error_destroy(error);
			refused++;
			continue;
		}
		make_calls(&caller, pid, memory);
		must(remote_call_close(&caller));
		must(ptrace_get_registers(process.threads[i].tid, &after));
		CHECK(memcmp(&before, &after, sizeof(before)) == 0);
		must(ptrace_get_signal_mask(process.threads[i].tid, &mask));
		CHECK_EQUAL(mask, mask_before);
	}
	must(threads_thaw(&process));
	return refused;
}

static void run(const char *name, const char *const *arguments, int rounds, long pause_us)
{
	const struct timespec pause = { .tv_nsec = pause_us * 1000 };
	struct program program = program_start(name, arguments);
	struct target_memory memory;
	size_t refused = 0;

	must(target_memory_open(held_process(program.pid), &memory));
	for (int i = 0; i < rounds; i++) {
		refused += call_in_each_thread(program.pid, &memory);
		nanosleep(&pause, NULL);
	}
	target_memory_close(&memory);
	CHECK_EQUAL(refused, 0);
	CHECK(!anything_stopped_or_traced(program.pid));
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

enum { XMM_OFFSET = 160, FEATURES_OFFSET = 512, SSE = 2 }; // of the XSAVE area (Intel SDM volume 1, 13.4)

static size_t read_xstate(pid_t tid, uint8_t *xstate, size_t size)
{
	memset(xstate, 0, size);
	must(ptrace_get_extended_state(tid, xstate, &size));
	return size;
}

// The kernel leaves vector registers alone in most calls, and changes some state in a few (pkey_alloc). Whatever a call
// has changed comes back.
static void test_extended_state(void)
{
	struct program program = program_start("ptrace_compute", ARGUMENTS("2"));
	static uint8_t before[65536], changed[65536], after[65536];
	struct frozen_process process;
	struct target_memory memory;

	must(target_memory_open(held_process(program.pid), &memory));
	for (int i = 0; i < 20; i++) {
		struct remote_caller caller;
		size_t size;
		pid_t tid;

		must(freeze_prepared(&memory, 2000, &process));
		must(remote_call_open(&process, &memory, &caller));
		tid = caller.carrier->tid;
		size = read_xstate(tid, before, sizeof(before));
		memcpy(changed, before, size);
		for (size_t at = XMM_OFFSET; at < XMM_OFFSET + 16 * sizeof(uint64_t) * 2; at++)
			changed[at] ^= 0x5a;
		changed[FEATURES_OFFSET] |= SSE;
		if (i % 2 == 0) { // else it was not changed, and is not either
			make_calls(&caller, program.pid, &memory);
			must(ptrace_set_extended_state(tid, changed, size));
			CHECK_EQUAL(read_xstate(tid, after, sizeof(after)), size);
			CHECK(memcmp(after + XMM_OFFSET, before + XMM_OFFSET, 16 * sizeof(uint64_t) * 2) != 0);
		}
		make_calls(&caller, program.pid, &memory);
		must(remote_call_close(&caller));
		CHECK_EQUAL(read_xstate(tid, after, sizeof(after)), size);
		CHECK(memcmp(after, before, size) == 0);
		must(threads_thaw(&process));
	}
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// A stop signal, and its end, that come while the carrier is in a remote call.
static void test_stop_signal(void)
{
	struct program program = program_start("ptrace_compute", ARGUMENTS("2", "altstack"));
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;

	must(target_memory_open(held_process(program.pid), &memory));
	for (int i = 0; i < 20; i++) {
		must(freeze_prepared(&memory, 2000, &process));
		must(remote_call_open(&process, &memory, &caller));
		kill(program.pid, SIGSTOP);
		make_calls(&caller, program.pid, &memory);
		must(remote_call_close(&caller));
		must(threads_thaw(&process));
		CHECK(wait_until(wholly_stopped, program.pid));

		must(freeze_prepared(&memory, 2000, &process));
		must(remote_call_open(&process, &memory, &caller));
		make_calls(&caller, program.pid, &memory);
		if (i % 2 == 0)
			kill(program.pid, SIGCONT);
		make_calls(&caller, program.pid, &memory);
		must(remote_call_close(&caller));
		must(threads_thaw(&process));
		if (i % 2 != 0) {
			CHECK(wait_until(wholly_stopped, program.pid));
			kill(program.pid, SIGCONT);
		}
		CHECK(!wholly_stopped(program.pid));
	}
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// Signals with handlers that come while the carrier is in a remote call: all are delivered, once.
static void test_signals(void)
{
	struct program program = program_start("ptrace_signals", (const char *const[]){ NULL });
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	char text[64];

	must(target_memory_open(held_process(program.pid), &memory));
	for (int i = 0; i < 200; i++) {
		must(freeze_prepared(&memory, 2000, &process));
		must(remote_call_open(&process, &memory, &caller));
		for (int j = 0; j < 10; j++)
			CHECK_EQUAL(sigqueue(program.pid, SIGRTMIN, (union sigval){ 0 }), 0);
		make_calls(&caller, program.pid, &memory);
		must(remote_call_close(&caller));
		must(threads_thaw(&process));
	}
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, text, sizeof(text)), 0);
	CHECK_EQUAL(strtoul(text, NULL, 10), 2000);
}

// No code pieces in the target: they are written at the entry point, and nothing is left of them.
static void test_no_gadgets(void)
{
	struct program program = program_start("ptrace_compute", ARGUMENTS("2"));
	const uint64_t of_file = UINT64_C(1) << 61;
	uint8_t before[16], during[16], after[16];
	uint64_t entry;
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	struct file_pages files;

	must(target_memory_open(held_process(program.pid), &memory));
	prepare_files(&memory, &files);
	must(threads_freeze(held_process(program.pid), 2000, &process));
	process.files = &files;
	must(remote_call_open(&process, &memory, &caller));
	CHECK_EQUAL(caller.entry.address, 0);
	must(remote_call_close(&caller));

	setenv("HEAPSNAP_TEST_NO_GADGETS", "1", 1);
	for (int i = 0; i < 20; i++) {
		must(remote_call_open(&process, &memory, &caller));
		entry = caller.entry.address;
		CHECK(entry != 0);
		CHECK_EQUAL(caller.entry.page_was_clean, i == 0); // its bytes come back, the copy of the page stays
		memcpy(before, caller.entry.old_bytes, ARCH_ENTRY_CODE_SIZE);
		must(target_memory_read(&memory, entry, during, ARCH_ENTRY_CODE_SIZE));
		CHECK(memcmp(during, arch_entry_code, ARCH_ENTRY_CODE_SIZE) == 0);
		CHECK((page_entry(program.pid, entry) & of_file) == 0);
		make_calls(&caller, program.pid, &memory);
		must(remote_call_close(&caller));
		must(target_memory_read(&memory, entry, after, ARCH_ENTRY_CODE_SIZE));
		CHECK(memcmp(before, after, ARCH_ENTRY_CODE_SIZE) == 0);
	}
	// Bytes that a killed tool left are known for what they are.
	must(target_memory_write(&memory, entry, arch_entry_code, ARCH_ENTRY_CODE_SIZE, 0));
	must(remote_call_open(&process, &memory, &caller));
	CHECK(memcmp(before, caller.entry.old_bytes, ARCH_ENTRY_CODE_SIZE) == 0);
	CHECK(caller.entry.page_was_clean);
	must(remote_call_close(&caller));
	must(target_memory_read(&memory, entry, after, ARCH_ENTRY_CODE_SIZE));
	CHECK(memcmp(before, after, ARCH_ENTRY_CODE_SIZE) == 0);
	file_pages_deinit(&files);
	unsetenv("HEAPSNAP_TEST_NO_GADGETS");
	must(threads_thaw(&process));
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// Writing through ptrace where /proc/PID/mem does not allow it: here, because it is open for reading only.
static void test_poke(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("1"));
	struct frozen_process process;
	struct target_memory memory, reader;
	uint8_t old[37], data[37], back[37];
	uint64_t address;
	char path[64];

	must(target_memory_open(held_process(program.pid), &memory));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)program.pid);
	reader = (struct target_memory){ .process = held_process(program.pid),
					 .fd = open(path, O_RDONLY | O_CLOEXEC),
					 .pagemap = -1 };
	must(threads_freeze(held_process(program.pid), 2000, &process));
	address = process.threads[0].registers.rip + 3; // read-only, and unaligned
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	must(target_memory_read(&memory, address, old, sizeof(old)));
	must(target_memory_write(&reader, address, data, sizeof(data), process.threads[0].tid));
	must(target_memory_read(&memory, address, back, sizeof(back)));
	CHECK(memcmp(data, back, sizeof(data)) == 0);
	must(target_memory_write(&memory, address, old, sizeof(old), 0));
	struct hs_error *error = target_memory_write(&memory, 64, data, sizeof(data), process.threads[0].tid);

	CHECK(error && error->code == HS_ERROR_FAULT);
	hs_error_destroy(error);
	error = target_memory_read(&memory, 64, back, sizeof(back));
	CHECK(error && error->code == HS_ERROR_FAULT);
	hs_error_destroy(error);
	must(threads_thaw(&process));
	target_memory_close(&reader);
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

// A call that raises a signal in spite of all: of its handler nothing can be saved, but the target lives, and goes on.
static void test_forced_signal(void)
{
	static const uint64_t none[6];
	struct program program = program_start("ptrace_compute", ARGUMENTS("2", "altstack"));
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;

	must(target_memory_open(held_process(program.pid), &memory));
	for (int i = 0; i < 5; i++) {
		struct hs_error *error;
		uint64_t gadget;
		int64_t result;

		must(freeze_prepared(&memory, 2000, &process));
		must(remote_call_open(&process, &memory, &caller));
		gadget = caller.leave_gadget;
		CHECK(gadget != 0);
		caller.leave_gadget = 1; // no code
		error = remote_call(&caller, SYS_getpid, none, &result);
		must_be_in_time(error);
		CHECK(error && error->code == HS_ERROR_FAULT && strstr(error->message, "signal 11"));
		hs_error_destroy(error);
		caller.leave_gadget = gadget;
		must(remote_call_close(&caller));
		must(threads_thaw(&process));
		CHECK(!anything_stopped_or_traced(program.pid));
	}
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
}

static int run_all(void)
{
	run("ptrace_compute", ARGUMENTS("3", "altstack"), 200, 300);
	run("ptrace_compute", ARGUMENTS("3"), 200, 300);
	run("ptrace_sleepers", ARGUMENTS("2"), 200, 100);
	run("ptrace_waits", ARGUMENTS("nanosleep", "poll", "futex", "read", "ppoll"), 200, 5000);
	run("ptrace_steps", ARGUMENTS("trap sleep"), 200, 3000);
	run("ptrace_steps", ARGUMENTS("trap", "aligned sleep", "backwards", "trap sleep", "trap"), 100, 3000);
	test_extended_state();
	test_stop_signal();
	test_forced_signal();
	test_signals();
	test_no_gadgets();
	test_poke();
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
