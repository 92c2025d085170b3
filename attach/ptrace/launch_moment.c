// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/launch_moment.h"

#include "attach/elf/modules.h"
#include "attach/guard/interrupt.h"
#include "attach/process/target.h"
#include "attach/process/thread_facts.h"
#include "attach/ptrace/launch_passed.h"
#include "attach/ptrace/launch_steps.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/repeat_call.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_maps.h"
#include "base/proc_status.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const struct module *find_main(const struct module_list *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		if (modules->items[i].is_main)
			return &modules->items[i];
	return NULL;
}

// The loader. NULL = it has none. Where it was itself executed (ld.so PROGRAM) it is the main program.
static const struct module *find_loader(const struct module_list *modules)
{
	const struct module *main_module = find_main(modules);
	struct elf_symbol symbol;

	for (size_t i = 0; i < modules->count; i++)
		if (modules->items[i].is_loader)
			return &modules->items[i];
	return main_module && elf_view_find_symbol(&main_module->elf, "_r_debug", &symbol) && symbol.dynamic
		       ? main_module
		       : NULL;
}

// 0 = there is none.
static uint64_t find_symbol(const struct module *module, const char *name)
{
	struct elf_symbol symbol;

	return module && elf_view_find_symbol(&module->elf, name, &symbol) ? module->load_bias + symbol.value : 0;
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
		address = find_symbol(find_main(modules), names[i++]);
	*after_constructors_ret = address && i == COUNT;
	return address ? address : modules->entry;
}

// What the loader lists before it has added a library.
static void note_own(struct holding *holding, const struct module_list *modules, const struct module *loader)
{
	size_t count = 0;

	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if (count < HOLDING_OWN && (module->is_main || module->is_vdso || module == loader))
			holding->own_biases[count++] = module->load_bias;
	}
	if (!loader)
		return;
	holding->loader_low = loader->text_low;
	holding->loader_high = loader->text_high;
}

static struct hs_error *find_places(struct holding *holding)
{
	struct module_list modules;
	const struct module *loader;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(holding->process, &maps);

	if (error)
		return error;
	error = modules_read(holding->process, &maps, &holding->memory, &modules);
	proc_maps_deinit(&maps);
	if (error)
		return error;
	// By names that glibc and musl export for debuggers. Each namespace of glibc's has the same function.
	loader = find_loader(&modules);
	holding->r_debug = find_symbol(loader, "_r_debug");
	holding->r_debug_pointer = find_symbol(loader, "_dl_debug_addr");
	if (holding->r_debug || holding->r_debug_pointer)
		holding->places[PLACE_LOADER].address = find_symbol(loader, "_dl_debug_state");
	if (loader && loader->is_main) { // at its own entry point it stands now; the program's is not known yet
		holding->places[PLACE_ENTRY].address = 0;
	} else if (loader) {
		holding->places[PLACE_ENTRY].address = modules.entry;
		// musl's loader runs none: the program does, behind its entry point
		holding->after_constructors = modules.libc != LIBC_musl;
	} else {
		holding->places[PLACE_ENTRY].address = find_beginning(&modules, &holding->after_constructors);
	}
	note_own(holding, &modules, loader);
	modules_deinit(&modules);
	if (!holding->places[PLACE_ENTRY].address && !holding->places[PLACE_LOADER].address)
		return hs_error_create(HS_ERROR_REFUSED, "process %d does not say where its program begins",
				       (int)holding->process->pid);
	return NULL;
}

// A filter of the process's own may end it for a signal that it sends itself, or refuse that. One that the tool has as
// well does what it does to the tool.
static bool may_raise(const struct process *process)
{
	struct thread_facts facts;
	struct hs_error *error = thread_facts_read(process, &facts);
	const bool is_free = !error && !facts.seccomp_mode;

	hs_error_destroy(error);
	return is_free || (prctl(PR_GET_SECCOMP) != 0 && kill(getpid(), 0) == 0);
}

bool holding_is_raising(const struct holding *holding) { return holding->places[PLACE_LOADER].signal; }

