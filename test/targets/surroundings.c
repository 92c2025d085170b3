// SPDX-License-Identifier: Apache-2.0
// A program that shuts itself in, as its arguments say, in their order, and then works: threads that allocate all the
// time, threads that sleep. Answers to lines on standard input: "keep" leaves KEPT blocks of KEPT_SIZE bytes here and
// as many from a library, "work" allocates, checks and frees, "count" says what the threads have done; all say "wrong"
// when a block has not kept what was written into it.
//   threads=N            of each kind; none = the main thread alone
//   chroot=DIRECTORY  user=ID  write-denied  no-new-privs  not-dumpable
//   files=N              the soft limit of open files; descriptors=all: uses all there are up to it
//   file-size=N          the soft limit of the size of a file
//   strict               strict seccomp, in the main thread
//   no-tsc               without the time-stamp counter, in the main thread
//   run PROGRAM...       becomes another program
//   allow=NAME,...       a filter that kills for every other system call;  deny=NAME,...  one that kills for these;
//                        fail=NAME,...  EPERM
//   deny-here=NAME,...   a filter for the main thread and those that it starts later
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

enum { KEPT = 100, KEPT_SIZE = 1000, HEAP = 64 << 20 };

void *surroundings_library_allocate(size_t size);
void *surroundings_keep(size_t size);

static atomic_ulong operations, started;
static atomic_bool wrong;

static const struct {
	const char *name;
	int number;
} calls[] = {
	{ "read", SYS_read },
	{ "write", SYS_write },
	{ "exit", SYS_exit },
	{ "exit_group", SYS_exit_group },
	{ "futex", SYS_futex },
	{ "nanosleep", SYS_nanosleep },
	{ "clock_nanosleep", SYS_clock_nanosleep },
	{ "rt_sigreturn", SYS_rt_sigreturn },
	{ "restart_syscall", SYS_restart_syscall },
	{ "memfd_create", SYS_memfd_create },
	{ "mmap", SYS_mmap },
	{ "munmap", SYS_munmap },
	{ "madvise", SYS_madvise },
	{ "mprotect", SYS_mprotect },
	{ "munlock", SYS_munlock },
	{ "prctl", SYS_prctl },
	{ "ftruncate", SYS_ftruncate },
	{ "fcntl", SYS_fcntl },
	{ "close", SYS_close },
};

__attribute__((noipa)) void *surroundings_keep(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory"); // no tail call
	return block;
}

// By write(2) alone: dprintf would seek.
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (write(1, text, strlen(text)) < 0)
		syscall(SYS_exit_group, 4);
}

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	say("cannot %s: %s\n", what, strerror(errno));
	syscall(SYS_exit_group, 3);
}

static int call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	errno = ENOSYS;
	must(false, name);
	return -1;
}

// What happens for the calls that `names` has, and what for the others. `flags`: for all threads, or this one and those
// it starts.
static void install_filter(char *names, unsigned for_these, unsigned for_others, unsigned flags)
{
	struct sock_filter filter[64] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { 1, filter };

	for (char *name = strtok(names, ","); name && program.len < 60; name = strtok(NULL, ",")) {
		filter[program.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call_number(name), 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, for_these);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, for_others);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "set no_new_privs");
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0, "install a filter");
}

// Memory for all that will ever be allocated, so that the allocator makes no system call.
static void take_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
	free(surroundings_keep(HEAP));
}

static bool work_once(unsigned seed)
{
	unsigned char *blocks[64];
	bool right = true;

	for (unsigned i = 0; i < 64; i++) {
		size_t size = 1 + (seed * 31 + i * i) % 900;

		blocks[i] = i % 3 ? malloc(size) : calloc(1, size);
		if (!blocks[i])
			return false;
		memset(blocks[i], (int)(seed + i), size);
		if (i % 4 == 0) {
			blocks[i] = realloc(blocks[i], size + 100);
			memset(blocks[i] + size, (int)(seed + i), 100);
		}
	}
	for (unsigned i = 0; i < 64; i++) {
		size_t size = 1 + (seed * 31 + i * i) % 900 + (i % 4 ? 0 : 100);

		for (size_t at = 0; at < size; at++)
			right &= blocks[i][at] == (unsigned char)(seed + i);
		free(blocks[i]);
	}
	return right;
}

static void *allocate(void *argument)
{
	const struct timespec moment = { 0, 500000 };

	started++;
	for (unsigned seed = (unsigned)(size_t)argument;; seed++) {
		if (!work_once(seed))
			wrong = true;
		operations += 1;
		if (seed % 16 == 0 && nanosleep(&moment, NULL))
			wrong = true;
	}
	return NULL;
}

