// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/seccomp_filter.h"
#include "check.h"

#include <linux/audit.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define COUNT(array)                     (sizeof(array) / sizeof((array)[0]))
#define LOAD(field)                      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action)                   BPF_STMT(BPF_RET | BPF_K, action)
#define IF(test, value, then, otherwise) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, then, otherwise)
#define ALU(operation, value)            BPF_STMT(BPF_ALU | (operation) | BPF_K, value)

static struct sock_filter only_read[] = { LOAD(nr), IF(BPF_JEQ, SYS_read, 0, 1), RETURN(SECCOMP_RET_ALLOW),
					  RETURN(SECCOMP_RET_KILL_THREAD) };
static struct sock_filter not_this_arch[] = { LOAD(arch), IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
					      RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ERRNO | 38) };
// mmap with PROT_EXEC
static struct sock_filter no_code[] = { LOAD(nr),
					IF(BPF_JEQ, SYS_mmap, 0, 3),
					LOAD(args[2]),
					IF(BPF_JSET, PROT_EXEC, 0, 1),
					RETURN(SECCOMP_RET_TRAP),
					RETURN(SECCOMP_RET_ALLOW) };
// every operation once: ((((nr + 3) * 8 - 4) / 2) ^ 1) << 4 >> 2 | 2 & 0xffff, through memory and the index register
static struct sock_filter computes[] = {
	LOAD(nr),
	ALU(BPF_ADD, 3),
	ALU(BPF_MUL, 8),
	ALU(BPF_SUB, 4),
	ALU(BPF_DIV, 2),
	ALU(BPF_XOR, 1),
	ALU(BPF_LSH, 4),
	ALU(BPF_RSH, 2),
	ALU(BPF_OR, 2),
	ALU(BPF_AND, 0xffff),
	ALU(BPF_NEG, 0),
	ALU(BPF_NEG, 0),
	BPF_STMT(BPF_ST, 7),
	BPF_STMT(BPF_LD | BPF_IMM, 0),
	BPF_STMT(BPF_LDX | BPF_MEM, 7),
	BPF_STMT(BPF_STX, 3),
	BPF_STMT(BPF_LDX | BPF_IMM, 1),
	BPF_STMT(BPF_LD | BPF_MEM, 3),
	BPF_STMT(BPF_MISC | BPF_TAX, 0),
	BPF_STMT(BPF_LD | BPF_IMM, 5),
	BPF_STMT(BPF_MISC | BPF_TXA, 0),
	BPF_STMT(BPF_JMP | BPF_JA, 1),
	RETURN(0),
	BPF_STMT(BPF_RET | BPF_A, 0),
};
static struct sock_filter lengths[] = { BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
					BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0),
					BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
					IF(BPF_JGT, 0, 1, 0),
					IF(BPF_JGE, 0, 1, 0),
					RETURN(1),
					RETURN(SECCOMP_RET_ALLOW) };
static struct sock_filter divides_by_nothing[] = { BPF_STMT(BPF_LDX | BPF_IMM, 0),
						   BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), RETURN(SECCOMP_RET_ALLOW) };
static struct sock_filter runs_over_the_end[] = { BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), RETURN(SECCOMP_RET_ALLOW) };
static struct sock_filter jumps_past_the_end[] = { IF(BPF_JEQ, 0, 200, 200), RETURN(SECCOMP_RET_ALLOW) };
static struct sock_filter has_no_end[] = { LOAD(nr) };
static struct sock_filter loads_beyond[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct seccomp_data)),
					     RETURN(SECCOMP_RET_ALLOW) };
static struct sock_filter loads_a_byte[] = { BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), RETURN(SECCOMP_RET_ALLOW) };

