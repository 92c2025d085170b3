// SPDX-License-Identifier: Apache-2.0
// What a child in the sandbox cannot do, tried by itself; and that it cannot hold the tool up, however it ends or does
// not end.
#include "base/clock.h"
#include "check.h"
#include "snapshot/symbols/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sandbox_limits limits = { UINT64_C(256) << 20, 10 };

static uint64_t in_seconds(uint64_t seconds) { return hs_monotonic_ns() + seconds * UINT64_C(1000000000); }

static struct sandbox start_with(void (*work)(int, void *), void *context, const struct sandbox_limits *chosen)
{
	struct sandbox sandbox = { 0 };
	struct hs_error *error = sandbox_start(work, context, chosen, &sandbox);

	CHECK(!error);
	if (error) {
		fprintf(stderr, "%s\n", error->message);
		exit(1);
	}
	return sandbox;
}

static struct sandbox start(void (*work)(int, void *), void *context) { return start_with(work, context, &limits); }

static void check_gone(struct sandbox *sandbox) { CHECK(kill(sandbox->pid, 0) < 0 && errno == ESRCH); }

// Each attempt with the errno that it must give.
enum { ATTEMPTS = 16 };

static void try_everything(int socket, void *context)
{
	const int *open_file = context;
	char *program[] = { NULL };
	struct rlimit more = { 1 << 30, 1 << 30 };
	int result[ATTEMPTS];
	size_t count = 0;

#define TRY(call) (errno = 0, result[count++] = (call) < 0 ? errno : 0)
	TRY(syscall(SYS_open, "/proc/self/mem", O_RDONLY));
	TRY(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY));
	TRY(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0));
	TRY(syscall(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0));
	TRY(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	TRY(syscall(SYS_execve, "/bin/true", program, program));
	TRY(syscall(SYS_fork));
	TRY(syscall(SYS_kill, getppid(), 0));
	TRY(syscall(SYS_setuid, 0));
	TRY(syscall(SYS_prlimit64, 0, RLIMIT_AS, &more, NULL));
	TRY(syscall(SYS_unlinkat, AT_FDCWD, "/tmp/nothing", 0));
	TRY((intptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	TRY(mprotect((void *)((uintptr_t)&limits & ~UINT64_C(4095)), 4096, PROT_READ | PROT_EXEC));
	// Allowed, so the answer is that of the kernel behind the filter: the descriptor is not there.
	TRY(lseek(*open_file, 0, SEEK_SET));
	TRY((intptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	// More than the limit.
	TRY((intptr_t)mmap(NULL, UINT64_C(1) << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
#undef TRY
	send(socket, result, sizeof(result), 0);
	recv(socket, result, sizeof(result), 0); // stays to be looked at
}

static void check_status(pid_t pid)
{
	char path[64], line[256], value[64];
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);

	FILE *status = fopen(path, "r");

	CHECK(status != NULL);
	while (status && fgets(line, sizeof(line), status)) {
		int uids[4];

		if (sscanf(line, "Uid: %d %d %d %d", &uids[0], &uids[1], &uids[2], &uids[3]) == 4) {
			int expected = geteuid() == 0 ? 65534 : (int)geteuid();

			for (int i = 0; i < 4; i++)
				CHECK_EQUAL(uids[i], expected);
			found++;
		}
		if (sscanf(line, "Groups: %63s", value) == 1 && geteuid() == 0)
			CHECK(!"no supplementary groups");
		for (int i = 0; i < 3; i++) {
			static const char *const sets[] = { "CapPrm: %63s", "CapEff: %63s", "CapInh: %63s" };

			if (sscanf(line, sets[i], value) == 1) { // NOLINT(cert-err34-c): the formats are constants
				CHECK_STRING(value, "0000000000000000");
				found++;
			}
		}
		if (sscanf(line, "NoNewPrivs: %63s", value) == 1) {
			CHECK_STRING(value, "1");
			found++;
		}
		if (sscanf(line, "Seccomp: %63s", value) == 1) {
			CHECK_STRING(value, "2");
			found++;
		}
	}
	CHECK_EQUAL(found, 6);
	if (status)
		fclose(status);
}

static void test_rights(void)
{
	static const int expected[ATTEMPTS] = {
		EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM,
		EPERM, EPERM, EPERM, EPERM, EPERM, EBADF, 0,     ENOMEM,
	};
	int result[ATTEMPTS], open_file = open("/dev/null", O_RDONLY);
	char ending[SANDBOX_ENDING_SIZE];
	size_t size;

	CHECK(open_file > STDERR_FILENO);
	if (open_file == 3) // the number that the child's socket has
		open_file = fcntl(open_file, F_DUPFD, 10);

	struct sandbox sandbox = start(try_everything, &open_file);

	CHECK(!sandbox_receive(&sandbox, in_seconds(60), result, sizeof(result), &size));
	CHECK_EQUAL(size, sizeof(result));
	for (int i = 0; i < ATTEMPTS; i++) {
		if (result[i] != expected[i])
			fprintf(stderr, "attempt %d:\n", i);
		CHECK_EQUAL(result[i], expected[i]);
	}
	check_status(sandbox.pid);
	sandbox_end(&sandbox, ending);
	CHECK_STRING(ending, "");
	check_gone(&sandbox);
	close(open_file);
}

static void crash(int socket, void *context)
{
	(void)socket;
	(void)context;
	__builtin_trap();
}

static void leave(int socket, void *context)
{
	(void)socket;
	syscall(SYS_exit_group, *(int *)context);
}

static void loop(int socket, void *context)
{
	(void)socket;
	(void)context;
	for (volatile unsigned i = 0;; i++) // a signed one may be over in a second
		;
}

static void hang_up_and_wait(int socket, void *context)
{
	char nothing;

	(void)context;
	shutdown(socket, SHUT_RDWR);
	close(socket);
	for (;;)
		syscall(SYS_futex, &nothing, 0, nothing, NULL, NULL, 0);
}

static void send_too_much(int socket, void *context)
{
	static char data[4096];

	(void)context;
	send(socket, data, sizeof(data), 0);
	recv(socket, data, sizeof(data), 0);
}

// The file is cut while it is read through a mapping.
static void read_mapped(int socket, void *context)
{
	volatile const char *bytes = context;
	char answer = bytes[0];

	send(socket, &answer, 1, 0);
	recv(socket, &answer, 1, 0);
	answer = bytes[4096];
	send(socket, &answer, 1, 0);
}

static void check_error(struct hs_error *error, enum hs_error_code code)
{
	CHECK(error != NULL);
	if (error)
		CHECK_EQUAL(error->code, code);
	hs_error_destroy(error);
}

static void test_endings(void)
{
	char ending[SANDBOX_ENDING_SIZE], buffer[64];
	struct sandbox sandbox = start(crash, NULL);
	int status = 7;
	size_t size;

	check_error(sandbox_receive(&sandbox, in_seconds(60), buffer, sizeof(buffer), &size), HS_ERROR_GONE);
	sandbox_end(&sandbox, ending);
	CHECK(strncmp(ending, "was killed by signal 4", 22) == 0);
	check_gone(&sandbox);

	sandbox = start(leave, &status);
	check_error(sandbox_receive(&sandbox, in_seconds(60), buffer, sizeof(buffer), &size), HS_ERROR_GONE);
	sandbox_end(&sandbox, ending);
	CHECK_STRING(ending, "ended with status 7");
	check_gone(&sandbox);

	sandbox = start(hang_up_and_wait, NULL);
	check_error(sandbox_receive(&sandbox, in_seconds(60), buffer, sizeof(buffer), &size), HS_ERROR_GONE);
	sandbox_end(&sandbox, ending);
	CHECK_STRING(ending, "");
	check_gone(&sandbox);

	sandbox = start(send_too_much, NULL);
	check_error(sandbox_receive(&sandbox, in_seconds(60), buffer, sizeof(buffer), &size), HS_ERROR_BAD_DATA);
	sandbox_end(&sandbox, ending);
	check_gone(&sandbox);
}

static void test_time(void)
{
	char ending[SANDBOX_ENDING_SIZE], buffer[64];
	const struct sandbox_limits short_limits = { UINT64_C(256) << 20, 1 };
	struct sandbox sandbox = start(loop, NULL);
	size_t size;

	// The tool does not wait longer than it said.
	check_error(sandbox_receive(&sandbox, hs_monotonic_ns() + 1000000, buffer, sizeof(buffer), &size),
		    HS_ERROR_TIMEOUT);
	sandbox_end(&sandbox, ending);
	check_gone(&sandbox);

	// Processor time ends by itself.
	sandbox = start_with(loop, NULL, &short_limits);
	check_error(sandbox_receive(&sandbox, in_seconds(120), buffer, sizeof(buffer), &size), HS_ERROR_GONE);
	sandbox_end(&sandbox, ending);
	CHECK(strncmp(ending, "was killed by signal", 20) == 0);
	check_gone(&sandbox);
}

static void test_cut_file(void)
{
	char ending[SANDBOX_ENDING_SIZE], buffer[64];
	int fd = memfd_create("sandbox_test", MFD_CLOEXEC);
	struct sandbox sandbox;
	size_t size;
	void *bytes;

	CHECK(fd >= 0 && ftruncate(fd, 8192) == 0);
	bytes = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(bytes != MAP_FAILED);
	sandbox = start(read_mapped, bytes);
	CHECK(!sandbox_receive(&sandbox, in_seconds(60), buffer, sizeof(buffer), &size));
	CHECK(ftruncate(fd, 4096) == 0);
	CHECK(!sandbox_send(&sandbox, "x", 1, -1));
	check_error(sandbox_receive(&sandbox, in_seconds(60), buffer, sizeof(buffer), &size), HS_ERROR_GONE);
	sandbox_end(&sandbox, ending);
	CHECK(strncmp(ending, "was killed by signal 7", 22) == 0);
	munmap(bytes, 8192);
	close(fd);
}

int main(void)
{
	test_rights();
	test_endings();
	test_time();
	test_cut_file();
	return CHECK_RESULT();
}