static struct hs_error *set_places(struct holding *holding)
{
	const pid_t pid = holding->process->pid;
	struct hs_error *error = NULL;
	bool fits = false;

	if (may_raise(holding->process))
		error = hold_place_set_raising(pid, &holding->memory, &holding->places[PLACE_LOADER], &fits);
	for (int i = 0; i < HOLDING_PLACES && !error && !fits; i++)
		error = hold_place_set_breakpoint(pid, &holding->memory, &holding->places[i]);
	return error;
}

struct hs_error *holding_take_places(struct holding *holding)
{
	struct hs_error *error = NULL;

	for (int i = HOLDING_PLACES; i-- > 0;)
		error = hs_error_join(error, hold_place_take(holding->process->pid, &holding->places[i]));
	return error;
}

bool holding_has_places(const struct holding *holding)
{
	return holding->places[PLACE_ENTRY].is_set || holding->places[PLACE_LOADER].is_set;
}

bool holding_read_debug(const struct holding *holding, struct r_debug *ret)
{
	uint64_t address = holding->r_debug;
	struct hs_error *error = NULL;

	if (!address)
		error = target_memory_read(&holding->memory, holding->r_debug_pointer, &address, sizeof(address));
	if (!error)
		error = target_memory_read(&holding->memory, address, ret, sizeof(*ret));
	hs_error_destroy(error);
	return !error;
}

// glibc calls the function before it adds libraries as well, and for each namespace: those of auditors come first
// (LD_AUDIT). musl calls it once.
static bool loader_is_done(struct holding *holding)
{
	struct r_debug debug;

	if (!holding_read_debug(holding, &debug))
		return false;
	holding->has_added |= debug.r_state == RT_ADD;
	return debug.r_state == RT_CONSISTENT && debug.r_map && (holding->has_added || !holding->r_debug);
}

static bool blocks(const struct process *process, int signal)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(process, process->pid, "status", &status, NULL);
	const bool is_known = !error;

	hs_error_destroy(error);
	return is_known && proc_status_has_signal(status, "SigBlk:", signal);
}

// It stands before its end. The loader has called its function by then, as it was done, but no signal came of it: what
// the loader runs itself, resolvers of indirect functions and auditors, may have blocked that.
static struct hs_error *refuse_passed(struct holding *holding)
{
	const int signal = holding->places[PLACE_LOADER].signal;
	struct r_debug debug;

	if (!holding_is_raising(holding) || !holding_read_debug(holding, &debug) || debug.r_state != RT_CONSISTENT ||
	    !debug.r_map)
		return NULL; // it ends in its loader: a library is missing, say
	holding->has_passed = true;
	return hs_error_create(HS_ERROR_REFUSED, "%s SIG%s before it began, by which it is held there",
			       blocks(holding->process, signal) ? "it had blocked" : "it did not get",
			       sigabbrev_np(signal));
}

struct hs_error *holding_pass(struct holding *holding, const struct stop *stop)
{
	holding->is_stopped = holding->is_followed && stop_is_group_stop(stop);
	if (holding->is_stopped)
		return ptrace_listen(holding->process->pid);
	repeat_call_set_back_from(holding->process->pid, stop);
	return launch_pass(holding->process->pid, stop);
}

// Over the instruction in the place of the breakpoint.
static struct hs_error *step_over(struct holding *holding, struct hold_place *place)
{
	const pid_t pid = holding->process->pid;
	struct hs_error *error = hold_place_take(pid, place);
	struct stop stop;

	if (!error)
		error = ptrace_single_step(pid);
	if (!error)
		error = launch_next_stop(pid, &stop);
	if (!error && (stop.kind == STOP_EXITED || stop.kind == STOP_UNKNOWN))
		return launch_ended(pid);
	if (!error)
		error = hold_place_block_again(pid, place);
	if (!error)
		error = hold_place_set_breakpoint(pid, &holding->memory, place);
	if (error)
		return error;
	// A signal that came first: it stands before the instruction still, and meets the breakpoint once more.
	return stop.kind == STOP_SIGNAL && stop.signal == SIGTRAP ? ptrace_continue(pid, 0)
								  : holding_pass(holding, &stop);
}

