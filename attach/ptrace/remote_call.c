// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/remote_call.h"

#include "attach/arch/parking.h"
#include "attach/arch/syscall.h"
#include "attach/guard/standstill.h"
#include "attach/ptrace/carrier_choice.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/init_signal.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// How often a call is made that the kernel says was interrupted before it did anything.
#define CALL_ATTEMPTS 100
// Resumes until the next system call stop. How long that may take, the standstill bounds (standstill_deadline).
static struct hs_error *run_to_syscall_stop(struct remote_caller *caller)
{
	pid_t tid = caller->carrier->tid;
	int signal = 0;

	for (;;) {
		struct hs_error *error;
		struct stop stop;

		error = ptrace_continue_to_syscall(tid, signal);
		if (error)
			return error;
		caller->running = true;
		stop = stop_wait(tid, UINT64_MAX, false);
		if (stop.kind != STOP_NONE)
			caller->running = false;
		switch (stop.kind) {
		case STOP_SYSCALL:
			return NULL;
		case STOP_EVENT: // a group stop has begun or ended; it takes effect when the thread is released
			signal = 0;
			break;
		case STOP_SIGNAL:
			// All other signals are blocked, so this one comes from the call itself, and the kernel has
			// unset its handler.
			if (stop.signal != SIGSTOP) {
				caller->has_signal = true;
				return hs_error_create(
					HS_ERROR_FAULT,
					"thread %d got signal %d in a remote system call; the process may have "
					"lost its handler of that signal",
					(int)tid, stop.signal);
			}
			// Passed on, it stops the process as a whole, this thread with an event stop.
			signal = init_signal_pass(tid, SIGSTOP);
			break;
		case STOP_NONE:
			error = standstill_check();
			return error ? hs_error_prefix(error, "thread %d did not return from a remote system call",
						       (int)tid)
				     : hs_error_create(HS_ERROR_TIMEOUT,
						       "thread %d did not return from a remote system call", (int)tid);
		default:
			return hs_error_create(HS_ERROR_GONE, "thread %d died in a remote system call", (int)tid);
		}
	}
}

// From the parked state to the entry stop of the parked call.
static struct hs_error *run_to_entry(struct remote_caller *caller)
{
	for (int attempt = 0; attempt < 3; attempt++) {
		struct hs_error *error;

		error = run_to_syscall_stop(caller);
		if (!error)
			error = ptrace_at_syscall_entry(caller->carrier->tid, &caller->at_entry);
		if (error || caller->at_entry)
			return error;
	}
	return hs_error_create(HS_ERROR_BAD_DATA, "thread %d does not reach its system call",
			       (int)caller->carrier->tid);
}

static uint64_t call_stack(const struct remote_caller *caller)
{
	return caller->frame - (caller->pop_gadget ? POP_WORDS * sizeof(uint64_t) : 0);
}

// pre: in a stop, and the frame is complete in the target's memory.
static struct hs_error *park(struct remote_caller *caller)
{
	arch_registers registers = caller->carrier->registers;

	arch_park(&registers, caller->leave_gadget, caller->syscall_gadget, call_stack(caller), caller->frame);
	return ptrace_set_registers(caller->carrier->tid, &registers);
}

// Turns the parked call, at its entry, into no call.
static struct hs_error *leave_entry(struct remote_caller *caller)
{
	arch_registers registers;
	struct hs_error *error;

	error = ptrace_get_registers(caller->carrier->tid, &registers);
	if (error)
		return error;
	arch_set_no_call(&registers, caller->syscall_gadget, call_stack(caller));
	error = ptrace_set_registers(caller->carrier->tid, &registers);
	if (!error)
		error = run_to_syscall_stop(caller);
	if (!error)
		caller->at_entry = false;
	return error;
}

// pre: no thread needs the frame any more. What was there was zero, or not there at all.
static struct hs_error *clear_frame(struct remote_caller *caller)
{
	static const uint8_t zeros[HS_SIGFRAME_MAX + WORDS_BELOW * sizeof(uint64_t)];
	const size_t below = WORDS_BELOW * sizeof(uint64_t);

