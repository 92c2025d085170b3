// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/carrier_choice.h"

#include "attach/arch/addresses.h"
#include "attach/arch/parking.h"
#include "attach/arch/syscall.h"
#include "attach/guard/interrupt.h"
#include "attach/ptrace/carrier_thread.h"
#include "attach/ptrace/frame_room.h"
#include "attach/ptrace/ptrace_call.h"

#include <limits.h>
#include <sys/syscall.h>

// How many threads' own stacks are looked at before the main thread's is taken.
#define OWN_STACK_TRIES 16

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
	arch_registers registers = caller->carrier->registers;
	struct sigframe_request request = {
		.registers = &registers,
		.signal_mask = caller->carrier->signal_mask,
		.extended = caller->extended,
		.extended_size = caller->extended_size,
		.layout = &caller->layout,
		.restorer = caller->sigreturn_gadget,
		.top = top,
	};
	// Without a pop gadget the word right below the frame is the frame pointer.
	const uint64_t below[WORDS_BELOW] = { 0, caller->pop_gadget, caller->pop_gadget ? SYS_rt_sigreturn : 0 };
	struct sigframe frame;

	arch_rewind_syscall(&registers);
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

// `accepted`: what the thread's filters may do to it if the tool is killed.
static struct hs_error *suspend_seccomp(struct remote_caller *caller, enum seccomp_effect accepted)
{
	pid_t tid = caller->carrier->tid;
	enum seccomp_effect effect;
	struct hs_error *error;
	unsigned mode;

	error = carrier_seccomp(caller->frozen->process, tid, &mode, &effect);
	if (error || mode == 0)
		return error;
	if (effect == SECCOMP_EFFECT_KILLS_RETURN)
		return hs_error_create(
			HS_ERROR_REFUSED_FOR_GOOD,
			"the seccomp filter of thread %d forbids the return from a signal handler (rt_sigreturn), without which a killed heapsnap would kill it",
			(int)tid);
	if (effect > accepted)
		return hs_error_create(HS_ERROR_REFUSED_FOR_GOOD,
				       "the seccomp filter of thread %d forbids system calls that attach needs",
				       (int)tid);
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
	if (resume != registers_pc(&thread->registers) && !choice->accepts_rseq) {
		choice->other_round = true;
		return hs_error_create(HS_ERROR_REFUSED, "thread %d is in a restartable sequence", (int)thread->tid);
	}
	error = find_room(choice, thread, place, &room);
	if (error)
		return error;
	caller->extended_size = caller->layout.total;
	error = ptrace_get_extended_state(thread->tid, caller->extended, &caller->extended_size);
	if (!error && !sigframe_is_allowed(caller->extended, caller->extended_size, &caller->layout))
		error = hs_error_create(HS_ERROR_REFUSED, "thread %d: its protection keys (PKRU) forbid memory",
					(int)thread->tid);
	if (!error)
		error = suspend_seccomp(caller, choice->accepted);
	choice->other_round = choice->other_round || (error && choice->accepted < SECCOMP_EFFECT_KILLS_CALL);
	if (error)
		return error;
	// What the kernel would do, and cannot any more once it has seen the thread elsewhere (rseq_ip_fixup in
	// kernel/rseq.c).
	if (resume != registers_pc(&thread->registers)) {
		registers_set_pc(&thread->registers, resume);
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
	struct frozen_process *frozen = choice->caller->frozen;
	int tries = place == ON_OWN_STACK ? OWN_STACK_TRIES : INT_MAX;

	for (size_t i = 0; i < frozen->count && tries > 0; i++) {
		struct hs_error *error;

		if (rank_of(&frozen->threads[i]) != rank)
			continue;
		error = interrupt_check();
		if (!error)
			error = prepare_carrier(choice, &frozen->threads[i], place);
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
				       (int)choice->caller->frozen->process->pid);
}

struct hs_error *carrier_choose(struct remote_caller *caller, const struct proc_maps *maps)
{
	struct choice choice = {
		.caller = caller,
		.rooms = { .frozen = caller->frozen,
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
			       (int)caller->frozen->process->pid);
}
