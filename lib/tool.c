// SPDX-License-Identifier: Apache-2.0
#include "lib/tool.h"

#include "attach/guard/interrupt_signal.h"
#include "attach/guard/tool_guard.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_status.h"
#include "base/test_variable.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

// A file stays open for each module of the target, and they can be more than the usual 1024.
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

// Numbers of processes must mean the same below /proc as to ptrace and the kernel's other calls, or what is read of one
// process would be done to another. They do where /proc is of the tool's own PID namespace: "NSpid:" there has a number
// for each namespace from that of the mount down to the process's own (proc_pid_status in fs/proc/array.c).
static struct hs_error *check_proc(void)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct statfs system;
	const char *ids;
	struct hs_error *error;
	size_t size;

	if (statfs("/proc", &system) != 0 || system.f_type != PROC_SUPER_MAGIC)
		return hs_error_create(HS_ERROR_REFUSED,
				       "no process can be looked at: no proc file system is mounted at /proc");
	error = hs_read_file("/proc/self/status", PROC_STATUS_LIMIT, &text, &size);
	if (error && error->error_number != ENOENT) // there is no entry for the tool where it has no number
		return error;
	ids = error ? NULL : proc_status_field(text, "NSpid:");
	if (!error && (!ids || ids[strcspn(ids, "\t \n")] == '\n')) // without it there are no PID namespaces
		return NULL;
	hs_error_destroy(error);
	return hs_error_create(HS_ERROR_REFUSED, "/proc is of another PID namespace, where numbers stand for other "
						 "processes: run heapsnap where it is of its own (nsenter --pid "
						 "--mount, unshare --mount-proc)");
}

struct hs_error *hs_tool_begin(void)
{
	struct hs_error *error;

	hs_test_variables_decide(); // before rights are given up anywhere
	signal(SIGPIPE, SIG_IGN);   // a reader that goes away is an error like any other
	signal(SIGXFSZ, SIG_IGN);   // and so is a limit of file sizes, that of the region among them
	signal(SIGCHLD, SIG_DFL);   // inherited as ignored, it would lose how the tool's own children ended
	error = check_proc();
	if (error)
		return error;
	raise_file_limit();
	interrupt_install();
	return tool_guard_begin_where_immortal();
}

bool hs_tool_is_interrupted(void) { return interrupt_signal_came(); }
