// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/remote_call.h"

#include "attach/arch/arch.h"
#include "attach/guard/interrupt.h"
#include "attach/guard/standstill.h"
#include "attach/ptrace/carrier_thread.h"
#include "attach/ptrace/frame_room.h"
#include "attach/ptrace/frozen_maps.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/stop_wait.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// How often a call is made that the kernel says was interrupted before it did anything.
#define CALL_ATTEMPTS 100
// Of so many threads the own stack is looked at before the main thread's is taken.
#define OWN_STACK_TRIES 16

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
			signal = SIGSTOP;
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

// A call returns to the address at its stack pointer: the frame's first word. Or to the pop gadget, which takes the
// number of rt_sigreturn from the next word and returns to the frame's first word. Below these words is one more, which
// the leave gadget takes for the frame pointer.
enum { POP_WORDS = 2, WORDS_BELOW = 1 + POP_WORDS };
_Static_assert(WORDS_BELOW * sizeof(uint64_t) == HS_SIGFRAME_WORDS_BELOW, "what sigframe_find looks for");

static uint64_t call_stack(const struct remote_caller *caller)
{
	return caller->frame - (caller->pop_gadget ? POP_WORDS * sizeof(uint64_t) : 0);
}

// pre: in a stop, and the frame is complete in the target's memory.
static struct hs_error *park(struct remote_caller *caller)
{
	struct user_regs_struct registers = caller->carrier->registers;

	arch_park(&registers, caller->leave_gadget, caller->syscall_gadget, call_stack(caller), caller->frame);
	return ptrace_set_registers(caller->carrier->tid, &registers);
}

// Turns the parked call, at its entry, into no call.
static struct hs_error *leave_entry(struct remote_caller *caller)
{
	struct user_regs_struct registers;
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

// Room for the frame, and for a signal's below: one may come before the mask is set, or after the tool is killed.
// Bytes, a bound.
static uint64_t room_needed(const struct remote_caller *caller)
{
	return 2 * (caller->layout.total + UINT64_C(1024)) + ARCH_RED_ZONE;
}

// The frame that brings the carrier home, in the target's memory.
static struct hs_error *write_frame(struct remote_caller *caller, uint64_t low, uint64_t top)
{
	struct hs_error *error = threads_read_signal_mask(caller->carrier);
	struct user_regs_struct registers = caller->carrier->registers;
	struct sigframe_request request = {
		.registers = &registers,
		.signal_mask = caller->carrier->signal_mask,
		.xstate = caller->xstate,
		.xstate_size = caller->xstate_size,
		.layout = &caller->layout,
		.restorer = caller->sigreturn_gadget,
		.top = top,
	};
	// Without a pop gadget the word right below the frame is the frame pointer.
	const uint64_t below[WORDS_BELOW] = { 0, caller->pop_gadget, caller->pop_gadget ? SYS_rt_sigreturn : 0 };
	struct sigframe frame;

	threads_rewind_syscall(&registers);
	if (!error)
		error = sigframe_build(&request, &frame);
	if (error)
		return error;
	if (top - low < room_needed(caller))
		return hs_error_create(HS_ERROR_REFUSED, "thread %d has no room for its state",
				       (int)caller->carrier->tid);
	caller->frame_size = frame.size;
	error = frame_room_write(caller->memory, frame.address, frame.bytes, frame.size, caller->carrier->tid);
	if (!error)
		error = frame_room_write(caller->memory, frame.address - sizeof(below), below, sizeof(below),
					 caller->carrier->tid);
	if (!error)
		caller->frame = frame.address;
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

// `accepted`: what the thread's filters may do to it if the tool is killed.
static struct hs_error *suspend_seccomp(struct remote_caller *caller, enum seccomp_effect accepted)
{
	pid_t tid = caller->carrier->tid;
	enum seccomp_effect effect;
	struct hs_error *error;
	unsigned mode;

