// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/debuginfod.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/interrupt_signal.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/inherited_state.h"
#include "base/io.h"
#include "base/log.h"
#include "base/printable.h"
#include "snapshot/symbols/debuginfod_output.h"
#include "snapshot/symbols/debuginfod_place.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ID_LEAST = 8, // bytes; debuginfod-find takes what is shorter for other things
	ID_MOST = 64,
	ASKED_MAX = 4096,
	LOOK_MS = 50,
	EXIT_NO_RIGHTS = 125,
	EXIT_NO_PROGRAM = 127,
};

static const char PROGRAM[] = "debuginfod-find";

struct asked_file {
	size_t size; // of the build id
	uint8_t build_id[ID_MOST];
	bool is_there; // it was fetched
};

struct debuginfod {
	char program[PATH_MAX];
	struct debuginfod_place place;
	uint64_t limit_ns, spent_ns;
	struct asked_file *asked; // owned
	size_t asked_count, asked_room;
	bool has_given_up;
};

// The child, and what became of it.
struct fetch {
	pid_t pid;
	int output; // what it writes; -1 = no more
	struct debuginfod_output heard;
	bool is_late, is_interrupted;
	int status; // as of waitpid(2)
};

// As execvp(3) would find it, but for folders that are none by their full name.
static bool find_program(char ret[PATH_MAX])
{
	const char *path = getenv("PATH");

	for (const char *folder = path ? path : "/usr/bin:/bin"; *folder;) {
		const size_t length = strcspn(folder, ":");
		struct stat status;

		if (*folder == '/' && length + sizeof(PROGRAM) < PATH_MAX) {
			snprintf(ret, PATH_MAX, "%.*s/%s", (int)length, folder, PROGRAM);
			if (stat(ret, &status) == 0 && S_ISREG(status.st_mode) && access(ret, X_OK) == 0)
				return true;
		}
		folder += length;
		folder += *folder == ':';
	}
	return false;
}

struct hs_error *debuginfod_open(uint64_t limit_ns, struct debuginfod **ret)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *debuginfod;
	struct hs_error *error = NULL;

	*ret = NULL;
	if (!urls || !urls[strspn(urls, " \t\n")])
		return hs_error_create(HS_ERROR_REFUSED,
				       "--debuginfod: DEBUGINFOD_URLS names no server; set it to that of the "
				       "distribution (DEBUGINFOD_URLS=https://debuginfod.elfutils.org asks all), "
				       "behind sudo with sudo --preserve-env=DEBUGINFOD_URLS");
	debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return &hs_error_no_memory;
	debuginfod->limit_ns = limit_ns;
	debuginfod_place_read(&debuginfod->place);
	if (!find_program(debuginfod->program))
		error = hs_error_create(HS_ERROR_REFUSED,
					"--debuginfod: the program %s is not installed; it is in the package "
					"debuginfod (Debian) or elfutils-debuginfod-client (Fedora)",
					PROGRAM);
	else if (!*debuginfod->place.folder)
		error = hs_error_create(HS_ERROR_REFUSED,
					"--debuginfod: there is no folder for what is fetched; name one by its full "
					"path in DEBUGINFOD_CACHE_PATH");
	if (error) {
		debuginfod_close(debuginfod);
		return error;
	}
	*ret = debuginfod;
	return NULL;
}

void debuginfod_close(struct debuginfod *debuginfod)
{
	if (debuginfod)
		free(debuginfod->asked);
	free(debuginfod);
}

uint64_t debuginfod_spent(const struct debuginfod *debuginfod) { return debuginfod ? debuginfod->spent_ns : 0; }

// The user's rights, and none besides: of root only the files that are root's. Without new privileges a program of
// root's gets no capabilities back when it is executed (cap_bprm_creds_from_file, security/commoncap.c).
static bool give_up_rights(const struct debuginfod_place *place, pid_t parent)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (place->is_of_other &&
	    (setgroups(1, &place->group) < 0 || setresgid(place->group, place->group, place->group) < 0 ||
	     setresuid(place->user, place->user, place->user) < 0))
		return false;
	// Linux 4.3; without them there are no such capabilities.
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return false;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

