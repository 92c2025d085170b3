// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/sandbox_filter.h"

#include "attach/arch/syscall_instruction.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// What reading mapped or handed files, allocating memory and answering need. newfstatat is fstat in newer C libraries;
// sysinfo is asked by qsort of older ones. Everything else fails with EPERM and does nothing: a library that tries, and
// can do without, goes on.
static const uint32_t allowed[] = {
	SYS_read,         SYS_pread64,        SYS_lseek,
	SYS_fstat,        SYS_newfstatat,     SYS_close,
	SYS_munmap,       SYS_mremap,         SYS_brk,
	SYS_madvise,      SYS_futex,          SYS_getrandom,
	SYS_sysinfo,      SYS_clock_gettime,  SYS_sendto,
	SYS_sendmsg,      SYS_recvfrom,       SYS_recvmsg,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall,
	SYS_exit,         SYS_exit_group,
};

enum {
	COUNT = sizeof(allowed) / sizeof(allowed[0]),
	ARGUMENT_3 = offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t)
};

#define LOAD(offset)             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define RETURN(value)            BPF_STMT(BPF_RET | BPF_K, (value))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (uint8_t)(yes), (uint8_t)(no))
#define IF_BIT(value, yes, no)   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (value), (uint8_t)(yes), (uint8_t)(no))

bool sandbox_filter_install(void)
{
	static const struct sock_filter head[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IF_EQUAL(ARCH_AUDIT, 1, 0), // the 32-bit table has other numbers
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(offsetof(struct seccomp_data, nr)),
		// Memory, but no code; PROT_EXEC is in the lower half of the third argument.
		IF_EQUAL(SYS_mmap, 1, 0),
		IF_EQUAL(SYS_mprotect, 0, 4),
		LOAD(ARGUMENT_3),
		IF_BIT(PROT_EXEC, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	enum { HEAD = sizeof(head) / sizeof(head[0]) };
	struct sock_filter filter[HEAD + COUNT + 2];
	struct sock_fprog program = { .len = HEAD + COUNT + 2, .filter = filter };

	for (int i = 0; i < HEAD; i++)
		filter[i] = head[i];
	// to the last instruction; numbers of the x32 table have a bit more and equal none
	for (int i = 0; i < COUNT; i++)
		filter[HEAD + i] = (struct sock_filter)IF_EQUAL(allowed[i], COUNT - i, 0);
	filter[HEAD + COUNT] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	filter[HEAD + COUNT + 1] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