	error = carrier_seccomp(caller->process->pid, tid, &mode, &effect);
	if (error || mode == 0)
		return error;
	if (effect == SECCOMP_EFFECT_KILLS_RETURN)
		return hs_error_create(
			HS_ERROR_REFUSED_FOR_GOOD,
			"the seccomp filter of thread %d forbids the return from a signal handler (rt_sigreturn), without which a killed heapsnap would kill it",
			(int)tid);
	if (effect > accepted)
		return hs_error_create(HS_ERROR_REFUSED_FOR_GOOD,
				       "the seccomp filter of thread %d forbids what it would have to call", (int)tid);
	if (mode == 2)
		error = ptrace_set_options(tid, HS_PTRACE_OPTIONS | HS_PTRACE_SUSPEND_SECCOMP);
	if (mode != 2 || error) {
		hs_error_destroy(error);
		return hs_error_create(HS_ERROR_REFUSED, "the seccomp rules of thread %d cannot be suspended",
				       (int)tid);
	}
	caller->suspended_seccomp = true;
	return NULL;
}

// Where the frame may lie. On its own stack no other thread comes near it, should the tool be killed.
enum frame_place { ON_OWN_STACK, ON_MAIN_STACK, FRAME_PLACES };

// One search for a carrier, in rounds that put up with more and more.
struct choice {
	struct remote_caller *caller;
	struct frame_search rooms;
	bool accepts_rseq;
	enum seccomp_effect accepted;
	bool other_round;  // some thread may do in a round that puts up with more
	bool other_moment; // some thread may do at another moment
};

static struct hs_error *find_room(struct choice *choice, const struct frozen_thread *carrier, enum frame_place place,
				  struct frame_room *ret)
{
	struct hs_error *error = place == ON_OWN_STACK ? frame_room_on_own_stack(&choice->rooms, carrier, ret)
						       : frame_room_on_main_stack(&choice->rooms, ret);

	return error ? hs_error_prefix(error, "thread %d: no memory is proven free for a signal frame",
				       (int)carrier->tid)
		     : NULL;
}

// Tries one thread as the carrier: everything but the first change of its registers. What costs least is asked first.
static struct hs_error *prepare_carrier(struct choice *choice, struct frozen_thread *thread, enum frame_place place)
{
	const char *obstacle = carrier_obstacle(thread->tid);
	struct remote_caller *caller = choice->caller;
	struct frame_room room;
	struct hs_error *error;
	uint64_t resume;