static void test_run(void)
{
	static const struct {
		const struct sock_filter *program;
		size_t count;
		struct seccomp_data data;
		uint32_t action;
	} cases[] = {
		{ only_read, COUNT(only_read), { .nr = SYS_read }, SECCOMP_RET_ALLOW },
		{ only_read, COUNT(only_read), { .nr = SYS_write }, SECCOMP_RET_KILL_THREAD },
		{ not_this_arch, COUNT(not_this_arch), { .arch = AUDIT_ARCH_X86_64 }, SECCOMP_RET_ERRNO | 38 },
		{ not_this_arch, COUNT(not_this_arch), { .arch = AUDIT_ARCH_I386 }, SECCOMP_RET_KILL_PROCESS },
		{ no_code, COUNT(no_code), { .nr = SYS_mmap, .args[2] = PROT_READ | PROT_EXEC }, SECCOMP_RET_TRAP },
		{ no_code, COUNT(no_code), { .nr = SYS_mmap, .args[2] = PROT_READ }, SECCOMP_RET_ALLOW },
		{ no_code, COUNT(no_code), { .nr = SYS_mprotect, .args[2] = PROT_EXEC }, SECCOMP_RET_ALLOW },
		{ computes,
		  COUNT(computes),
		  { .nr = 1000 },
		  (((((1000 + 3) * 8 - 4) / 2) ^ 1) << 4 >> 2 | 2) & 0xffff },
		{ lengths, COUNT(lengths), { .nr = 0 }, SECCOMP_RET_ALLOW },
		{ divides_by_nothing, COUNT(divides_by_nothing), { .nr = 0 }, SECCOMP_RET_KILL_PROCESS },
		{ runs_over_the_end, COUNT(runs_over_the_end), { .nr = 0 }, SECCOMP_RET_KILL_PROCESS },
		{ jumps_past_the_end, COUNT(jumps_past_the_end), { .nr = 0 }, SECCOMP_RET_KILL_PROCESS },
		{ has_no_end, COUNT(has_no_end), { .nr = 0 }, SECCOMP_RET_KILL_PROCESS },
		{ loads_beyond, COUNT(loads_beyond), { .nr = 0 }, SECCOMP_RET_KILL_PROCESS },
		{ loads_a_byte, COUNT(loads_a_byte), { .nr = 0 }, SECCOMP_RET_KILL_PROCESS },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_EQUAL(seccomp_filter_run(cases[i].program, cases[i].count, &cases[i].data), cases[i].action);
}

static void test_actions(void)
{
	// Strictest first; each must win over all behind it.
	static const struct {
		uint32_t action;
		bool deadly;
	} order[] = {
		{ SECCOMP_RET_KILL_PROCESS, true }, { SECCOMP_RET_KILL_THREAD, true }, { SECCOMP_RET_TRAP, true },
		{ SECCOMP_RET_ERRNO | 1, false },   { SECCOMP_RET_USER_NOTIF, true },  { SECCOMP_RET_TRACE, false },
		{ SECCOMP_RET_LOG, false },         { SECCOMP_RET_ALLOW, false },
	};

	for (size_t i = 0; i < COUNT(order); i++) {
		CHECK_EQUAL(seccomp_is_deadly(order[i].action), order[i].deadly);
		for (size_t j = i; j < COUNT(order); j++) {
			CHECK_EQUAL(seccomp_stricter(order[i].action, order[j].action), order[i].action);
			CHECK_EQUAL(seccomp_stricter(order[j].action, order[i].action), order[i].action);
		}
	}
	CHECK(seccomp_is_deadly(0x12340000)); // unknown to this tool: the kernel kills
}

// A filter that is deadly for all but the calls in `allowed`, and before or behind it one that lets everything through.
static enum seccomp_effect effect_with(const long *allowed, size_t count, bool first)
{
	struct sock_filter program[64] = { LOAD(nr) }, harmless[] = { RETURN(SECCOMP_RET_ALLOW) };
	struct seccomp_filters filters = { .filters = NULL, .count = 2 };
	__typeof__(*filters.filters) list[2] = { { harmless, 1 }, { program, 0 } };
	size_t size = 1;

	for (size_t i = 0; i < count; i++) {
		program[size++] = (struct sock_filter)IF(BPF_JEQ, (uint32_t)allowed[i], 0, 1);
		program[size++] = (struct sock_filter)RETURN(i % 2 ? SECCOMP_RET_ERRNO : SECCOMP_RET_ALLOW);
	}
	program[size++] = (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS);
	list[1].count = size;
	if (first) {
		list[0] = list[1];
		list[1] = (__typeof__(*list)){ harmless, 1 };
	}
	filters.filters = (void *)list;
	return seccomp_filters_effect(&filters);
}

static enum seccomp_effect effect_of(const long *allowed, size_t count)
{
	enum seccomp_effect effect = effect_with(allowed, count, true);

	CHECK_EQUAL(effect_with(allowed, count, false), effect);
	return effect;
}

static void test_effect(void)
{
	static const long all[] = { SYS_rt_sigreturn, SYS_prctl,   SYS_memfd_create, SYS_mmap, SYS_mprotect,
				    SYS_madvise,      SYS_munlock, SYS_munmap,       SYS_close };
	const struct seccomp_filters none = { 0 };

	CHECK_EQUAL(seccomp_filters_effect(&none), SECCOMP_EFFECT_NONE);
	CHECK_EQUAL(effect_of(all, COUNT(all)), SECCOMP_EFFECT_NONE);
	for (size_t i = 1; i < COUNT(all); i++) { // each is needed
		long but_one[COUNT(all)];

		memcpy(but_one, all, sizeof(all));
		but_one[i] = SYS_rt_sigreturn;
		CHECK_EQUAL(effect_of(but_one, COUNT(all)), SECCOMP_EFFECT_KILLS_CALL);
	}
	CHECK_EQUAL(effect_of(all + 1, COUNT(all) - 1), SECCOMP_EFFECT_KILLS_RETURN);
}

// Filters that look at arguments are asked with those of the very calls that are made (payload_load.c).
static void test_arguments(void)
{
	static const struct {
		long call;
		unsigned argument;
		uint32_t value; // all of its bits are set, and no others
		enum seccomp_effect effect;
	} cases[] = {
		{ SYS_mmap, 3, MAP_PRIVATE | MAP_FIXED_NOREPLACE, SECCOMP_EFFECT_KILLS_CALL }, // code
		{ SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		  SECCOMP_EFFECT_KILLS_CALL }, // state pages
		{ SYS_mmap, 3, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		  SECCOMP_EFFECT_KILLS_CALL }, // the region
		{ SYS_mmap, 3, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, SECCOMP_EFFECT_NONE },
		{ SYS_mmap, 2, PROT_READ | PROT_EXEC, SECCOMP_EFFECT_KILLS_CALL },
		{ SYS_mmap, 2, PROT_NONE, SECCOMP_EFFECT_KILLS_CALL },
		{ SYS_mmap, 2, PROT_READ | PROT_WRITE | PROT_EXEC, SECCOMP_EFFECT_NONE },
		{ SYS_mprotect, 2, PROT_READ | PROT_WRITE, SECCOMP_EFFECT_KILLS_CALL },
		{ SYS_mprotect, 2, PROT_READ | PROT_EXEC, SECCOMP_EFFECT_NONE },
		{ SYS_memfd_create, 1, MFD_CLOEXEC | MFD_ALLOW_SEALING | 0x10 /* MFD_EXEC */,
		  SECCOMP_EFFECT_KILLS_CALL },
		{ SYS_madvise, 2, MADV_DONTDUMP, SECCOMP_EFFECT_KILLS_CALL },
		{ SYS_madvise, 2, MADV_WIPEONFORK, SECCOMP_EFFECT_KILLS_CALL },
		{ SYS_madvise, 2, MADV_HUGEPAGE, SECCOMP_EFFECT_NONE },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct sock_filter program[] = {
			LOAD(nr),
			IF(BPF_JEQ, (uint32_t)cases[i].call, 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) +
								      cases[i].argument * sizeof(uint64_t))),
			IF(BPF_JEQ, cases[i].value, 0, 1),
			RETURN(SECCOMP_RET_KILL_PROCESS),
			RETURN(SECCOMP_RET_ALLOW),
		};
		struct seccomp_filters filters = { .filters = NULL, .count = 1 };
		__typeof__(*filters.filters) list[1] = { { program, COUNT(program) } };

		filters.filters = list;
		CHECK_EQUAL(seccomp_filters_effect(&filters), cases[i].effect);
	}
}

int main(void)
{
	test_run();
	test_actions();
	test_effect();
	test_arguments();
	return CHECK_RESULT();
}