	return target_memory_write(caller->memory, caller->frame - below, zeros, caller->frame_size + below,
				   caller->carrier->tid);
}

// pre: caller->frozen and ->memory are set.
static struct hs_error *open_caller(struct remote_caller *caller)
{
	const struct proc_maps *maps;
	struct gadgets gadgets;
	struct hs_error *error;
	bool found;

	arch_read_extended_layout(&caller->layout);
	caller->extended = malloc(caller->layout.total);
	if (!caller->extended)
		return &hs_error_no_memory;
	error = frozen_maps(caller->frozen, &maps);
	if (error)
		return error;
	error = gadgets_find(maps, caller->memory, &gadgets, &found);
	if (error)
		return error;
	if (found) {
		caller->syscall_gadget = gadgets.syscall_gadget;
		caller->sigreturn_gadget = gadgets.sigreturn_gadget;
		caller->pop_gadget = gadgets.pop_gadget;
		caller->leave_gadget = gadgets.leave_gadget;
	} else {
		error = entry_patch_apply(caller->frozen, caller->memory, caller->frozen->threads[0].tid,
					  &caller->entry);
		caller->syscall_gadget = caller->entry.address;
		caller->sigreturn_gadget = caller->entry.address + ARCH_ENTRY_SIGRETURN_OFFSET;
		caller->leave_gadget = caller->entry.address + ARCH_ENTRY_LEAVE_OFFSET;
	}
	if (!error)
		error = carrier_choose(caller, maps);
	if (error)
		return error;
	caller->in_call = true;
	error = park(caller);
	// Only now: the mask that the thread had stands in the frame.
	if (!error)
		error = ptrace_set_signal_mask(caller->carrier->tid, UINT64_MAX);
	return error;
}

struct hs_error *remote_call_open(struct frozen_process *frozen, const struct target_memory *memory,
				  struct remote_caller *ret)
{
	struct hs_error *error;

	*ret = (struct remote_caller){ .frozen = frozen, .memory = memory };
	error = open_caller(ret);
	if (error)
		error = hs_error_join(error, remote_call_close(ret));
	return error;
}

static struct hs_error *call_once(struct remote_caller *caller, long number, const uint64_t arguments[6],
				  int64_t *result_ret)
{
	pid_t tid = caller->carrier->tid;
	arch_registers registers;
	struct hs_error *error;

	error = park(caller);
	if (!error)
		error = run_to_entry(caller);
	if (!error)
		error = ptrace_get_registers(tid, &registers);
	if (error)
		return error;
	arch_set_call(&registers, number, arguments, caller->syscall_gadget, call_stack(caller));
	error = ptrace_set_registers(tid, &registers);
	if (!error)
		error = run_to_syscall_stop(caller);
	if (error)
		return error;
	caller->at_entry = false;
	error = ptrace_get_registers(tid, &registers);
	if (!error)
		*result_ret = arch_call_result(&registers);
	return error;
}

struct hs_error *remote_call(struct remote_caller *caller, long number, const uint64_t arguments[6],
			     int64_t *result_ret)
{
	if (!caller->in_call || caller->running || caller->at_entry)
		return hs_error_create(HS_ERROR_REFUSED, "no remote system call is possible after one that failed");
	if (number != SYS_madvise)
		frozen_maps_forget(caller->frozen);
	for (int attempt = 0; attempt < CALL_ATTEMPTS; attempt++) {
		struct hs_error *error;

		error = call_once(caller, number, arguments, result_ret);
		if (error || !arch_is_restart(*result_ret))
			return error;
	}
	return hs_error_create(HS_ERROR_TIMEOUT, "system call %ld in thread %d is interrupted again and again", number,
			       (int)caller->carrier->tid);
}

struct hs_error *remote_call_checked(struct remote_caller *caller, const char *what, long number,
				     const uint64_t arguments[6], uint64_t *result_ret)
{
	struct hs_error *error;
	int64_t result;

	error = remote_call(caller, number, arguments, &result);
	if (error)
		return error;
	if (result < 0 && result >= -4095)
		return hs_error_with_errno(HS_ERROR_REMOTE, (int)-result, "in process %d: %s",
					   (int)caller->frozen->process->pid, what);
	if (result_ret)
		*result_ret = (uint64_t)result;
	return NULL;
}

