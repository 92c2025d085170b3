// SPDX-License-Identifier: Apache-2.0
// A process's pagemap that cannot be opened: a kernel that has none goes without, what else it may be is an error.
#include "attach/process/memory.h"
#include "base/process.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int of_process, of_self; // errno values with which they cannot be opened; 0 = they can

// These two stand before the C library's.
int openat(int folder, const char *path, int flags, ...)
{
	if (of_process && strcmp(path, "pagemap") == 0) {
		errno = of_process;
		return -1;
	}
	return (int)syscall(SYS_openat, folder, path, flags, 0);
}

int open(const char *path, int flags, ...)
{
	if (of_self && strcmp(path, "/proc/self/pagemap") == 0) {
		errno = of_self;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

// The lowest free number says nothing: what is opened by way of another descriptor lies above that one.
static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

// `code` < 0: no error.
static void check_open(const struct process *process, int process_errno, int self_errno, int code)
{
	struct target_memory memory;
	const int before = count_descriptors();
	struct hs_error *error;

	of_process = process_errno;
	of_self = self_errno;
	error = target_memory_open(process, &memory);
	of_process = of_self = 0;
	CHECK_EQUAL(error ? (int)error->code : -1, code);
	if (!error) {
		CHECK_EQUAL(memory.pagemap >= 0, process_errno == 0);
		target_memory_close(&memory);
	}
	if (error && error->code == HS_ERROR_SYSTEM)
		CHECK(strstr(error->message, "page map") && error->error_number == process_errno);
	hs_error_destroy(error);
	CHECK_EQUAL(count_descriptors(), before);
}

int main(void)
{
	HS_CLEANUP_PROCESS struct process self = PROCESS_CLOSED;
	static const int moments[] = { EMFILE, ENFILE, EINTR, EPERM, EACCES, EBUSY };

	CHECK(!process_open(getpid(), &self));
	check_open(&self, 0, 0, -1);
	check_open(&self, ENOENT, ENOENT, -1); // without CONFIG_PROC_PAGE_MONITOR
	check_open(&self, EPERM, EPERM, -1);   // Linux 4.0 and 4.1, without CAP_SYS_ADMIN
	check_open(&self, EACCES, EACCES, -1); // by a security module, for all
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
		check_open(&self, moments[i], 0, HS_ERROR_SYSTEM);
	check_open(&self, EMFILE, EMFILE, HS_ERROR_SYSTEM); // nobody can say what the kernel has
	check_open(&self, ENOENT, 0, HS_ERROR_GONE);        // the process has ended
	check_open(&self, ESRCH, 0, HS_ERROR_GONE);
	return CHECK_RESULT();
}
