// SPDX-License-Identifier: Apache-2.0
// What detach says that it left as it was: each promise is broken, and the check of that name says no, and no other.
// The process is this one.
#include "check.h"
#include "held_process.h"

#include "attach/region/region_access.h"
#include "attach/session/detach_verify.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORGED      "heapsnap-code-0123456789abcdef0123456789abcdef"
#define CODE        "code bytes restored"
#define MAPPINGS    "no mapping of heapsnap left"
#define DESCRIPTORS "no descriptor of heapsnap left"
#define TRACED      "not traced"
#define THREADS     "threads and signal masks as before"

static char name[HS_CODE_NAME_SIZE]; // that heapsnap could have given a file here

static void read_names(pid_t pid, struct code_names *ret)
{
	struct target_memory memory;
	struct hs_error *error = target_memory_open(held_process(pid), &memory);

	*ret = (struct code_names){ 0 };
	if (!error) {
		code_names_read(&memory, ret);
		target_memory_close(&memory);
	}
	hs_error_destroy(error);
}

static struct detach_report verify(pid_t pid, const struct hook_record *hooks, size_t count)
{
	const struct detach_before before = detach_look_before(held_process(pid));
	struct detach_report report = { 0 };
	struct code_names names;

	read_names(pid, &names);
	detach_verify(&before, &names, hooks, count, &report);
	return report;
}

// Whether all checks are there, and all hold but that of the text `broken`; NULL: all hold.
static bool only_fails(const struct detach_report *report, const char *broken)
{
	static const char *const texts[] = { CODE, MAPPINGS, DESCRIPTORS, TRACED, THREADS };
	bool right = report->check_count == sizeof(texts) / sizeof(texts[0]);

	for (size_t i = 0; i < report->check_count && right; i++) {
		right = strcmp(report->checks[i].text, texts[i]) == 0 &&
			report->checks[i].answer ==
				(broken && strcmp(broken, texts[i]) == 0 ? DETACH_DOES_NOT_HOLD : DETACH_HOLDS);
		if (!right)
			fprintf(stderr, "%s: %d\n", report->checks[i].text, (int)report->checks[i].answer);
	}
	return right;
}

static bool breaks_only(const char *broken)
{
	struct detach_report report = verify(getpid(), NULL, 0);

	return only_fails(&report, broken);
}

static struct hook_record make_hook(const void *address)
{
	return (struct hook_record){ .address = (uint64_t)address,
				     .size = 5,
				     .old_bytes = { 1, 2, 3, 4, 5 },
				     .new_bytes = { 0xe9, 7, 8, 9, 10 },
				     .verdict = VERDICT_ok };
}

static bool text_breaks(const struct hook_record *hook, const char *broken)
{
	// Others, which are as they should be, before it and behind it.
	static const uint8_t as_before[5] = { 1, 2, 3, 4, 5 };
	const struct hook_record hooks[3] = { make_hook(as_before), *hook, make_hook(as_before) };
	struct detach_report report = verify(getpid(), hooks, 3);

	return only_fails(&report, broken);
}

static void test_code(void)
{
	uint8_t code[5] = { 1, 2, 3, 4, 5 };
	struct hook_record hook = make_hook(code), other = hook;
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("code", MFD_CLOEXEC);

	CHECK(text_breaks(&hook, NULL));
	memcpy(code, hook.new_bytes, sizeof(code));
	CHECK(text_breaks(&hook, CODE));
	code[4] ^= 1; // somebody else's patch: those are counted where hooks are taken out
	CHECK(text_breaks(&hook, NULL));
	memcpy(code, hook.new_bytes, sizeof(code));
	other.verdict = VERDICT_too_short; // was never written
	CHECK(text_breaks(&other, NULL));
	other = hook;
	other.size = 0;
	CHECK(text_breaks(&other, NULL));

	// Its module is gone; or is there, and cannot be read.
	hook = make_hook(page);
	munmap(page, 4096);
	CHECK(text_breaks(&hook, NULL));
	CHECK(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == page); // of an empty file
	CHECK(text_breaks(&hook, CODE));
	munmap(page, 4096);
	close(fd);
}

// A page of a file of that name, at an address below all other mappings or where the kernel has room.
static bool mapping_breaks(const char *file, uint64_t address, int protection, const char *broken)
{
	int fd = memfd_create(file, MFD_CLOEXEC);
	void *page = mmap((void *)(uintptr_t)address, 4096, protection,
			  MAP_PRIVATE | (address ? MAP_FIXED_NOREPLACE : 0), fd, 0);
	bool right;

	CHECK(page != MAP_FAILED);
	close(fd);
	right = breaks_only(broken);
	munmap(page, 4096);
	return right;
}

