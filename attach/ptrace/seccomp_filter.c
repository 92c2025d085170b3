// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/seccomp_filter.h"

#include "attach/arch/syscall_instruction.h"
#include "attach/ptrace/ptrace_call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // since Linux 6.3
#endif

// More than this is no sane filter: the kernel's own bound for all of a thread's is MAX_INSNS_PER_PATH.
enum { FILTERS_MAX = 256 };

static bool load(const struct seccomp_data *data, uint32_t offset, uint32_t *ret)
{
	if (offset % 4 != 0 || offset > sizeof(*data) - 4)
		return false;
	memcpy(ret, (const char *)data + offset, sizeof(*ret));
	return true;
}

static bool compute(uint16_t operation, uint32_t *accumulator, uint32_t operand)
{
	switch (operation) {
	case BPF_ADD:
		*accumulator += operand;
		return true;
	case BPF_SUB:
		*accumulator -= operand;
		return true;
	case BPF_MUL:
		*accumulator *= operand;
		return true;
	case BPF_AND:
		*accumulator &= operand;
		return true;
	case BPF_OR:
		*accumulator |= operand;
		return true;
	case BPF_XOR:
		*accumulator ^= operand;
		return true;
	case BPF_LSH:
		*accumulator = *accumulator << (operand & 31);
		return true;
	case BPF_RSH:
		*accumulator = *accumulator >> (operand & 31);
		return true;
	case BPF_NEG:
		*accumulator = -*accumulator;
		return true;
	case BPF_DIV:
		*accumulator = operand ? *accumulator / operand : 0;
		return operand != 0; // the kernel ends the program with 0, which kills
	default:
		return false;
	}
}

static bool compare(uint16_t operation, uint32_t accumulator, uint32_t operand)
{
	switch (operation) {
	case BPF_JEQ:
		return accumulator == operand;
	case BPF_JGT:
		return accumulator > operand;
	case BPF_JGE:
		return accumulator >= operand;
	default:
		return (accumulator & operand) != 0; // BPF_JSET
	}
}

