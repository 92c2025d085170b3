// SPDX-License-Identifier: Apache-2.0
#include "harness.h"
#include "held_process.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/gadgets.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void give_up(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(2);
}

// A signal that comes meanwhile, of a child say, is no end of the wait.
static bool readable_within(int fd, int milliseconds)
{
	const uint64_t deadline = hs_monotonic_ns() + (uint64_t)milliseconds * 1000000;
	struct pollfd descriptor = { .fd = fd, .events = POLLIN };
	int count;

	while ((count = poll(&descriptor, 1, milliseconds)) < 0 && errno == EINTR) {
		const uint64_t now = hs_monotonic_ns();

		milliseconds = now < deadline ? (int)((deadline - now) / 1000000) : 0;
	}
	return count == 1;
}

static uint64_t processor_time(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Until the program has not run for so long: the 2 s of a processor that one needs which steps itself take longer than
// that on a busy machine.
static bool readable_while_running(const struct program *program, int milliseconds)
{
	uint64_t now = processor_time(program->pid), before;

	do {
		if (readable_within(program->output, milliseconds))
			return true;
		before = now;
		now = processor_time(program->pid);
	} while (now > before);
	return false;
}

struct program program_start(const char *name, const char *const *arguments)
{
	const char *folder = getenv("HEAPSNAP_TARGETS");
	char path[4096], line[6] = "";
	const char *vector[32] = { name };
	int input[2], output[2];
	struct program program;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	for (int i = 0; arguments[i] && i < 30; i++)
		vector[i + 1] = arguments[i];
	if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
		give_up("pipe");
	program.pid = fork();
	if (program.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], 0);
		dup2(output[1], 1);
		execv(path, (char *const *)(uintptr_t)vector);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	program.input = input[1];
	program.output = output[0];
	for (size_t got = 0; got < 6;) {
		ssize_t count = readable_while_running(&program, 10000) ? read(program.output, line + got, 6 - got) : 0;

		if (count <= 0 || memcmp(line, "ready\n", got + (size_t)count) != 0) {
			fprintf(stderr, "%s is not ready\n", path);
			kill(program.pid, SIGKILL);
			exit(2);
		}
		got += (size_t)count;
	}
	return program;
}

int program_finish(struct program *program, char *text, size_t size)
{
	char buffer[256];
	size_t length = 0;
	int status;

	close(program->input);
	for (;;) {
		ssize_t count;

		if (!readable_while_running(program, 20000)) {
			kill(program->pid, SIGKILL);
			waitpid(program->pid, &status, 0);
			close(program->output);
			return 1000;
		}
		count = read(program->output, buffer, sizeof(buffer));
		if (count <= 0)
			break;
		for (ssize_t i = 0; i < count && length + 1 < size; i++)
			text[length++] = buffer[i];
	}
	if (size > 0)
		text[length] = 0;
	close(program->output);
	waitpid(program->pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

unsigned long long status_of(pid_t pid, pid_t tid, const char *key, int base)
{
	char path[64], line[512];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtoull(line + strlen(key), NULL, base);
	}
	fclose(file);
	return value;
}

bool all_threads(pid_t pid, bool (*passes)(pid_t, pid_t))
{
	struct dirent *entry;
	char path[64];
	bool all = true;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return false;
	while ((entry = readdir(directory))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0)
			all = all && passes(pid, tid);
	}
	closedir(directory);
	return all;
}

static bool is_free(pid_t pid, pid_t tid)
{
	char state = thread_state(held_process(pid), tid);

	return state != 'T' && state != 't' && status_of(pid, tid, "TracerPid:", 10) == 0;
}

static bool is_stopped(pid_t pid, pid_t tid) { return thread_state(held_process(pid), tid) == 'T'; }

static bool is_asleep(pid_t pid, pid_t tid) { return thread_state(held_process(pid), tid) == 'S'; }

