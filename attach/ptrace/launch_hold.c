// SPDX-License-Identifier: Apache-2.0
#include "attach/arch/breakpoint.h"
#include "attach/elf/modules.h"
#include "attach/guard/interrupt.h"
#include "attach/guard/tool_guard.h"
#include "attach/process/thread_facts.h"
#include "attach/ptrace/launch.h"
#include "attach/ptrace/launch_steps.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/thread_release.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/proc_maps.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

// How long giving up waits for a process to stop.
#define GIVE_UP_NS UINT64_C(1000000000)

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
	bool is_followed;        // launch_held: it stays in stops of the whole process
	bool is_stopped;         // in one of these
};

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

// By SIGSTOP and the like, from which SIGCONT wakes it.
static bool is_stop_of_all(const struct stop *stop) { return stop->kind == STOP_EVENT && stop->signal != SIGTRAP; }

static struct hs_error *pass(struct holding *holding, const struct stop *stop)
{
	holding->is_stopped = holding->is_followed && is_stop_of_all(stop);
	if (holding->is_stopped)
		return ptrace_listen(holding->process->pid);
	return launch_pass(holding->process->pid, stop);
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
		error = launch_next_stop(pid, &stop);
	if (!error && (stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN))
		return launch_ended(pid);
	if (!error)
		error = put_breakpoint(holding, place);
	if (error)
		return error;
	// A signal that came first: it stands before the instruction still, and meets the breakpoint once more.
	return stop.kind == STOP_SIGNAL && stop.signal == SIGTRAP ? ptrace_continue(pid, 0) : pass(holding, &stop);
}

// Takes a stop on the way. *is_there_ret: the moment has come: it stands in the stop of the breakpoint, at the
// instruction that is there again.
static struct hs_error *take_stop(struct holding *holding, const struct stop *stop, bool *is_there_ret,
				  bool *missed_ret)
{
	arch_registers registers;
	struct place *place = NULL;
	struct hs_error *error = place_met(holding, stop, &registers, &place);

	*is_there_ret = false;
	if (!error && place)
		error = ptrace_set_registers(holding->process->pid, &registers);
	if (error)
		return error;
	if (place == &holding->places[PLACE_ENTRY] || (place && loader_is_done(holding))) {
		*is_there_ret = true;
		*missed_ret = place == &holding->places[PLACE_ENTRY] && holding->after_constructors;
		return take_breakpoints(holding);
	}
	return place ? step_over(holding, place) : pass(holding, stop);
}

static struct hs_error *run_to_moment(struct holding *holding, bool *missed_ret)
{
	bool is_there = false;
	struct hs_error *error = NULL;

	while (!error && !is_there) {
		struct stop stop;

		error = launch_next_stop(holding->process->pid, &stop);
		if (!error)
			error = take_stop(holding, &stop, &is_there, missed_ret);
	}
	return error;
}

// Instead of the breakpoint's signal it gets SIGSTOP, by which it stands without a tracer.
static struct hs_error *leave_stopped(pid_t tid)
{
	struct hs_error *error = ptrace_detach(tid, SIGSTOP);
	struct stop stop;

	if (!error)
		error = launch_next_stop(tid, &stop);
	if (error)
		return error;
	if (stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN)
		return launch_ended(tid);
	stop_consume(tid);
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

// From the stop of an exec on the way to the moment.
static struct hs_error *set_out(struct holding *holding)
{
	struct hs_error *error = fault_point("hold the command before it begins");

	if (!error)
		error = refuse_rights(holding->process);
	if (!error)
		error = target_memory_open(holding->process, &holding->memory);
	if (!error)
		error = find_places(holding);
	for (int i = 0; i < PLACES && !error; i++)
		error = put_breakpoint(holding, &holding->places[i]);
	return error ? error : ptrace_continue(holding->process->pid, 0);
}

static struct hs_error *hold(const struct process *process, bool *missed_ret)
{
	struct holding holding = { .process = process, .memory.fd = -1 };
	struct hs_error *error = set_out(&holding);

	*missed_ret = false;
	if (!error)
		error = run_to_moment(&holding, missed_ret);
	if (error && error->code != HS_ERROR_GONE)
		error = hs_error_join(error, take_breakpoints(&holding));
	target_memory_close(&holding.memory);
	return error;
}

struct hs_error *launch_hold(const struct process *process, bool *missed_ret)
{
	struct hs_error *error = hold(process, missed_ret);

	return error ? error : leave_stopped(process->pid);
}

// To guard a process with filters the tool goes on in a child, which would not be the tracer of those that it follows.
static struct hs_error *refuse_filters(const struct process *process)
{
	struct thread_facts facts;
	struct hs_error *error = thread_facts_read(process, &facts);