// What seccomp_check_filter in kernel/seccomp.c lets through, and nothing else.
uint32_t seccomp_filter_run(const struct sock_filter *program, size_t count, const struct seccomp_data *data)
{
	uint32_t accumulator = 0, index = 0, scratch[BPF_MEMWORDS] = { 0 };

	// Jumps lead forward only, so every program ends.
	for (size_t at = 0; at < count; at++) {
		const struct sock_filter *step = &program[at];
		uint32_t operand = BPF_SRC(step->code) == BPF_X ? index : step->k;

		switch (step->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (!load(data, step->k, &accumulator))
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_LD | BPF_W | BPF_LEN:
			accumulator = sizeof(*data);
			break;
		case BPF_LDX | BPF_W | BPF_LEN:
			index = sizeof(*data);
			break;
		case BPF_LD | BPF_IMM:
			accumulator = step->k;
			break;
		case BPF_LDX | BPF_IMM:
			index = step->k;
			break;
		case BPF_LD | BPF_MEM:
			accumulator = scratch[step->k % BPF_MEMWORDS];
			break;
		case BPF_LDX | BPF_MEM:
			index = scratch[step->k % BPF_MEMWORDS];
			break;
		case BPF_ST:
			scratch[step->k % BPF_MEMWORDS] = accumulator;
			break;
		case BPF_STX:
			scratch[step->k % BPF_MEMWORDS] = index;
			break;
		case BPF_MISC | BPF_TAX:
			index = accumulator;
			break;
		case BPF_MISC | BPF_TXA:
			accumulator = index;
			break;
		case BPF_RET | BPF_K:
			return step->k;
		case BPF_RET | BPF_A:
			return accumulator;
		case BPF_JMP | BPF_JA:
			if (step->k >= count - at)
				return SECCOMP_RET_KILL_PROCESS;
			at += step->k;
			break;
		default:
			if (BPF_CLASS(step->code) == BPF_JMP && BPF_OP(step->code) <= BPF_JSET)
				at += compare(BPF_OP(step->code), accumulator, operand) ? step->jt : step->jf;
			else if (BPF_CLASS(step->code) != BPF_ALU ||
				 !compute(BPF_OP(step->code), &accumulator, operand))
				return SECCOMP_RET_KILL_PROCESS;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

uint32_t seccomp_stricter(uint32_t left, uint32_t right)
{
	// As signed numbers: SECCOMP_RET_KILL_PROCESS is the lowest.
	return (int32_t)(left & SECCOMP_RET_ACTION_FULL) <= (int32_t)(right & SECCOMP_RET_ACTION_FULL) ? left : right;
}

bool seccomp_is_deadly(uint32_t action)
{
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ERRNO:
	case SECCOMP_RET_TRACE: // without a tracer that wants it: ENOSYS
		return false;
	default:
		return true;
	}
}

static struct hs_error *read_one(pid_t tid, struct seccomp_filters *filters, bool *found_ret)
{
	struct sock_filter *program;
	size_t count;
	struct hs_error *error = ptrace_get_seccomp_filter(tid, filters->count, NULL, &count);

	*found_ret = !error && count > 0;
	if (error || count == 0)
		return error;
	program = calloc(count, sizeof(*program));
	if (!program)
		return &hs_error_no_memory;
	error = ptrace_get_seccomp_filter(tid, filters->count, program, &count);
	if (error) {
		free(program);
		return error;
	}
	filters->filters[filters->count].program = program;
	filters->filters[filters->count++].count = count;
	return NULL;
}

struct hs_error *seccomp_filters_read(pid_t tid, struct seccomp_filters *ret)
{
	struct hs_error *error = NULL;
	bool found = true;

	*ret = (struct seccomp_filters){ .filters = calloc(FILTERS_MAX, sizeof(*ret->filters)) };
	if (!ret->filters)
		return &hs_error_no_memory;
	while (!error && found && ret->count < FILTERS_MAX)
		error = read_one(tid, ret, &found);
	if (!error && found)
		error = hs_error_create(HS_ERROR_REFUSED, "thread %d has more than %d seccomp filters", (int)tid,
					FILTERS_MAX - 1);
	if (error)
		seccomp_filters_deinit(ret);
	return error;
}

void seccomp_filters_deinit(struct seccomp_filters *filters)
{
	for (size_t i = 0; i < filters->count; i++)
		free(filters->filters[i].program);
	free(filters->filters);
	*filters = (struct seccomp_filters){ 0 };
}

bool seccomp_filters_kill(const struct seccomp_filters *filters, long number, const uint64_t arguments[6])
{
	struct seccomp_data data = { .nr = (int)number, .arch = ARCH_AUDIT };
	uint32_t action = SECCOMP_RET_ALLOW;

	memcpy(data.args, arguments, sizeof(data.args));
	for (size_t i = 0; i < filters->count; i++)
		action = seccomp_stricter(
			action, seccomp_filter_run(filters->filters[i].program, filters->filters[i].count, &data));
	return seccomp_is_deadly(action);
}

// The calls that payload_load.c, session_attach.c, hook_apply.c and leftovers.c make; unknown addresses and sizes are
// 0.
static const struct {
	long number;
	uint64_t arguments[6];
} our_calls[] = {
	{ SYS_prctl, { PR_GET_TSC } },
	{ SYS_memfd_create, { 0, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC } },
	{ SYS_memfd_create, { 0, MFD_CLOEXEC | MFD_ALLOW_SEALING } }, // where the kernel does not know MFD_EXEC
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE } },
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX } },
	{ SYS_mmap, { 0, 0, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX } },
	{ SYS_mprotect, { 0, 0, PROT_READ | PROT_WRITE } },
	{ SYS_madvise, { 0, 0, MADV_WIPEONFORK } },
	{ SYS_madvise, { 0, 0, MADV_DONTFORK } },
	{ SYS_madvise, { 0, 0, MADV_DONTDUMP } },
	{ SYS_madvise, { 0, 0, MADV_DONTNEED } },
	{ SYS_munlock, { 0 } },
	{ SYS_munmap, { 0 } },
	{ SYS_close, { 0 } },
};

enum seccomp_effect seccomp_filters_effect(const struct seccomp_filters *filters)
{
	static const uint64_t none[6];

	if (seccomp_filters_kill(filters, SYS_rt_sigreturn, none))
		return SECCOMP_EFFECT_KILLS_RETURN;
	for (size_t i = 0; i < sizeof(our_calls) / sizeof(our_calls[0]); i++)
		if (seccomp_filters_kill(filters, our_calls[i].number, our_calls[i].arguments))
			return SECCOMP_EFFECT_KILLS_CALL;
	return SECCOMP_EFFECT_NONE;
}

struct hs_error *seccomp_restart_kills(pid_t tid, bool *ret)
{
	static const uint64_t none[6];
	struct seccomp_filters filters;
	struct hs_error *error = seccomp_filters_read(tid, &filters);

	if (error)
		return error;
	*ret = seccomp_filters_kill(&filters, SYS_restart_syscall, none);
	seccomp_filters_deinit(&filters);
	return NULL;
}
