// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/launch.h"

#include "attach/arch/breakpoint.h"
#include "attach/elf/modules.h"
#include "attach/guard/interrupt.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/inherited_state.h"
#include "base/io.h"
#include "base/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

// The dynamic loader may read large libraries from a slow disk before the moment has come.
static const uint64_t SLICE = UINT64_C(1000000000);
enum { PLACES = 2, PLACE_ENTRY = 0, PLACE_LOADER = 1 };

struct place {
	uint64_t address; // 0 = none
	uint64_t word;    // what was there
	bool is_set;
};

struct holding {
	const struct process *process;
	struct target_memory memory;
	struct place places[PLACES];
	uint64_t r_debug;        // address; 0 = the loader does not say where it is
	bool after_constructors; // at PLACE_ENTRY constructors have run
};

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

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

// Waits for a stop, and lets nothing but a signal that asks the tool to end stop it.
static struct hs_error *next_stop(pid_t pid, struct stop *ret)
{
	do {
		struct hs_error *error = interrupt_check();

		if (error)
			return error;
		*ret = stop_wait(pid, hs_monotonic_ns() + SLICE, true);
	} while (ret->kind == STOP_NONE);
	return NULL;
}

static struct hs_error *ended(pid_t pid)
{
	return hs_error_create(HS_ERROR_GONE, "process %d has ended before it began", (int)pid);
}

// What is no business of ours takes its way: signals, and stops of the whole process, which stands anyway.
static struct hs_error *pass(pid_t pid, const struct stop *stop)
{
	if (stop->kind == STOP_EXITED || stop->kind == STOP_UNKNOWN)
		return ended(pid);
	return ptrace_continue(pid, stop->kind == STOP_SIGNAL && !stop->event ? stop->signal : 0);
}