// Its own folder makes the program itself, but not the one above.
static void make_folder_above(const char *folder)
{
	char above[PATH_MAX];
	char *slash;

	memcpy(above, folder, strlen(folder) + 1);
	slash = strrchr(above, '/');
	if (!slash || slash == above)
		return;
	*slash = 0;
	if (mkdir(above, S_IRWXU) < 0)
		errno = 0; // it is there, or the program says what is wrong
}

static _Noreturn void execute(const struct debuginfod *debuginfod, char *build_id, int output, pid_t parent)
{
	const struct debuginfod_place *place = &debuginfod->place;
	char program[] = "debuginfod-find", kind[] = "debuginfo";
	char *const arguments[] = { program, kind, build_id, NULL };
	const int nothing = hs_open_nothing(O_CLOEXEC);

	inherited_state_restore();
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(output, STDERR_FILENO) < 0 || !give_up_rights(place, parent))
		_exit(EXIT_NO_RIGHTS);
	make_folder_above(place->folder);
	if (setenv("DEBUGINFOD_CACHE_PATH", place->folder, 1) < 0 || setenv("DEBUGINFOD_PROGRESS", "1", 1) < 0 ||
	    setenv("LC_ALL", "C", 1) < 0 || unsetenv("DEBUGINFOD_VERBOSE") < 0)
		_exit(EXIT_NO_RIGHTS);
	execv(debuginfod->program, arguments);
	_exit(EXIT_NO_PROGRAM);
}

static struct hs_error *start(const struct debuginfod *debuginfod, char *build_id, struct fetch *fetch)
{
	const pid_t parent = getpid();
	int ends[2], flags;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return hs_error_system(errno, "cannot make a pipe");
	flags = fcntl(ends[0], F_GETFL);
	fetch->pid = flags < 0 || fcntl(ends[0], F_SETFL, flags | O_NONBLOCK) < 0 ? -1 : fork();
	if (fetch->pid == 0)
		execute(debuginfod, build_id, ends[1], parent);

	const int number = errno;

	close(ends[1]);
	fetch->output = ends[0];
	if (fetch->pid > 0)
		return NULL;
	close(ends[0]);
	return hs_error_system(number, "cannot start a process");
}

static void hear(struct fetch *fetch)
{
	char bytes[512];
	ssize_t size = read(fetch->output, bytes, sizeof(bytes));
	uint64_t done, total;

	if (size == 0) {
		close(HS_STEAL_FD(fetch->output));
	} else if (size > 0) {
		debuginfod_output_add(&fetch->heard, bytes, (size_t)size);
		if (debuginfod_output_progress(&fetch->heard, &done, &total))
			hs_progress("fetching debug information, KiB", (unsigned long)(done / 1024),
				    (unsigned long)(total / 1024));
		else
			hs_progress("asking for debug information", 0, 0);
	}
}

static bool is_interrupted(void)
{
	struct hs_error *error = interrupt_check();
	const bool is = error;

	hs_error_destroy(error);
	return is;
}

// Until it has ended, which it is made to when its time is over or a signal has come. Whoever takes SIGINT at a
// terminal, both do.
static void attend(struct fetch *fetch, uint64_t deadline_ns)
{
	bool has_ended = false;

	while (!has_ended) {
		const uint64_t now = hs_monotonic_ns();
		struct pollfd readable = { .fd = fetch->output, .events = POLLIN };

		fetch->is_interrupted = is_interrupted();
		fetch->is_late = now >= deadline_ns;
		if (fetch->is_interrupted || fetch->is_late)
			kill(fetch->pid, SIGKILL); // not waited for yet, so the number is its own
		if (poll(&readable, 1, LOOK_MS) > 0)
			hear(fetch);

		const pid_t found =
			waitpid(fetch->pid, &fetch->status, fetch->is_interrupted || fetch->is_late ? 0 : WNOHANG);

		has_ended = found == fetch->pid || (found < 0 && errno != EINTR);
	}
	// What it has said last; of an endless talker enough.
	for (int i = 0; i < 256 && fetch->output >= 0; i++) {
		struct pollfd readable = { .fd = fetch->output, .events = POLLIN };

		if (poll(&readable, 1, 0) <= 0)
			break;
		hear(fetch);
	}
	if (fetch->output >= 0)
		close(fetch->output);
	if (is_interrupted() || (WIFSIGNALED(fetch->status) && WTERMSIG(fetch->status) == SIGINT))
		fetch->is_interrupted = true;
}