// A sleep that ends early or is reported as interrupted is wrong.
static void *sleep_well(void *argument)
{
	const struct timespec hour = { 3600, 0 };

	(void)argument;
	started++;
	nanosleep(&hour, NULL);
	wrong = true;
	return NULL;
}

static void start_threads(unsigned long count)
{
	pthread_t thread;

	for (unsigned long i = 0; i < count; i++)
		must(pthread_create(&thread, NULL, allocate, (void *)(i * 1000)) == 0 &&
			     pthread_create(&thread, NULL, sleep_well, NULL) == 0,
		     "start threads");
	while (started < 2 * count) // what a thread does first, a filter may forbid
		sched_yield();
}

static void set_limit(__rlimit_resource_t resource, unsigned long value)
{
	struct rlimit limit;

	getrlimit(resource, &limit);
	limit.rlim_cur = value;
	must(setrlimit(resource, &limit) == 0, "set a limit");
}

static void shut_in(char *option)
{
	char *value = strchr(option, '=');
	unsigned id;

	if (value)
		*value++ = 0;
	if (strcmp(option, "threads") == 0) {
		start_threads(strtoul(value, NULL, 10));
	} else if (strcmp(option, "chroot") == 0) {
		must(chroot(value) == 0 && chdir("/") == 0, "chroot");
	} else if (strcmp(option, "user") == 0) {
		id = (unsigned)strtoul(value, NULL, 10);
		must(setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0,
		     "become a user");
	} else if (strcmp(option, "write-denied") == 0) {
		must(prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0, "set MDWE");
	} else if (strcmp(option, "no-new-privs") == 0) {
		must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "set no_new_privs");
	} else if (strcmp(option, "not-dumpable") == 0) {
		must(prctl(PR_SET_DUMPABLE, 0) == 0, "set dumpable");
	} else if (strcmp(option, "files") == 0) {
		set_limit(RLIMIT_NOFILE, strtoul(value, NULL, 10));
	} else if (strcmp(option, "descriptors") == 0) {
		while (open("/dev/null", O_RDONLY) >= 0)
			;
		must(errno == EMFILE, "use all descriptors");
	} else if (strcmp(option, "file-size") == 0) {
		set_limit(RLIMIT_FSIZE, strtoul(value, NULL, 10));
	} else if (strcmp(option, "no-tsc") == 0) {
		must(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0, "disable the time-stamp counter");
	} else if (strcmp(option, "strict") == 0) {
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "set strict seccomp");
	} else if (strcmp(option, "allow") == 0) {
		install_filter(value, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC);
	} else if (strcmp(option, "deny") == 0) {
		install_filter(value, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC);
	} else if (strcmp(option, "deny-here") == 0) {
		install_filter(value, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, 0);
	} else if (strcmp(option, "fail") == 0) {
		install_filter(value, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC);
	} else {
		errno = EINVAL;
		must(false, option);
	}
}

static void answer(const char *question)
{
	unsigned before = (unsigned)operations;
	bool right = true;

	if (strcmp(question, "keep") == 0) {
		for (int i = 0; i < KEPT; i++)
			right &= surroundings_keep(KEPT_SIZE) && surroundings_library_allocate(KEPT_SIZE);
		say(right && !wrong ? "kept\n" : "wrong\n");
	} else if (strcmp(question, "work") == 0) {
		for (unsigned i = 0; i < 100; i++)
			right &= work_once(before + i);
		say(right && !wrong ? "right\n" : "wrong\n");
	} else if (wrong) {
		say("wrong\n");
	} else {
		say("%lu\n", (unsigned long)operations);
	}
}

int main(int argc, char **argv)
{
	char line[64];
	size_t size = 0;

	take_memory();
	free(surroundings_library_allocate(1));
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "run") == 0)
			must(execv(argv[i + 1], argv + i + 1) == 0, "run a program");
		shut_in(argv[i]);
	}
	say("ready\n");
	while (size < sizeof(line) && read(0, line + size, 1) == 1) {
		if (line[size] != '\n') {
			size++;
			continue;
		}
		line[size] = 0;
		size = 0;
		answer(line);
	}
	// Strict seccomp knows no exit_group.
	if (argc > 1 && strcmp(argv[argc - 1], "strict") == 0)
		syscall(SYS_exit, wrong);
	syscall(SYS_exit_group, (int)wrong);
}