// Until it has executed the program.
static struct hs_error *wait_for_exec(pid_t pid)
{
	for (;;) {
		struct stop stop;
		struct hs_error *error = next_stop(pid, &stop);

		if (error)
			return error;
		if (stop.kind == STOP_EXEC) {
			stop_consume(pid);
			return NULL;
		}
		error = pass(pid, &stop);
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

// Traces the child and lets it execute the command.
static struct hs_error *watch_exec(pid_t pid, const char *name, int go, int said)
{
	const unsigned long options = HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT | HS_PTRACE_EXIT_KILL;
	int error_number = ptrace_seize(pid, options);
	struct hs_error *error = error_number ? ptrace_seize_error(pid, error_number) : NULL;

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

// The address of a symbol of the loader, or else of the program; 0 = it has none.
static uint64_t find_symbol(const struct module_list *modules, bool of_loader, const char *name)
{
	struct elf_symbol symbol;

	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if ((of_loader ? module->is_loader : module->is_main) &&
		    elf_view_find_symbol(&module->elf, name, &symbol))
			return module->load_bias + symbol.value;
	}
	return 0;
}

// Where a program without a loader is held. At its entry point its thread has no thread pointer yet, by which the
// payload would know it. In a static glibc and musl these functions are called when it has one, before constructors
// run; main, after that.
static uint64_t find_beginning(const struct module_list *modules, bool *after_constructors_ret)
{
	static const char *const names[] = { "__libc_init_first", "__libc_start_init", "main" };
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	uint64_t address = 0;
	size_t i = 0;

	while (!address && i < COUNT)
		address = find_symbol(modules, false, names[i++]);
	*after_constructors_ret = address && i == COUNT;
	return address ? address : modules->entry;
}

static bool has_loader(const struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		if (modules->items[i].is_loader)
			return true;
	return false;
}

static struct hs_error *find_places(struct holding *holding)
{
	struct module_list modules;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(holding->process, &maps);

	if (error)
		return error;
	error = modules_read(holding->process, &maps, &holding->memory, &modules);
	proc_maps_deinit(&maps);
	if (error)
		return error;
	// By names that glibc exports for debuggers. Each of its namespaces has the same function.
	holding->r_debug = find_symbol(&modules, true, "_r_debug");
	if (holding->r_debug)
		holding->places[PLACE_LOADER].address = find_symbol(&modules, true, "_dl_debug_state");
	if (has_loader(&modules)) {
		holding->places[PLACE_ENTRY].address = modules.entry;
		// musl's loader runs none: the program does, behind its entry point
		holding->after_constructors = modules.libc != LIBC_musl;
	} else {
		holding->places[PLACE_ENTRY].address = find_beginning(&modules, &holding->after_constructors);
	}
	modules_deinit(&modules);
	if (!holding->places[PLACE_ENTRY].address)
		return hs_error_create(HS_ERROR_REFUSED, "process %d does not say where its program begins",
				       (int)holding->process->pid);
	return NULL;
}

static struct hs_error *put_breakpoint(struct holding *holding, struct place *place)
{
	struct hs_error *error;

	if (!place->address)
		return NULL;
	error = target_memory_read(&holding->memory, place->address, &place->word, sizeof(place->word));
	place->is_set = !error;
	return error ? error : ptrace_poke(holding->process->pid, place->address, breakpoint_in_word(place->word));
}

static struct hs_error *take_breakpoint(struct holding *holding, struct place *place)
{
	if (!place->is_set)
		return NULL;
	place->is_set = false;
	return ptrace_poke(holding->process->pid, place->address, place->word);
}

static struct hs_error *take_breakpoints(struct holding *holding)
{
	struct hs_error *error = NULL;

	for (int i = PLACES; i-- > 0;)
		error = hs_error_join(error, take_breakpoint(holding, &holding->places[i]));
	return error;
}

// NULL = it has not met a breakpoint. *registers_ret: at the instruction that was there.
static struct hs_error *place_met(struct holding *holding, const struct stop *stop, arch_registers *registers_ret,
				  struct place **ret)
{
	struct hs_error *error;

	*ret = NULL;
	if (stop->kind != STOP_SIGNAL || stop->event || stop->signal != SIGTRAP)
		return NULL;
	error = ptrace_get_registers(holding->process->pid, registers_ret);
	for (int i = 0; i < PLACES && !error; i++)
		if (holding->places[i].address && breakpoint_met(registers_ret) == holding->places[i].address)
			*ret = &holding->places[i];
	if (*ret)
		registers_set_pc(registers_ret, (*ret)->address);
	return error;
}

static bool loader_is_done(const struct holding *holding)
{
	struct r_debug debug;
	struct hs_error *error = target_memory_read(&holding->memory, holding->r_debug, &debug, sizeof(debug));

	hs_error_destroy(error);
	return !error && debug.r_state == RT_CONSISTENT && debug.r_map;
}

// Over the instruction in the place of the breakpoint.
static struct hs_error *step_over(struct holding *holding, struct place *place)
{
	const pid_t pid = holding->process->pid;
	struct hs_error *error = take_breakpoint(holding, place);
	struct stop stop;

	if (!error)
		error = ptrace_single_step(pid);
	if (!error)
		error = next_stop(pid, &stop);
	if (!error && (stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN))
		return ended(pid);
	if (!error)
		error = put_breakpoint(holding, place);
	if (error)
		return error;
	// A signal that came first: it stands before the instruction still, and meets the breakpoint once more.
	return stop.kind == STOP_SIGNAL && stop.signal == SIGTRAP ? ptrace_continue(pid, 0) : pass(pid, &stop);
}

// Runs it to the moment. It then stands in the stop of the breakpoint, at the instruction that is there again.
static struct hs_error *run_to_moment(struct holding *holding, bool *missed_ret)
{
	const pid_t pid = holding->process->pid;

	for (;;) {
		arch_registers registers;
		struct place *place = NULL;
		struct stop stop;
		struct hs_error *error = next_stop(pid, &stop);

		if (!error)
			error = place_met(holding, &stop, &registers, &place);
		if (!error && place)
			error = ptrace_set_registers(pid, &registers);
		if (error)
			return error;
		if (place == &holding->places[PLACE_ENTRY] || (place && loader_is_done(holding))) {
			*missed_ret = place == &holding->places[PLACE_ENTRY] && holding->after_constructors;
			return take_breakpoints(holding);
		}
		error = place ? step_over(holding, place) : pass(pid, &stop);
		if (error)
			return error;
	}
}

// Instead of the breakpoint's signal it gets SIGSTOP, by which it stands without a tracer.
static struct hs_error *leave_stopped(pid_t pid)
{
	struct hs_error *error = ptrace_detach(pid, SIGSTOP);
	struct stop stop;

	if (!error)
		error = next_stop(pid, &stop);
	if (error)
		return error;
	if (stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN)
		return ended(pid);
	stop_consume(pid);
	return NULL;
}

// The kernel executes a file that gives rights as one that gives none where a tracer without privilege looks on
// (execve(2), "the calling process is being ptraced"): what the program does would not be what it does by itself.
static struct hs_error *refuse_rights(const struct process *process)
{
	HS_CLEANUP_CLOSE int fd = process_openat(process, "exe", O_PATH);
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error;
	struct stat status;
	bool has_rights;

	if (fd < 0 || geteuid() == 0 || fstat(fd, &status) != 0)
		return NULL;
	error = hs_format(&path, "/proc/self/fd/%d", fd);
	if (error)
		return error;
	has_rights = ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
		     ((status.st_mode & S_ISGID) && status.st_gid != getegid()) ||
		     getxattr(path, "security.capability", NULL, 0) > 0;
	return has_rights ? hs_error_create(HS_ERROR_REFUSED,
					    "its file has rights of its own (set-user-ID, set-group-ID or "
					    "capabilities), which it is not given while an ordinary user traces it")
			  : NULL;
}

struct hs_error *launch_hold(const struct process *process, bool *missed_ret)
{
	struct holding holding = { .process = process };
	struct hs_error *error = fault_point("hold the command before it begins");

	*missed_ret = false;
	if (!error)
		error = refuse_rights(process);
	if (!error)
		error = target_memory_open(process, &holding.memory);
	if (error)
		return error;
	error = find_places(&holding);
	for (int i = 0; i < PLACES && !error; i++)
		error = put_breakpoint(&holding, &holding.places[i]);
	if (!error)
		error = ptrace_continue(process->pid, 0);
	if (!error)
		error = run_to_moment(&holding, missed_ret);
	if (error && error->code != HS_ERROR_GONE)
		error = hs_error_join(error, take_breakpoints(&holding));
	target_memory_close(&holding.memory);
	return error ? error : leave_stopped(process->pid);
}

// In the keeper.
static _Noreturn void keep(int pidfd, int signal, int fd)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid(); // out of reach of what is sent to the terminal's process group
	prctl(PR_SET_NAME, "heapsnap-keeper");
	for (int other = 0; other < 3; other++)
		close(other);
	if (read(fd, &byte, 1) == 0)
		syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
	_exit(0);
}

struct hs_error *launch_keeper_begin(const struct process *process, int signal, struct launch_keeper *ret)
{
	int ends[2];

	*ret = (struct launch_keeper){ .fd = -1 };
	if (process->pidfd < 0)
		return NULL; // before Linux 5.3: nobody does it
	if (pipe2(ends, O_CLOEXEC) != 0)
		return hs_error_system(errno, "cannot make a pipe");
	ret->pid = fork();
	if (ret->pid == 0) {
		close(ends[1]);
		keep(process->pidfd, signal, ends[0]);
	}
	close(ends[0]);
	ret->fd = ends[1];
	if (ret->pid > 0)
		return NULL;
	ret->pid = 0;
	close(ends[1]);
	return hs_error_system(errno, "cannot start a process");
}

void launch_keeper_end(struct launch_keeper *keeper)
{
	if (!keeper->pid)
		return;
	(void)!write(keeper->fd, "", 1);
	close(keeper->fd);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
}