static void warn_of_failure(struct fetch *fetch)
{
	HS_CLEANUP_FREE char *reason = hs_printable(debuginfod_output_reason(&fetch->heard));

	if (WIFEXITED(fetch->status) && WEXITSTATUS(fetch->status) == EXIT_NO_RIGHTS)
		hs_warn("debuginfod-find is not run: its process cannot give up the tool's rights");
	else if (WIFSIGNALED(fetch->status))
		hs_warn("debuginfod-find was killed by signal %d; no more debug information is asked for",
			WTERMSIG(fetch->status));
	else
		hs_warn("debuginfod-find failed: %s; no more debug information is asked for",
			reason && *reason ? reason : "it gives no reason");
}

// True: it is there. Else whether it makes sense to ask for others.
static bool judge(struct debuginfod *debuginfod, struct fetch *fetch, const char *name)
{
	if (fetch->is_interrupted) {
		interrupt_clear();
		debuginfod->has_given_up = true;
		hs_warn("interrupted: going on without debuginfod");
		return false;
	}
	if (!fetch->is_late && WIFEXITED(fetch->status) && WEXITSTATUS(fetch->status) == 0) {
		hs_verbose("symbols: %s: debug information fetched", name);
		return true;
	}
	if (fetch->is_late) {
		debuginfod->has_given_up = true;
		hs_warn("no debug information of %s within %llu s; no more is asked for (--debuginfod-time)", name,
			(unsigned long long)(debuginfod->limit_ns / 1000000000));
	} else if (WIFEXITED(fetch->status) && strstr(fetch->heard.text, "No such file or directory")) {
		// In it the program notes what is not there.
		if (access(debuginfod->place.folder, F_OK) == 0) {
			hs_verbose("symbols: %s: no server has its debug information", name);
			return false;
		}
		debuginfod->has_given_up = true;
		hs_warn("no debug information is asked for: the folder %s cannot be made", debuginfod->place.folder);
	} else {
		debuginfod->has_given_up = true;
		warn_of_failure(fetch);
	}
	return false;
}

static struct asked_file *find_asked(const struct debuginfod *debuginfod, const uint8_t *build_id, size_t size)
{
	for (size_t i = 0; i < debuginfod->asked_count; i++)
		if (debuginfod->asked[i].size == size && memcmp(debuginfod->asked[i].build_id, build_id, size) == 0)
			return &debuginfod->asked[i];
	return NULL;
}

// False: it is not to be asked for (again).
static bool note_asked(struct debuginfod *debuginfod, const uint8_t *build_id, size_t size)
{
	struct asked_file file = { .size = size };

	if (debuginfod->has_given_up || size < ID_LEAST || size > ID_MOST || debuginfod->asked_count == ASKED_MAX)
		return false;
	memcpy(file.build_id, build_id, size);
	if (find_asked(debuginfod, build_id, size))
		return false;

	struct hs_error *error = ARRAY_RESERVE(debuginfod->asked, debuginfod->asked_count + 1, &debuginfod->asked_room);

	hs_error_destroy(error);
	if (error)
		return false;
	debuginfod->asked[debuginfod->asked_count++] = file;
	return true;
}

bool debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_size, const char *name)
{
	struct fetch fetch = { .output = -1 };
	char text[2 * ID_MOST + 1], *end = text;
	const uint64_t began = hs_monotonic_ns();
	struct hs_error *error;
	bool is_there = false;

	if (!note_asked(debuginfod, build_id, build_id_size))
		return false;
	for (size_t i = 0; i < build_id_size; i++)
		end += sprintf(end, "%02x", build_id[i]);
	error = start(debuginfod, text, &fetch);
	if (error) {
		hs_warn("no debug information is asked for: %s", error->message);
		hs_error_destroy(error);
		debuginfod->has_given_up = true;
	} else {
		attend(&fetch, began + debuginfod->limit_ns);
		is_there = judge(debuginfod, &fetch, name);
	}
	debuginfod->spent_ns += hs_monotonic_ns() - began;
	debuginfod->asked[debuginfod->asked_count - 1].is_there = is_there;
	return is_there;
}

void debuginfod_was_refused(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_size,
			    const char *name)
{
	struct asked_file *file = find_asked(debuginfod, build_id, build_id_size);

	if (file && file->is_there)
		hs_warn("the debug information that was fetched of %s is another file's, and is not used", name);
	if (file)
		file->is_there = false;
}