static void test_mappings(void)
{
	struct region_header *region =
		mmap((void *)(uintptr_t)(HS_LAYOUT_LOW + (UINT64_C(1) << 41)), HS_HEADER_SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(mapping_breaks(name, 0x100000, PROT_READ, MAPPINGS));
	CHECK(mapping_breaks(name, 0, PROT_READ | PROT_EXEC, MAPPINGS));
	CHECK(mapping_breaks(name, 0, PROT_NONE, MAPPINGS));
	CHECK(mapping_breaks("heapsnap-code", 0, PROT_READ, NULL)); // anybody's
	CHECK(mapping_breaks(FORGED, 0, PROT_READ, NULL));          // a client's
	CHECK(mapping_breaks(FORGED, 0, PROT_READ | PROT_EXEC, NULL));
	CHECK(region != MAP_FAILED);
	CHECK(breaks_only(NULL));
	region->stable.magic = HS_REGION_MAGIC;
	CHECK(breaks_only(NULL)); // a copy, of a region that lies elsewhere
	region->stable.region_address = (uint64_t)region;
	CHECK(breaks_only(MAPPINGS));
	munmap(region, HS_HEADER_SIZE);
	CHECK(breaks_only(NULL));
}

static pthread_barrier_t barrier;
static pid_t table_owner;

static void *have_own_table(void *unused)
{
	int fd;

	table_owner = (pid_t)syscall(SYS_gettid);
	CHECK(unshare(CLONE_FILES) == 0);
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	close(fd);
	return unused;
}

static void test_descriptors(void)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	pthread_t thread;

	CHECK(breaks_only(DESCRIPTORS));
	close(fd);
	fd = memfd_create(FORGED, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(breaks_only(NULL));
	close(fd);
	CHECK(breaks_only(NULL));
	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(pthread_create(&thread, NULL, have_own_table, NULL) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(breaks_only(DESCRIPTORS));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	// It is joined a moment before the kernel has done with it, and what comes next counts the threads.
	while (process_has_thread(held_process(getpid()), table_owner))
		sched_yield();
}

static int ends[2]; // through which the child tells the id of its second thread

static void *tell(void *unused)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(ends[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
	return unused;
}

// Either thread of a process by itself.
static void test_traced(void)
{
	struct detach_report report;
	pid_t child, tids[2];
	int created[2]; // through which its first thread says that it has made the second
	char byte;

	CHECK(pipe(ends) == 0 && pipe(created) == 0);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, tell, NULL);
		if (write(created[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	tids[0] = child;
	CHECK(read(ends[0], &tids[1], sizeof(tids[1])) == sizeof(tids[1]));
	// pthread_create blocks all signals while it makes the thread: a process that changes them by itself is not
	// compared.
	CHECK(read(created[0], &byte, 1) == 1);
	report = verify(child, NULL, 0);
	CHECK(only_fails(&report, NULL));
	for (size_t i = 0; i < 2; i++) {
		CHECK(ptrace(PTRACE_SEIZE, tids[i], NULL, NULL) == 0);
		report = verify(child, NULL, 0);
		CHECK(only_fails(&report, TRACED));
		CHECK(ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL) == 0);
		CHECK(waitpid(tids[i], NULL, __WALL) == tids[i]);
		CHECK(ptrace(PTRACE_DETACH, tids[i], NULL, NULL) == 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	close(created[0]);
	close(created[1]);
	// Of a process that is gone nothing is claimed.
	report = verify(child, NULL, 0);
	for (size_t i = 0; i < report.check_count; i++)
		CHECK(report.checks[i].answer != DETACH_HOLDS ||
		      (strcmp(report.checks[i].text, MAPPINGS) != 0 && strcmp(report.checks[i].text, TRACED) != 0));
}

static bool is_compared(const struct detach_before *before)
{
	struct detach_report report = { 0 };
	struct code_names names;

	read_names(getpid(), &names);
	detach_verify(before, &names, NULL, 0, &report);
	CHECK_STRING(report.checks[report.check_count - 1].text, THREADS);
	CHECK(report.checks[report.check_count - 1].answer != DETACH_DOES_NOT_HOLD);
	return report.checks[report.check_count - 1].answer == DETACH_HOLDS;
}

// A process that changes them by itself cannot be compared: that is told, and is no failure.
static void test_threads(void)
{
	struct detach_before before = detach_look_before(held_process(getpid()));
	sigset_t set;

	CHECK(is_compared(&before));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK(!is_compared(&before));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(is_compared(&before));
	before.threads.count++;
	CHECK(!is_compared(&before));
}

int main(void)
{
	struct code_names names;
	uint64_t nonce;

	read_names(getpid(), &names);
	CHECK(code_names_make(&names, name, &nonce) == NULL);
	CHECK(breaks_only(NULL));
	test_code();
	test_mappings();
	test_descriptors();
	test_traced();
	test_threads();
	return CHECK_RESULT();
}