	if (error || !facts.seccomp_mode || tool_guard_has_begun())
		return error;
	return hs_error_create(HS_ERROR_REFUSED, "it has a seccomp filter that the command had not at its start");
}

// Out of the stop that it stands in, which takes its way, into one of this tool's making.
static struct hs_error *stop_in_place(pid_t tid, struct stop stop)
{
	for (;;) {
		struct hs_error *error = ptrace_interrupt(tid); // any other stop takes the interrupt away

		if (!error)
			error = launch_pass(tid, &stop);
		if (!error)
			error = launch_next_stop(tid, &stop);
		if (error || stop.kind == STOP_EVENT)
			return error;
	}
}

// A stop that has no signal to be passed on, as of a breakpoint.
static const struct stop PLAIN_STOP = { .kind = STOP_EVENT, .signal = SIGTRAP };

struct launch_held {
	struct holding holding;
};

struct hs_error *launch_held_begin(const struct process *process, struct launch_held **ret)
{
	struct launch_held *held = calloc(1, sizeof(*held));
	// What the loader makes meanwhile, if anything, is nobody's to follow.
	struct hs_error *error =
		held ? ptrace_set_options(process->pid, HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT) : &hs_error_no_memory;

	*ret = NULL;
	if (!error)
		error = refuse_filters(process);
	if (error) {
		free(held);
		return error;
	}
	held->holding = (struct holding){ .process = process, .memory.fd = -1, .is_followed = true };
	error = set_out(&held->holding);
	if (!error) {
		*ret = held;
		return NULL;
	}
	error = hs_error_join(error, take_breakpoints(&held->holding));
	target_memory_close(&held->holding.memory);
	free(held);
	return error;
}

struct hs_error *launch_held_look(struct launch_held *held, enum launch_progress *ret, bool *missed_ret)
{
	const pid_t pid = held->holding.process->pid;

	for (;;) {
		const struct stop stop = stop_peek(pid);
		bool is_there;
		struct hs_error *error;

		*ret = held->holding.is_stopped ? LAUNCH_STOPPED : LAUNCH_UNDER_WAY;
		if (stop.kind == STOP_NONE)
			return NULL;
		if (stop.kind == STOP_EXEC) { // its memory is another one, without breakpoints
			stop_consume(pid);
			held->holding.places[PLACE_ENTRY].is_set = held->holding.places[PLACE_LOADER].is_set = false;
			*ret = LAUNCH_EXECUTED;
			return NULL;
		}
		error = take_stop(&held->holding, &stop, &is_there, missed_ret);
		if (!error && is_there)
			error = stop_in_place(pid, PLAIN_STOP);
		if (error)
			return error;
		if (is_there) {
			*ret = LAUNCH_THERE;
			thread_release_keep(pid);
			return NULL;
		}
	}
}

static bool has_breakpoint(const struct launch_held *held)
{
	return held->holding.places[PLACE_ENTRY].is_set || held->holding.places[PLACE_LOADER].is_set;
}

// As it is to be left. A stop of the whole process stays.
static struct hs_error *resume(const struct process *process, const struct stop *stop)
{
	struct hs_error *error =
		ptrace_set_options(process->pid, HS_PTRACE_OPTIONS | HS_PTRACE_TRACE_EXIT | HS_PTRACE_TRACE_MADE);

	if (error)
		return error;
	return is_stop_of_all(stop) ? ptrace_listen(process->pid) : launch_pass(process->pid, stop);
}

// It may stand in any stop, or run.
static struct hs_error *give_up(struct launch_held *held)
{
	struct holding *holding = &held->holding;
	const pid_t pid = holding->process->pid;
	struct hs_error *error = ptrace_interrupt(pid);
	arch_registers registers;
	struct place *place;
	struct stop stop;

	if (error)
		return error;
	stop = stop_wait(pid, hs_monotonic_ns() + GIVE_UP_NS, false);
	if (stop.kind == STOP_NONE)
		return hs_error_create(HS_ERROR_TIMEOUT, "process %d does not stop, and has breakpoints in it",
				       (int)pid);
	error = place_met(holding, &stop, &registers, &place);
	if (!error && place) {
		error = ptrace_set_registers(pid, &registers);
		stop = PLAIN_STOP;
	}
	if (!error)
		error = take_breakpoints(holding);
	return error ? error : resume(holding->process, &stop);
}

struct hs_error *launch_held_end(struct launch_held *held)
{
	struct hs_error *error = NULL;

	if (!held)
		return NULL;
	if (has_breakpoint(held))
		error = give_up(held);
	target_memory_close(&held->holding.memory);
	free(held);
	return error;
}

bool launch_go_on(const struct process *process)
{
	struct stop stop = stop_peek(process->pid);
	struct hs_error *error = NULL;

	// Whether a signal stops the whole process does not show in the stop of a signal, or of a system call.
	if ((stop.kind == STOP_SIGNAL && !stop.event) || stop.kind == STOP_SYSCALL) {
		error = stop_in_place(process->pid, stop);
		stop = stop_peek(process->pid);
	}
	if (!error)
		error = resume(process, &stop);
	thread_release_keep(0);
	hs_error_destroy(error); // killed in its stop, or it runs
	return is_stop_of_all(&stop);
}