// pre: parked or never moved, in a stop. The extended state is written only if some call changed it.
static struct hs_error *restore_extended_state(struct remote_caller *caller)
{
	size_t size = caller->layout.total;
	struct hs_error *error = NULL;
	uint8_t *now = malloc(size);

	if (!now)
		return &hs_error_no_memory;
	error = ptrace_get_extended_state(caller->carrier->tid, now, &size);
	if (!error && (size != caller->extended_size || memcmp(now, caller->extended, size) != 0))
		error = ptrace_set_extended_state(caller->carrier->tid, caller->extended, caller->extended_size);
	free(now);
	return error;
}

// Back into a stop in which registers can be set and no call follows.
static struct hs_error *bring_back(struct remote_caller *caller)
{
	pid_t tid = caller->carrier->tid;

	if (caller->running || caller->has_signal) {
		struct hs_error *error;
		struct stop stop;

		error = ptrace_interrupt(tid);
		// A signal of the call itself goes no further: there is no handler for it. The next stop is before any
		// instruction.
		if (!error && caller->has_signal)
			error = ptrace_continue(tid, 0);
		if (error)
			return error;
		caller->has_signal = false;
		caller->running = true;
		stop = stop_wait(tid, UINT64_MAX, false);
		if (stop.kind == STOP_NONE)
			return hs_error_create(
				HS_ERROR_TIMEOUT,
				"thread %d is still in a remote system call; it returns to its work by itself",
				(int)tid);
		caller->running = false;
		// After a call that was made, or before the parked one: in both the registers can be set.
		if (stop.kind == STOP_SYSCALL)
			return ptrace_at_syscall_entry(tid, &caller->at_entry);
		caller->at_entry = false;
	}
	return caller->at_entry ? leave_entry(caller) : NULL;
}

static struct hs_error *restore_carrier(struct remote_caller *caller)
{
	struct frozen_thread *carrier = caller->carrier;
	struct hs_error *error;

	error = bring_back(caller);
	if (!error)
		error = restore_extended_state(caller);
	// The mask before the registers: until these are set, the frame would bring the mask back. Parked, for from
	// here on signals may come.
	if (!error)
		error = park(caller);
	if (!error)
		error = ptrace_set_signal_mask(carrier->tid, carrier->signal_mask);
	if (!error)
		error = ptrace_set_registers(carrier->tid, &carrier->registers);
	// What could not be done here the frame does, and all of it: from wherever the thread is on its way, it leads
	// home. To set a part of it at the release would bring the thread home with the rest of it wrong.
	caller->comes_home = error != NULL;
	carrier->registers_changed = false;
	if (error)
		carrier->repeats_call = false;
	return error;
}

// pre: a carrier was chosen.
static struct hs_error *release_carrier(struct remote_caller *caller)
{
	struct hs_error *error = NULL;

	if (caller->in_call)
		error = restore_carrier(caller);
	if (caller->frame && !caller->comes_home && !caller->running)
		error = hs_error_join(error, clear_frame(caller));
	if (caller->comes_home)
		caller->entry.address = 0; // the code stays, because the thread needs it for that
	if (!caller->running && caller->suspended_seccomp)
		error = hs_error_join(error, ptrace_set_options(caller->carrier->tid, HS_PTRACE_OPTIONS));
	return error;
}

struct hs_error *remote_call_close(struct remote_caller *caller)
{
	pid_t stopped_tid = caller->carrier ? caller->carrier->tid : caller->frozen->threads[0].tid;
	struct hs_error *error = caller->carrier ? release_carrier(caller) : NULL;

	error = hs_error_join(error, entry_patch_undo(&caller->entry, caller->memory, stopped_tid));
	free(caller->extended);
	*caller = (struct remote_caller){ 0 };
	return error;
}

uint64_t remote_call_scratch(const struct remote_caller *caller) { return caller->frame + HS_SIGFRAME_INFO_OFFSET; }
