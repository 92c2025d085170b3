// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/threads.h"

#include "attach/arch/syscall.h"
#include "attach/process/kernel_workers.h"
#include "attach/ptrace/carrier_thread.h"
#include "attach/ptrace/gadgets.h"
#include "attach/ptrace/repeat_call.h"
#include "check.h"

#include <stdlib.h>
#include <sys/syscall.h>

#define STAT_END " 0 0 0 0 0 0 0 0 0 0 1 0 8 0 0 0 0 0 9" // fields 10 to 28

static void test_rewind(void)
{
	static const struct {
		int64_t orig_rax, rax;
		bool rewound;
		int64_t rax_after;
		enum arch_call_state state;
	} cases[] = {
		{ 0, -512, true, 0, ARCH_RESTARTABLE },      // ERESTARTSYS
		{ 7, -513, true, 7, ARCH_RESTARTABLE },      // ERESTARTNOINTR
		{ 271, -514, true, 271, ARCH_RESTARTABLE },  // ERESTARTNOHAND
		{ 35, -516, true, 219, ARCH_RESTART_BLOCK }, // ERESTART_RESTARTBLOCK
		{ 7, -515, false, -515, ARCH_USER_MODE },    // ENOIOCTLCMD: none of them
		{ 7, -4, false, -4, ARCH_USER_MODE },        // EINTR is a result
		{ 9, 0x7f0000000000, false, 0x7f0000000000, ARCH_USER_MODE },
		{ -1, -512, false, -512, ARCH_USER_MODE }, // the program's own value, not in a call
		{ 0xffffffff, -512, false, -512, ARCH_USER_MODE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct user_regs_struct registers = { .orig_rax = (unsigned long long)cases[i].orig_rax,
						      .rax = (unsigned long long)cases[i].rax,
						      .rip = 0x401002 };

		CHECK_EQUAL(arch_call_state(&registers), cases[i].state);
		CHECK_EQUAL(arch_rewind_syscall(&registers), cases[i].rewound);
		CHECK_EQUAL(registers.rax, cases[i].rax_after);
		CHECK_EQUAL(registers.rip, cases[i].rewound ? 0x401000 : 0x401002);
		CHECK_EQUAL(registers.orig_rax, -1);
		// Rewound is not interrupted any more.
		CHECK(!arch_rewind_syscall(&registers));
	}
}

static void test_gadgets(void)
{
	static const uint8_t code[] = { 0x90, 0x0f, 0x05, 0x48, 0xb8, 0x0f, 0, 0, 0,    0x0f, 0x05,
					0xc3, 0x48, 0xc7, 0xc0, 0x0f, 0,    0, 0, 0x0f, 0x05 };

	CHECK_EQUAL(gadget_offset(code, sizeof(code), arch_syscall_gadgets), 9);
	CHECK_EQUAL(gadget_offset(code, 11, arch_syscall_gadgets), SIZE_MAX);
	CHECK_EQUAL(gadget_offset(code, sizeof(code), arch_sigreturn_gadgets), 4);
	CHECK_EQUAL(gadget_offset(code + 5, sizeof(code) - 5, arch_sigreturn_gadgets), 7);
	CHECK_EQUAL(gadget_offset(code + 5, sizeof(code) - 6, arch_sigreturn_gadgets), SIZE_MAX);
	CHECK_EQUAL(gadget_offset(arch_entry_code, ARCH_ENTRY_CODE_SIZE, arch_syscall_gadgets), 0);
	CHECK_EQUAL(gadget_offset(arch_entry_code, ARCH_ENTRY_CODE_SIZE, arch_sigreturn_gadgets),
		    ARCH_ENTRY_SIGRETURN_OFFSET);
}

static void test_rseq(void)
{
	const struct rseq_section section = { .start = 0x1000, .size = 0x20, .abort = 0x5000 };

	CHECK_EQUAL(rseq_resume_address(&section, 0xfff), 0xfff);
	CHECK_EQUAL(rseq_resume_address(&section, 0x1000), 0x5000);
	CHECK_EQUAL(rseq_resume_address(&section, 0x101f), 0x5000);
	CHECK_EQUAL(rseq_resume_address(&section, 0x1020), 0x1020);
}

static void test_transfer(void)
{
	static const struct {
		long call;
		int64_t rax;
		bool in_transfer;
	} cases[] = {
		{ SYS_write, 65536, true },                                                 // a part was moved
		{ SYS_recvfrom, -512, true },                                               // nothing yet
		{ SYS_sendfile, 4096, true }, { SYS_futex, -512, false }, { -1, 1, false }, // in user mode
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct user_regs_struct registers = { .orig_rax = (unsigned long long)cases[i].call,
							    .rax = (unsigned long long)cases[i].rax };

		CHECK_EQUAL(carrier_is_in_transfer(&registers), cases[i].in_transfer);
	}
}

static void test_endless(void)
{
	static const struct user_regs_struct cases[] = {
		{ .orig_rax = SYS_epoll_wait, .r10 = UINT32_MAX }, { .orig_rax = SYS_epoll_pwait, .r10 = UINT64_MAX },
		{ .orig_rax = SYS_epoll_pwait2, .r10 = 0 },        { .orig_rax = SYS_semop, .r10 = 1000 },
		{ .orig_rax = SYS_semtimedop, .r10 = 0 },          { .orig_rax = SYS_rt_sigtimedwait, .rdx = 0 },
		{ .orig_rax = SYS_io_getevents, .r8 = 0 },         { .orig_rax = SYS_io_uring_enter, .r10 = 1 },
	};
	static const struct user_regs_struct with_time[] = {
		{ .orig_rax = SYS_epoll_wait, .r10 = 0 },
		{ .orig_rax = SYS_epoll_pwait, .r10 = 1000 },
		{ .orig_rax = SYS_epoll_pwait2, .r10 = 0x7ffd1000 },
		{ .orig_rax = SYS_semtimedop, .r10 = 0x7ffd1000 },
		{ .orig_rax = SYS_rt_sigtimedwait, .rdx = 0x7ffd1000 },
		{ .orig_rax = SYS_io_getevents, .r8 = 0x7ffd1000 },
		{ .orig_rax = SYS_io_uring_enter, .r10 = 9 },
		{ .orig_rax = SYS_read }, // of a socket with a timeout
		{ .orig_rax = UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct user_regs_struct registers = cases[i];

		registers.rax = (unsigned long long)-4; // EINTR
		CHECK(repeat_call_is_endless(&registers));
		registers.rax = 1;
		CHECK(!repeat_call_is_endless(&registers));
	}
	for (size_t i = 0; i < sizeof(with_time) / sizeof(with_time[0]); i++) {
		struct user_regs_struct registers = with_time[i];

		registers.rax = (unsigned long long)-4;
		CHECK(!repeat_call_is_endless(&registers));
	}
}

static void test_repeat(void)
{
	static const struct {
		long call;
		int64_t rax;
		bool repeated;
	} cases[] = {
		{ SYS_epoll_pwait, -4, true }, // EINTR
		{ SYS_semop, -4, true },
		{ SYS_rt_sigtimedwait, -4, true },
		{ SYS_epoll_pwait, -514, false }, // the kernel repeats it
		{ SYS_epoll_pwait, 1, false },    // has its result
		{ SYS_rt_sigsuspend, -4, false }, // ends with EINTR when it has done its work
		{ SYS_ioctl, -4, false },         // who knows
		{ -1, -4, false },                // the program's own value, not in a call
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct user_regs_struct before = { .orig_rax = (unsigned long long)cases[i].call,
							 .rax = (unsigned long long)cases[i].rax,
							 .rip = 0x401002 };
		struct user_regs_struct registers = before;

		CHECK_EQUAL(repeat_call_prepare(&registers), cases[i].repeated);
		if (!cases[i].repeated) {
			CHECK(memcmp(&registers, &before, sizeof(before)) == 0);
			continue;
		}
		CHECK_EQUAL(registers.rip, 0x401000);
		CHECK_EQUAL(registers.rax, cases[i].call);
		CHECK_EQUAL(arch_call_state(&registers), ARCH_USER_MODE);
		arch_end_call(&registers, -4);
		CHECK_EQUAL(registers.rip, before.rip);
		CHECK_EQUAL(registers.rax, before.rax);
	}
}

static void test_pending_signal(void)
{
	static const char status[] =
		"SigQ:\t1/100\nSigPnd:\t0000000000000001\nShdPnd:\t0000000000000402\nSigBlk:\t0000000000000000\n"
		"SigIgn:\t0000000000000000\nSigCgt:\t0000000000000c00\n";

	CHECK(status_has_signal(status, 0)); // 11 has a handler, and is pending for the process
	CHECK(status_has_signal(status, 0x803));
	CHECK(!status_has_signal(status, 0x400)); // blocked; 1 and 2 have none
	CHECK(!status_has_signal("", 0));
}

static void test_kernel_workers(void)
{
	CHECK(stat_is_of_kernel_worker("24982 (iou-wrk-24980) S 1 24980 1 0 -1 4210768" STAT_END));
	CHECK(stat_is_of_kernel_worker("24982 (vhost-24980) S 1 24980 1 0 -1 16384" STAT_END));
	CHECK(!stat_is_of_kernel_worker("24980 (iou) S 1 24980 1 0 -1 4194560" STAT_END));
	// a program that calls itself so
	CHECK(!stat_is_of_kernel_worker("24980 (iou-wrk-24980) S 1 24980 1 0 -1 4194560" STAT_END));
	// the bit's older meaning
	CHECK(!stat_is_of_kernel_worker("24980 (qemu) S 1 24980 1 0 -1 4194576" STAT_END));
	CHECK(!stat_is_of_kernel_worker("24980 (x) (iou-) S 1 24980 1 0 -1 16" STAT_END));
	CHECK(!stat_is_of_kernel_worker("24980"));
}

int main(void)
{
	test_rewind();
	test_endless();
	test_repeat();
	test_pending_signal();
	test_kernel_workers();
	test_gadgets();
	test_rseq();
	test_transfer();
	return CHECK_RESULT();
}