bool anything_stopped_or_traced(pid_t pid) { return !all_threads(pid, is_free); }

bool wholly_stopped(pid_t pid) { return all_threads(pid, is_stopped); }

bool wholly_asleep(pid_t pid) { return all_threads(pid, is_asleep); }

bool wait_until(bool (*condition)(pid_t), pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 10000; i++) {
		if (condition(pid))
			return true;
		nanosleep(&pause, NULL);
	}
	return condition(pid);
}

uint64_t page_entry(pid_t pid, uint64_t address)
{
	uint64_t entry = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 ||
	    pread(fd, &entry, sizeof(entry), (off_t)(address / 4096 * sizeof(entry))) != (ssize_t)sizeof(entry))
		give_up(path);
	close(fd);
	return entry;
}

void nap(long milliseconds)
{
	const struct timespec time = { .tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

void prepare_files(const struct target_memory *memory, struct file_pages *pages)
{
	struct proc_maps maps;

	*pages = (struct file_pages){ 0 };
	harness_must(proc_maps_read(memory->process, &maps), 0);
	gadgets_prepare(&maps, memory, pages);
	proc_maps_deinit(&maps);
}

struct hs_error *freeze_prepared(const struct target_memory *memory, unsigned timeout_ms, struct frozen_process *ret)
{
	struct file_pages pages;

	prepare_files(memory, &pages);
	file_pages_deinit(&pages);
	return threads_freeze(memory->process, timeout_ms, ret);
}

struct frozen_thread *frozen_main_thread(const struct frozen_process *frozen)
{
	for (size_t i = 0; i < frozen->count; i++)
		if (frozen->threads[i].tid == frozen->process->pid)
			return &frozen->threads[i];
	fprintf(stderr, "no main thread is frozen\n");
	exit(1);
}

int run_as_tool(int (*tool)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(tool());
	if (pid <= 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	if (was_starved(status))
		exit(STARVED);
	return WEXITSTATUS(status);
}

bool was_starved(int wait_status)
{
	const bool was = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == STARVED;

	if (was)
		fprintf(stderr, "a process got no processor in time\n");
	return was;
}

int run_unless_starved(int (*test)(void))
{
	int status = 0;

	for (int i = 0; i < 5; i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid < 0)
			give_up("fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(test());
		}
		if (waitpid(pid, &status, 0) != pid)
			give_up("waitpid");
		if (!was_starved(status))
			break;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

long call_of(pid_t pid, pid_t tid)
{
	char path[64], text[16] = "", *end;
	FILE *file;
	long call;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		text[0] = 0;
	if (file)
		fclose(file);
	call = strtol(text, &end, 10);
	return end > text ? call : -1; // "running" is no number
}

bool is_in_execve(pid_t pid, pid_t tid) { return call_of(pid, tid) == SYS_execve; }

bool watched_sleep_make(struct watched_sleep *ret)
{
	char command[128];

	*ret = (struct watched_sleep){ .folder = "/tmp/heapsnap-test-XXXXXX",
				       .listener =
					       fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC) };
	if (ret->listener < 0)
		return false;
	if (!mkdtemp(ret->folder))
		give_up("mkdtemp");
	snprintf(ret->program, sizeof(ret->program), "%s/sleep", ret->folder);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", ret->program);
	if (system(command) != 0 ||
	    fanotify_mark(ret->listener, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, ret->program) != 0)
		give_up("a watched program");
	return true;
}

void watched_sleep_remove(struct watched_sleep *sleep)
{
	if (sleep->listener >= 0)
		close(sleep->listener);
	unlink(sleep->program);
	rmdir(sleep->folder);
}

void harness_must(struct hs_error *error, int failures)
{
	if (!error)
		return;
	fprintf(stderr, "error %d: %s\n", (int)error->code, error->message);
	exit(error->code == HS_ERROR_TIMEOUT && failures == 0 ? STARVED : 1);
}
