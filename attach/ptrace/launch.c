// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/launch.h"

#include "attach/guard/interrupt.h"
#include "attach/process/target.h"
#include "attach/ptrace/launch_steps.h"
#include "attach/ptrace/left_threads.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/inherited_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// In the child. The tool traces it when it is told to go on.
static _Noreturn void execute(char *const *command, int go, int said)
{
	char byte;
	int error_number;

	if (read(go, &byte, 1) != 1)
		_exit(127); // the tool has ended
	inherited_state_restore();
	execvp(command[0], command);
	error_number = errno;
	(void)!write(said, &error_number, sizeof(error_number));
	_exit(127);
}

static void end_child(pid_t tid)
{
	int status;

	stop_kill_child(tid, &status);
}

// Until it has executed the program.
static struct hs_error *wait_for_exec(pid_t pid)
{
	for (;;) {
		struct stop stop;
		struct hs_error *error = launch_next_stop(pid, &stop);

		if (error)
			return error;
		if (stop.kind == STOP_EXEC) {
			stop_consume(pid);
			return NULL;
		}
		error = launch_pass(pid, &stop);
		if (error)
			return error;
	}
}

// Waits until the child has executed the command, failed, or ended. True: it has said why it cannot.
static bool read_said(int said, int *error_number_ret)
{
	ssize_t got;

	do
		got = read(said, error_number_ret, sizeof(*error_number_ret));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(*error_number_ret);
}

// Why the child cannot be traced, as check would say it: heapsnap may itself be traced, with what it starts.
static struct hs_error *seize_error(pid_t pid, int error_number)
{
	struct target_info info;
	struct process process;
	struct hs_error *error = process_open(pid, &process);

	if (!error) {
		error = target_examine(&process, &info);
		if (!error)
			target_info_deinit(&info);
		process_close(&process);
	}
	return error ? error : ptrace_seize_error(pid, error_number);
}

// Traces the child and lets it execute the command.
static struct hs_error *watch_exec(pid_t pid, const char *name, int go, int said)
{
	const unsigned long options = HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT | HS_PTRACE_EXIT_KILL;
	int error_number = ptrace_seize(pid, options);
	struct hs_error *error = error_number ? seize_error(pid, error_number) : NULL;

	if (!error && write(go, "", 1) != 1)
		error = hs_error_system(errno, "cannot tell the child to go on");
	if (!error)
		error = wait_for_exec(pid);
	if (!error)
		return NULL;
	end_child(pid);
	if (read_said(said, &error_number)) {
		hs_error_destroy(error);
		error = hs_error_with_errno(HS_ERROR_REMOTE, error_number, "cannot execute %s", name);
	}
	return error;
}

// The pipes between tool and child.
struct launch_pipes {
	int go_in, go_out, said_in, said_out;
};

static void pipes_close(struct launch_pipes *pipes)
{
	const int ends[] = { pipes->go_in, pipes->go_out, pipes->said_in, pipes->said_out };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

static struct hs_error *start_child(char *const *command, struct launch_pipes *pipes, pid_t *pid_ret)
{
	struct hs_error *error = fault_point("start the command");
	int go[2] = { -1, -1 }, said[2] = { -1, -1 };

	if (!error && (pipe2(go, O_CLOEXEC) != 0 || pipe2(said, O_CLOEXEC) != 0))
		error = hs_error_system(errno, "cannot make a pipe");
	*pipes = (struct launch_pipes){ go[1], go[0], said[1], said[0] };
	if (error)
		return error;
	fflush(NULL);
	*pid_ret = fork();
	if (*pid_ret < 0)
		return hs_error_system(errno, "cannot start a process");
	if (*pid_ret == 0) {
		close(pipes->go_in); // or it would never see that the tool has ended
		execute(command, pipes->go_out, pipes->said_in);
	}
	close(pipes->said_in); // the child's end alone is open: it closes with the exec
	pipes->said_in = -1;
	return NULL;
}

struct hs_error *launch_begin(char *const *command, pid_t *pid_ret)
{
	struct launch_pipes pipes;
	struct hs_error *error = start_child(command, &pipes, pid_ret);

	left_threads_are_awaited();
	if (!error)
		error = watch_exec(*pid_ret, command[0], pipes.go_in, pipes.said_out);
	pipes_close(&pipes);
	return error;
}

struct hs_error *launch_plainly(char *const *command, pid_t *pid_ret)
{
	struct launch_pipes pipes;
	struct hs_error *error = start_child(command, &pipes, pid_ret);
	int error_number;

	if (!error && write(pipes.go_in, "", 1) != 1) {
		error = hs_error_system(errno, "cannot tell the child to go on");
		end_child(*pid_ret);
	}
	if (!error && read_said(pipes.said_out, &error_number)) {
		error = hs_error_with_errno(HS_ERROR_REMOTE, error_number, "cannot execute %s", command[0]);
		end_child(*pid_ret);
	}
	pipes_close(&pipes);
	return error;
}
