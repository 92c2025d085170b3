// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/launch_passed.h"

#include "attach/process/thread_facts.h"
#include "attach/ptrace/launch_steps.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/remote_call.h"
#include "attach/ptrace/thread_release.h"
#include "attach/ptrace/threads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/proc_status.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

// ns
static const uint64_t PAUSE = UINT64_C(100000000), PAUSE_MOST = UINT64_C(10000000000),
		      STOP_TIMEOUT = UINT64_C(200000000);
enum { FREEZE_MS = 300 }; // others of a family may wait for the tool meanwhile

// The process as it numbers itself, which kill(2) tells of a sender. 0 = not known.
static pid_t own_id(const struct process *process)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_task_file(process, process->pid, "status", &status, NULL);
	const pid_t id = error ? 0 : proc_status_innermost_id(status);

	hs_error_destroy(error);
	return id;
}

struct hs_error *holding_is_late_signal(const struct holding *holding, const struct stop *stop, bool *ret)
{
	const struct hold_place *place = &holding->places[PLACE_LOADER];
	struct hs_error *error;
	pid_t sender;
	int code;

	*ret = false;
	if (!place->is_set || !place->signal || stop->kind != STOP_SIGNAL || stop->event ||
	    stop->signal != place->signal)
		return NULL;
	error = ptrace_get_sender(holding->process->pid, &code, &sender);
	*ret = !error && code == SI_USER && sender && sender == own_id(holding->process);
	return error;
}

static bool is_own(const struct holding *holding, uint64_t bias)
{
	for (int i = 0; i < HOLDING_OWN; i++)
		if (holding->own_biases[i] == bias)
			return true;
	return false;
}

// It is done, and has listed a library. Before it adds the first one it is as if done, too.
static bool loader_has_added(const struct holding *holding)
{
	struct r_debug debug;
	struct link_map map;
	uint64_t address;
	bool has_library = false, is_read = true;

	if (!holding_read_debug(holding, &debug) || debug.r_state != RT_CONSISTENT)
		return false;
	address = (uint64_t)debug.r_map;
	for (int i = 0; i <= HOLDING_OWN && address && is_read && !has_library; i++) {
		struct hs_error *error = target_memory_read(&holding->memory, address, &map, sizeof(map));

		is_read = !error;
		hs_error_destroy(error);
		has_library = is_read && !is_own(holding, map.l_addr);
		address = is_read ? (uint64_t)map.l_next : 0;
	}
	return has_library;
}

// pre: all threads stand
static bool has_begun(const struct holding *holding, const struct frozen_process *frozen)
{
	for (size_t i = 0; i < frozen->count; i++) {
		const struct frozen_thread *thread = &frozen->threads[i];
		const uint64_t pc = registers_pc(&thread->registers);

		if (hold_place_has(&holding->places[PLACE_LOADER], pc))
			return false;
		if (thread->tid == holding->process->pid && pc >= holding->loader_low && pc < holding->loader_high)
			return false;
	}
	return loader_has_added(holding);
}

// By a thread of the process itself, that it does not come when it is unblocked. One that another has sent meanwhile is
// one with it: a signal is pending once (legacy_queue in kernel/signal.c).
static struct hs_error *take_signal_back(const struct holding *holding, struct frozen_process *frozen, int signal)
{
	const uint64_t set = UINT64_C(1) << (signal - 1);
	const struct timespec none = { 0 };
	const pid_t tid = holding->process->pid;
	struct remote_caller caller;
	struct hs_error *error = remote_call_open(frozen, &holding->memory, &caller);
	uint64_t at;
	int64_t result;

	if (error)
		return error;
	at = remote_call_scratch(&caller);
	error = target_memory_write(&holding->memory, at, &set, sizeof(set), tid);
	if (!error)
		error = target_memory_write(&holding->memory, at + sizeof(set), &none, sizeof(none), tid);
	if (!error)
		error = remote_call(&caller, SYS_rt_sigtimedwait,
				    (const uint64_t[6]){ at, 0, at + sizeof(set), sizeof(set) }, &result);
	return hs_error_join(error, remote_call_close(&caller));
}

static struct hs_error *take_signal_back_if_pending(const struct holding *holding, struct frozen_process *frozen,
						    int signal)
{
	bool is_pending;
	struct hs_error *error =
		ptrace_has_pending(holding->process->pid, signal, own_id(holding->process), &is_pending);

	if (error || !is_pending)
		return error;
	error = take_signal_back(holding, frozen, signal);
	if (error)
		hs_verbose("SIG%s stays pending in process %d: %s", sigabbrev_np(signal), (int)holding->process->pid,
			   error->message);
	hs_error_destroy(error);
	return NULL;
}

static struct hs_error *take_in_freeze(struct holding *holding, bool *ret)
{
	const int signal = holding->places[PLACE_LOADER].signal;
	struct frozen_process frozen;
	struct hs_error *error;

	thread_release_keep(holding->process->pid, KEPT_IN_STOP);
	standstill_add_up(); // of its own, however many there were
	error = threads_freeze(holding->process, FREEZE_MS, &frozen);
	if (!error) {
		*ret = has_begun(holding, &frozen);
		if (*ret)
			error = holding_take_places(holding);
		if (*ret && !error)
			error = take_signal_back_if_pending(holding, &frozen, signal);
		error = hs_error_join(error, threads_thaw(&frozen));
	}
	standstill_done();
	thread_release_keep(0, KEPT_IN_STOP);
	return error;
}

// In a stop of this tool's making, or of the whole process. Another one is left to be seen.
static struct hs_error *stop_main_thread(const struct holding *holding, struct stop *ret)
{
	struct hs_error *error = ptrace_interrupt(holding->process->pid);

	if (!error)
		*ret = stop_wait(holding->process->pid, hs_monotonic_ns() + STOP_TIMEOUT, false);
	return error;
}

static bool stands(pid_t tid)
{
	const enum stop_kind kind = stop_peek(tid).kind;

	return kind != STOP_NONE && kind != STOP_EXITED && kind != STOP_UNKNOWN;
}

struct hs_error *holding_take_passed(struct holding *holding, bool *ret)
{
	const uint64_t now = hs_monotonic_ns();
	struct hs_error *error;
	struct stop stop;

	*ret = false;
	if (!holding_is_raising(holding) || holding->is_stopped || now < holding->look_ns)
		return NULL;
	if (!holding->pause_ns)
		holding->pause_ns = PAUSE;
	holding->look_ns = now + holding->pause_ns;
	if (!loader_has_added(holding))
		return NULL;
	error = stop_main_thread(holding, &stop);
	if (error || stop.kind != STOP_EVENT)
		return error;
	error = take_in_freeze(holding, ret);
	if (error && error->code == HS_ERROR_GONE && stands(holding->process->pid)) {
		hs_error_destroy(error); // behind an exec, or before its end
		return NULL;
	}
	if (error && !*ret && (error->code == HS_ERROR_GONE || error->code == HS_ERROR_INTERRUPTED))
		return error;
	if (error)
		hs_verbose("process %d %s: %s", (int)holding->process->pid, *ret ? "has begun" : "may have begun",
			   error->message);
	hs_error_destroy(error); // some thread does not stop now, say: it is no reason to end a program that has begun
	if (*ret)
		return NULL;
	if (holding->pause_ns < PAUSE_MOST)
		holding->pause_ns *= 2;
	stop = stop_peek(holding->process->pid);
	return stop.kind == STOP_EVENT ? holding_pass(holding, &stop) : NULL;
}
