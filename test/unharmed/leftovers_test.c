// SPDX-License-Identifier: Apache-2.0
// What a killed tool has left at a program's entry point: its code there, or only the page's copy. All of it is taken
// away, and nothing else.
#include "attach/session/leftovers.h"

#include "attach/arch/syscall.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/remote_call.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct subject {
	struct program program;
	struct target_memory memory;
	struct file_pages files;
	struct frozen_process process;
	uint64_t entry;
	uint8_t before[ARCH_ENTRY_CODE_SIZE];
};

static void use(struct remote_caller *caller)
{
	int64_t result = 0;

	must(remote_call(caller, SYS_getpid, (const uint64_t[6]){ 0 }, &result));
	CHECK_EQUAL(result, caller->frozen->process->pid);
}

static uint64_t find_entry(pid_t pid)
{
	Elf64_auxv_t entry = { 0 };
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	file = fopen(path, "re");
	while (file && fread(&entry, sizeof(entry), 1, file) == 1 && entry.a_type != AT_ENTRY)
		;
	if (file)
		fclose(file);
	return entry.a_un.a_val;
}

static bool entry_holds(const struct subject *subject, const uint8_t *bytes)
{
	uint8_t now[ARCH_ENTRY_CODE_SIZE];

	// not as the tool reads: a page whose copy was dropped is one of a file that is not there
	CHECK(pread(subject->memory.fd, now, sizeof(now), (off_t)subject->entry) == (ssize_t)sizeof(now));
	return memcmp(now, bytes, sizeof(now)) == 0;
}

static bool page_is_of_file(const struct subject *subject)
{
	return page_entry(subject->program.pid, subject->entry) >> 61 & 1;
}

// As a tool does it: what it needs of files first, then the freeze.
static void begin(struct subject *ret)
{
	*ret = (struct subject){ .program = program_start("ptrace_compute", ARGUMENTS("2")) };
	must(target_memory_open(held_process(ret->program.pid), &ret->memory));
	ret->entry = find_entry(ret->program.pid);
	must(target_memory_read(&ret->memory, ret->entry, ret->before, sizeof(ret->before)));
	CHECK(!entry_holds(ret, arch_entry_code));
	prepare_files(&ret->memory, &ret->files);
	must(threads_freeze(held_process(ret->program.pid), 2000, &ret->process));
	ret->process.files = &ret->files;
}

static void end(struct subject *subject)
{
	must(threads_thaw(&subject->process));
	file_pages_deinit(&subject->files);
	target_memory_close(&subject->memory);
	CHECK_EQUAL(program_finish(&subject->program, NULL, 0), 0);
}

// `only_copy`: the killed tool had put the bytes back, and not dropped the page's copy.
static void leave_and_clear(struct subject *subject, bool only_copy)
{
	const struct leftover_descriptors none = { 0 };
	const struct strangers strangers = { 0 };
	struct remote_caller caller;
	struct code_names names;

	code_names_read(&subject->memory, &names);
	must(target_memory_write(&subject->memory, subject->entry, arch_entry_code, ARCH_ENTRY_CODE_SIZE, 0));
	if (only_copy)
		must(target_memory_write(&subject->memory, subject->entry, subject->before, ARCH_ENTRY_CODE_SIZE, 0));
	CHECK(!page_is_of_file(subject));
	CHECK_EQUAL(leftovers_exist(&names, &subject->memory, &subject->files), !only_copy);
	must(remote_call_open(&subject->process, &subject->memory, &caller));
	must(leftovers_clear(&caller, &names, &none, &strangers));
	CHECK(!leftovers_exist(&names, &subject->memory, &subject->files));
	use(&caller);
	must(remote_call_close(&caller));
	CHECK(entry_holds(subject, subject->before));
}

static void test_code_and_copy(void)
{
	for (int only_copy = 0; only_copy < 2; only_copy++) {
		struct subject subject;

		begin(&subject);
		leave_and_clear(&subject, only_copy);
		CHECK(page_is_of_file(&subject));
		end(&subject);
	}
}

// Another byte of the page is the program's own: it stays, and the copy with it.
static void test_own_change(void)
{
	for (int only_copy = 0; only_copy < 2; only_copy++) {
		struct subject subject;
		uint8_t byte, own;
		uint64_t place;

		begin(&subject);
		place = (subject.entry & ~UINT64_C(4095)) + (subject.entry % HS_PAGE_SIZE < 2048 ? 4095 : 0);
		must(target_memory_read(&subject.memory, place, &byte, 1));
		own = byte ^ 0xff;
		must(target_memory_write(&subject.memory, place, &own, 1, 0));
		leave_and_clear(&subject, only_copy);
		own = 0;
		must(target_memory_read(&subject.memory, place, &own, 1));
		CHECK_EQUAL(own, byte ^ 0xff);
		CHECK(!page_is_of_file(&subject));
		must(target_memory_write(&subject.memory, place, &byte, 1, 0)); // somebody may run there
		end(&subject);
	}
}

// A caller that has its own code there needs it to the end, and takes it away itself. The next one that needs none
// drops the copy.
static void test_callers_own(void)
{
	const struct leftover_descriptors none = { 0 };
	const struct strangers strangers = { 0 };
	struct remote_caller caller;
	struct code_names names;
	struct subject subject;

	begin(&subject);
	code_names_read(&subject.memory, &names);
	setenv("HEAPSNAP_TEST_NO_GADGETS", "1", 1);
	must(remote_call_open(&subject.process, &subject.memory, &caller));
	CHECK_EQUAL(caller.entry.address, subject.entry);
	must(leftovers_clear(&caller, &names, &none, &strangers));
	CHECK(entry_holds(&subject, arch_entry_code));
	use(&caller);
	must(remote_call_close(&caller));
	CHECK(entry_holds(&subject, subject.before));
	CHECK(!page_is_of_file(&subject));
	unsetenv("HEAPSNAP_TEST_NO_GADGETS");
	must(remote_call_open(&subject.process, &subject.memory, &caller));
	must(leftovers_clear(&caller, &names, &none, &strangers));
	must(remote_call_close(&caller));
	CHECK(entry_holds(&subject, subject.before));
	CHECK(page_is_of_file(&subject));
	end(&subject);
}

static int run_all(void)
{
	test_code_and_copy();
	test_own_change();
	test_callers_own();
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