	caller->carrier = thread;
	if (obstacle)
		return hs_error_create(HS_ERROR_REFUSED_FOR_GOOD, "thread %d: %s", (int)thread->tid, obstacle);
	error = carrier_rseq(thread, caller->memory, &resume);
	if (error)
		return error;
	if (resume != thread->registers.rip && !choice->accepts_rseq) {
		choice->other_round = true;
		return hs_error_create(HS_ERROR_REFUSED, "thread %d is in a restartable sequence", (int)thread->tid);
	}
	error = find_room(choice, thread, place, &room);
	if (error)
		return error;
	caller->xstate_size = caller->layout.total;
	error = ptrace_get_xstate(thread->tid, caller->xstate, &caller->xstate_size);
	if (!error && !sigframe_is_allowed(caller->xstate, caller->xstate_size, &caller->layout))
		error = hs_error_create(HS_ERROR_REFUSED, "thread %d: its protection keys (PKRU) forbid memory",
					(int)thread->tid);
	if (!error)
		error = suspend_seccomp(caller, choice->accepted);
	choice->other_round = choice->other_round || (error && choice->accepted < SECCOMP_EFFECT_KILLS_CALL);
	if (error)
		return error;
	// What the kernel would do, and cannot any more once it has seen the thread elsewhere (rseq_ip_fixup in
	// kernel/rseq.c).
	if (resume != thread->registers.rip) {
		thread->registers.rip = resume;
		thread->registers_changed = true;
	}
	return write_frame(caller, room.low, room.top);
}

// How readily a thread is taken: 0 first. A call that moves data loses nothing by it; one in a restart block may, if
// the tool is killed. One whose flags raise signals is taken last.
enum {
	RANK_TRANSFER = ARCH_RESTART_BLOCK,
	RANK_RESTART_BLOCK,
	RANK_RAISES,
	RANKS_OF_STATE,
	RANKS = 2 * RANKS_OF_STATE
};

static int rank_of(const struct frozen_thread *thread)
{
	int rank = (int)arch_call_state(&thread->registers);

	if (arch_raises_signals(&thread->registers))
		rank = RANK_RAISES;
	else if (rank == ARCH_RESTART_BLOCK)
		rank = RANK_RESTART_BLOCK;
	else if (carrier_is_in_transfer(&thread->registers))
		rank = RANK_TRANSFER;
	return thread->avoid_as_carrier ? RANKS_OF_STATE + rank : rank;
}

// Whether an error ends the search: whatever thread is asked next, it says the same. Of threads that stand still none
// dies alone.
static bool ends_search(const struct hs_error *error)
{
	return error->code == HS_ERROR_GONE || error->code == HS_ERROR_TIMEOUT || error->code == HS_ERROR_INTERRUPTED ||
	       error->code == HS_ERROR_NO_MEMORY;
}

// Threads of one rank. *error_ret: why the last one that was tried does not do. True: the search is over.
static bool try_rank(struct choice *choice, int rank, enum frame_place place, struct hs_error **error_ret)
{
	struct frozen_process *process = choice->caller->process;
	int tries = place == ON_OWN_STACK ? OWN_STACK_TRIES : INT_MAX;

	for (size_t i = 0; i < process->count && tries > 0; i++) {
		struct hs_error *error;

		if (rank_of(&process->threads[i]) != rank)
			continue;
		error = interrupt_check();
		if (!error)
			error = prepare_carrier(choice, &process->threads[i], place);
		hs_error_destroy(*error_ret);
		*error_ret = error;
		if (!error || ends_search(error))
			return true;
		choice->other_moment = choice->other_moment || error->code != HS_ERROR_REFUSED_FOR_GOOD;
		tries--;
		if (place == ON_MAIN_STACK && frame_room_lacks_main_stack(&choice->rooms))
			break; // for any thread
	}
	return false;
}

// The best thread first; see remote_call_open.
static struct hs_error *try_threads(struct choice *choice)
{
	struct hs_error *error = NULL;

	for (int round = 0; round < 4; round++) {
		choice->accepts_rseq = round % 2 == 1;
		choice->accepted = round < 2 ? SECCOMP_EFFECT_NONE : SECCOMP_EFFECT_KILLS_CALL;
		choice->other_round = choice->other_moment = false;
		for (int attempt = 0; attempt < RANKS * FRAME_PLACES; attempt++)
			if (try_rank(choice, attempt / FRAME_PLACES, (enum frame_place)(attempt % FRAME_PLACES),
				     &error))
				return error;
		if (!choice->other_round)
			break;
	}
	return error ? error
		     : hs_error_create(HS_ERROR_GONE, "process %d has no thread left",
				       (int)choice->caller->process->pid);
}

static struct hs_error *choose_carrier(struct remote_caller *caller, const struct proc_maps *maps)
{
	struct choice choice = {
		.caller = caller,
		.rooms = { .process = caller->process,
			   .maps = maps,
			   .memory = caller->memory,
			   .size = room_needed(caller) },
	};
	struct hs_error *error = try_threads(&choice);

	frame_search_deinit(&choice.rooms);
	if (!error)
		return NULL;
	caller->carrier = NULL;
	if (ends_search(error))
		return error;
	error->code = choice.other_moment ? HS_ERROR_REFUSED : HS_ERROR_REFUSED_FOR_GOOD;
	return hs_error_prefix(error, "no thread of process %d can make system calls for heapsnap",
			       (int)caller->process->pid);
}

// pre: caller->process and ->memory are set.
static struct hs_error *open_caller(struct remote_caller *caller)
{
	const struct proc_maps *maps;
	struct gadgets gadgets;
	struct hs_error *error;

