// SPDX-License-Identifier: Apache-2.0
// Memory that is registered with userfaultfd, by the text of smaps and by the kernel.
#include "attach/process/fault_reason.h"
#include "attach/process/memory.h"
#include "check.h"
#include "held_process.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const smaps[] = {
	"55d000000000-55d000001000 r--p 00000000 fd:01 123                        /bin/um um\n",
	"Size:                  4 kB\n",
	"VmFlags: rd mr mw me sd \n",
	"7f0000000000-7f0000002000 rw-p 00000000 00:00 0 \n",
	"VmFlags: rd wr mr mw me um ac sd \n",
	"7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n",
	"VmFlags: rd wr mr mw me uw ac \n",
	"7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n",
	"VmFlags: rd ui\n",
	"7f0000005000-7f0000006000 rw-p 00000000 00:00 0 VmFlags: um\n",
	"VmFlags: rd wr mr ux umx xum u \n",
};

static void test_lines(void)
{
	static const struct {
		uint64_t address;
		int answer; // -1 = no such mapping
	} cases[] = {
		{ 0x55d000000000, 0 },  { 0x55d000000fff, 0 },
		{ 0x55d000001000, -1 }, { 0x7f0000000000, 1 },
		{ 0x7f0000001fff, 1 },  { 0x7f0000002000, 1 },
		{ 0x7f0000003800, 1 },  { 0x7f0000004000, -1 },
		{ 0x7f0000005001, 0 },  { 0, -1 },
		{ UINT64_MAX, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct smaps_search search = { .address = cases[i].address };
		bool found = false, registered = false;

		for (size_t l = 0; l < sizeof(smaps) / sizeof(smaps[0]) && !found; l++)
			found = smaps_search_line(&search, smaps[l], &registered);
		CHECK_EQUAL(found ? registered : -1, cases[i].answer);
	}
}

// pages[0] is there, pages[1] is not, and nobody fills it in.
static void test_kernel(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)pages, 2 * (uint64_t)page },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct target_memory memory;
	struct hs_error *error;
	char buffer[8192];

	pages[0] = 'a';
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &range) != 0) {
		CHECK_LEFT_OUT("no userfaultfd here");
		return;
	}
	CHECK(!target_memory_open(held_process(getpid()), &memory));
	CHECK(!target_memory_read(&memory, (uintptr_t)pages, buffer, (size_t)page));
	error = target_memory_read(&memory, (uintptr_t)pages, buffer, 2 * (size_t)page);
	CHECK(error && error->code == HS_ERROR_FAULT && error->address == (uintptr_t)pages + (uint64_t)page);
	error = fault_explain(error, held_process(getpid()));
	CHECK(error && strstr(error->message, "is registered with userfaultfd") &&
	      strstr(error->message, "cannot read"));
	hs_error_destroy(error);

	// Not so for what nobody has registered, and for other errors.
	CHECK(munmap(pages, 2 * (size_t)page) == 0);
	error = fault_explain(target_memory_read(&memory, (uintptr_t)pages, buffer, 8), held_process(getpid()));
	CHECK(error && error->code == HS_ERROR_FAULT && !strstr(error->message, "userfaultfd"));
	hs_error_destroy(error);
	CHECK(!fault_explain(NULL, held_process(getpid())));
	error = fault_explain(hs_error_create(HS_ERROR_REFUSED, "no"), held_process(getpid()));
	CHECK_STRING(error->message, "no");
	hs_error_destroy(error);
	target_memory_close(&memory);
	close(fd);
}

int main(void)
{
	test_lines();
	test_kernel();
	return CHECK_RESULT();
}
