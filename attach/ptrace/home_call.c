// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/home_call.h"

#include "attach/arch/addresses.h"
#include "attach/arch/parking.h"
#include "attach/arch/sigframe.h"
#include "attach/arch/syscall.h"
#include "attach/ptrace/launch_steps.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

// Two instructions; but the thread may have to wait for a processor.
#define WAIT_NS UINT64_C(10000000000)

struct going {
	pid_t tid;
	const struct target_memory *memory;
	arch_registers home;
	struct sigframe frame;
	uint8_t before[HS_SIGFRAME_MAX]; // what the frame lies on
};

static struct hs_error *run_to_syscall_stop(pid_t tid)
{
	const uint64_t deadline = hs_monotonic_ns() + WAIT_NS;
	int signal = 0;

	for (;;) {
		struct hs_error *error = ptrace_continue_to_syscall(tid, signal);
		struct stop stop;

		if (error)
			return error;
		stop = stop_wait(tid, deadline, false);
		switch (stop.kind) {
		case STOP_SYSCALL:
			return NULL;
		case STOP_NONE:
			return hs_error_create(HS_ERROR_TIMEOUT, "thread %d does not come to its system call",
					       (int)tid);
		case STOP_EXITED:
		case STOP_UNKNOWN:
			return launch_ended(tid);
		case STOP_EVENT: // a stop of the whole process: it takes effect when the thread is let go
		case STOP_EXEC:
		case STOP_SIGNAL:
			signal = stop.kind == STOP_SIGNAL && !stop.event ? stop.signal : 0;
		}
	}
}

// To the entry or exit of a system call. After an exec the exit of that comes first.
static struct hs_error *run_to(pid_t tid, bool entry)
{
	for (int attempt = 0; attempt < 3; attempt++) {
		bool at_entry;
		struct hs_error *error = run_to_syscall_stop(tid);

		if (!error)
			error = ptrace_at_syscall_entry(tid, &at_entry);
		if (error || at_entry == entry)
			return error;
	}
	return hs_error_create(HS_ERROR_BAD_DATA, "thread %d does not come to its system call", (int)tid);
}

static struct hs_error *build_frame(struct going *going, const struct home_code *code,
				    const uint8_t action[HS_KERNEL_SIGACTION_SIZE])
{
	struct extended_layout layout;
	struct sigframe_request request = { .registers = &going->home,
					    .layout = &layout,
					    .restorer = code->restorer,
					    .top = registers_sp(&going->home) - ARCH_RED_ZONE };
	struct hs_error *error = ptrace_get_signal_mask(going->tid, &request.signal_mask);
	uint8_t *extended;

	if (error)
		return error;
	arch_read_extended_layout(&layout);
	request.extended_size = layout.total;
	extended = malloc(layout.total);
	if (!extended)
		return &hs_error_no_memory;
	error = ptrace_get_extended_state(going->tid, extended, &request.extended_size);
	request.extended = extended;
	if (!error)
		error = sigframe_build(&request, &going->frame);
	free(extended);
	if (!error)
		memcpy(going->frame.bytes + HS_SIGFRAME_INFO_OFFSET, action, HS_KERNEL_SIGACTION_SIZE);
	return error;
}

static struct hs_error *write_frame(struct going *going)
{
	struct hs_error *error =
		target_memory_read(going->memory, going->frame.address, going->before, going->frame.size);

	return error ? error
		     : target_memory_write(going->memory, going->frame.address, going->frame.bytes, going->frame.size,
					   going->tid);
}

// There and back: to the exit of the call, and its own registers.
static struct hs_error *make_call(const struct going *going, uint64_t gadget, uint64_t action, uint64_t old)
{
	const uint64_t arguments[6] = { SIGTRAP, action, old, 8 }; // bytes of a mask
	arch_registers registers = going->home;
	struct hs_error *error;
	int64_t result = 0;

	// rt_sigreturn finds the frame 8 bytes below: arch_park
	arch_start_call(&registers, SYS_rt_sigaction, arguments, gadget, going->frame.address + 8);
	error = ptrace_set_registers(going->tid, &registers);
	if (!error)
		error = run_to(going->tid, true);
	if (!error)
		error = run_to(going->tid, false);
	if (!error)
		error = ptrace_get_registers(going->tid, &registers);
	if (error)
		return error;
	result = arch_call_result(&registers);
	error = ptrace_set_registers(going->tid, &going->home);
	if (!error && result < 0)
		error = hs_error_with_errno(HS_ERROR_REMOTE, (int)-result, "cannot set a handler in thread %d",
					    (int)going->tid);
	return error;
}

static struct hs_error *go(struct going *going, const struct home_code *code,
			   const uint8_t action[HS_KERNEL_SIGACTION_SIZE], uint8_t old_ret[HS_KERNEL_SIGACTION_SIZE])
{
	struct hs_error *error = ptrace_get_registers(going->tid, &going->home);
	uint64_t scratch;

	if (error)
		return error;
	(void)arch_rewind_syscall(&going->home);
	error = build_frame(going, code, action);
	if (!error)
		error = write_frame(going);
	if (error)
		return error;
	scratch = going->frame.address + HS_SIGFRAME_INFO_OFFSET;
	error = make_call(going, code->call, scratch, scratch + HS_KERNEL_SIGACTION_SIZE);
	if (error && error->code != HS_ERROR_REMOTE)
		return error; // it may still need the frame
	if (!error)
		error = target_memory_read(going->memory, scratch + HS_KERNEL_SIGACTION_SIZE, old_ret,
					   HS_KERNEL_SIGACTION_SIZE);
	return hs_error_join(error, target_memory_write(going->memory, going->frame.address, going->before,
							going->frame.size, going->tid));
}

struct hs_error *home_call_handle_trap(pid_t tid, const struct target_memory *memory, const struct home_code *code,
				       const uint8_t action[HS_KERNEL_SIGACTION_SIZE],
				       uint8_t old_ret[HS_KERNEL_SIGACTION_SIZE])
{
	struct going *going = calloc(1, sizeof(*going));
	struct hs_error *error;

	if (!going)
		return &hs_error_no_memory;
	going->tid = tid;
	going->memory = memory;
	error = go(going, code, action, old_ret);
	free(going);
	return error;
}