	arch_read_xsave_layout(&caller->layout);
	caller->xstate = malloc(caller->layout.total);
	if (!caller->xstate)
		return &hs_error_no_memory;
	error = frozen_maps(caller->process, &maps);
	if (error)
		return error;
	if (gadgets_find(maps, caller->memory, &gadgets)) {
		caller->syscall_gadget = gadgets.syscall_gadget;
		caller->sigreturn_gadget = gadgets.sigreturn_gadget;
		caller->pop_gadget = gadgets.pop_gadget;
		caller->leave_gadget = gadgets.leave_gadget;
	} else {
		error = entry_patch_apply(caller->process, caller->memory, caller->process->threads[0].tid,
					  &caller->entry);
		caller->syscall_gadget = caller->entry.address;
		caller->sigreturn_gadget = caller->entry.address + ARCH_ENTRY_SIGRETURN_OFFSET;
		caller->leave_gadget = caller->entry.address + ARCH_ENTRY_LEAVE_OFFSET;
	}
	if (!error)
		error = choose_carrier(caller, maps);
	if (error)
		return error;
	caller->in_call = true;
	error = park(caller);
	// Only now: the mask that the thread had stands in the frame.
	if (!error)
		error = ptrace_set_signal_mask(caller->carrier->tid, UINT64_MAX);
	return error;
}

struct hs_error *remote_call_open(struct frozen_process *process, const struct target_memory *memory,
				  struct remote_caller *ret)
{
	struct hs_error *error;

	*ret = (struct remote_caller){ .process = process, .memory = memory };
	error = open_caller(ret);
	if (error)
		error = hs_error_join(error, remote_call_close(ret));
	return error;
}

static struct hs_error *call_once(struct remote_caller *caller, long number, const uint64_t arguments[6],
				  int64_t *result_ret)
{
	pid_t tid = caller->carrier->tid;
	struct user_regs_struct registers;
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
		frozen_maps_forget(caller->process);
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
					   (int)caller->process->pid, what);
	if (result_ret)
		*result_ret = (uint64_t)result;
	return NULL;
}

// pre: parked or never moved, in a stop. The extended state is written only if some call changed it.
static struct hs_error *restore_xstate(struct remote_caller *caller)
{
	size_t size = caller->layout.total;
	struct hs_error *error = NULL;
	uint8_t *now = malloc(size);

	if (!now)
		return &hs_error_no_memory;
	error = ptrace_get_xstate(caller->carrier->tid, now, &size);
	if (!error && (size != caller->xstate_size || memcmp(now, caller->xstate, size) != 0))
		error = ptrace_set_xstate(caller->carrier->tid, caller->xstate, caller->xstate_size);
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
		error = restore_xstate(caller);
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

struct hs_error *remote_call_close(struct remote_caller *caller)
{
	struct hs_error *error = NULL;
	pid_t stopped_tid = caller->carrier ? caller->carrier->tid : caller->process->threads[0].tid;

	if (caller->in_call)
		error = restore_carrier(caller);
	if (caller->frame && !caller->comes_home && !caller->running)
		error = hs_error_join(error, clear_frame(caller));
	if (caller->comes_home)
		caller->entry.address = 0; // the code stays, because the thread needs it for that
	if (!caller->running && caller->suspended_seccomp)
		error = hs_error_join(error, ptrace_set_options(caller->carrier->tid, HS_PTRACE_OPTIONS));
	error = hs_error_join(error, entry_patch_undo(&caller->entry, caller->memory, stopped_tid));
	free(caller->xstate);
	*caller = (struct remote_caller){ 0 };
	return error;
}

uint64_t remote_call_scratch(const struct remote_caller *caller) { return caller->frame + HS_SIGFRAME_INFO_OFFSET; }