// It has met a place.
static struct hs_error *take_place(struct holding *holding, const struct stop *stop, struct hold_place *place,
				   bool *is_there_ret, enum launch_missed *missed_ret)
{
	const bool is_entry = place == &holding->places[PLACE_ENTRY];
	struct hs_error *error;

	// After a late signal it is a library that is loaded by the program.
	*is_there_ret = is_entry || (loader_is_done(holding) && !holding->has_slipped);
	*missed_ret = is_entry && holding->after_constructors ? LAUNCH_MISSED_CONSTRUCTORS : LAUNCH_MISSED_NOTHING;
	if (place->signal && !*is_there_ret)
		return ptrace_continue(holding->process->pid, 0); // without the signal
	error = hold_place_leave(holding->process->pid, place, stop);
	if (error)
		return error;
	return *is_there_ret ? holding_take_places(holding) : step_over(holding, place);
}

struct hs_error *holding_take_stop(struct holding *holding, const struct stop *stop, bool *is_there_ret,
				   enum launch_missed *missed_ret)
{
	struct hs_error *error = NULL;
	bool is_late = false;

	*is_there_ret = false;
	if (stop->kind == STOP_SIGNAL && stop->event == HS_PTRACE_EVENT_EXIT)
		error = refuse_passed(holding);
	if (error)
		return error;
	for (int i = 0; i < HOLDING_PLACES; i++) {
		bool is_met;

		error = hold_place_is_met(holding->process->pid, &holding->places[i], stop, &is_met);

		if (error)
			return error;
		if (is_met)
			return take_place(holding, stop, &holding->places[i], is_there_ret, missed_ret);
	}
	error = holding_is_late_signal(holding, stop, &is_late);
	if (error)
		return error;
	holding->has_slipped |= is_late;
	return is_late ? ptrace_continue(holding->process->pid, 0) : holding_pass(holding, stop);
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

// Out of the stop that it stands in. A stop of the whole process may have come.
static struct hs_error *set_off(struct holding *holding)
{
	struct stop stop;
	struct hs_error *error = launch_stop_in_place(holding->process->pid, &LAUNCH_PLAIN_STOP, &stop);
	return error ? error : holding_pass(holding, &stop);
}

struct hs_error *holding_begin(const struct process *process, bool is_followed, struct holding *ret)
{
	struct hs_error *error = fault_point("hold the command before it begins");

	*ret = (struct holding){ .process = process, .memory.fd = -1, .is_followed = is_followed };
	if (!error)
		error = refuse_rights(process);
	if (!error)
		error = target_refuse_32_bit(process);
	if (!error)
		error = target_memory_open(process, &ret->memory);
	if (!error)
		error = find_places(ret);
	if (!error)
		error = set_places(ret);
	if (!error)
		error = set_off(ret);
	if (error)
		holding_end(ret, &error);
	return error;
}

void holding_end(struct holding *holding, struct hs_error **error)
{
	if (*error && (*error)->code != HS_ERROR_GONE)
		*error = hs_error_join(*error, holding_take_places(holding));
	target_memory_close(&holding->memory);
}

struct hs_error *holding_leave_places(struct holding *holding, struct stop *stop)
{
	const pid_t pid = holding->process->pid;
	struct hs_error *error = NULL;

	for (int i = 0; i < HOLDING_PLACES && !error; i++) {
		bool is_met;

		error = hold_place_is_met(pid, &holding->places[i], stop, &is_met);
		if (!error)
			error = hold_place_leave(pid, &holding->places[i], stop);
		if (!error && is_met)
			*stop = LAUNCH_PLAIN_STOP;
	}
	return error ? error : holding_take_places(holding);
}

void holding_forget_places(struct holding *holding)
{
	for (int i = 0; i < HOLDING_PLACES; i++)
		holding->places[i].is_set = false;
}
