// SPDX-License-Identifier: Apache-2.0
// Longer than 500 lines: every entry is made of the same macros, which an assembler file keeps to itself.
// The head of the payload image and the entries of its hooks.
//
// A patched function jumps to an island's stub, which comes here with r11 = address of its struct hook_island and all
// other registers as the caller of the function left them. r10 and r11 are free at a function's entry (psABI: r10 static
// chain, unused by C; r11 scratch), unless the caller knows that the function leaves them alone: the kinds below that keep registers.

#include "inject/abi/limits.h"

// test/artifact compares the numbers here with the headers.
#define ISLAND_TRAMPOLINE 128  // HS_ISLAND_TRAMPOLINE_OFFSET
#define ISLAND_HOOK_INDEX 8
#define ISLAND_LAYOUT 216
#define STATE_TRUST 64
#define STATE_BLOOM 4096
#define STATE_CREDITS 12288
#define CREDIT_COUNTDOWN 8
#define CREDIT_SHIFT 16          // sampling_credit_index, times the size of an entry
#define CREDIT_MASK 0xffc0
#define TRUST_CALLS 16
#define HASH_FACTOR 0x9e3779b1
#define BLOOM_SHIFT 19
#define FAST_PATH_STATE 0x5ea7e5ea7e5ea7e5
#define FAST_PATH_TRUST 0x57a057a0
// enum hook_outcome
#define HOOK_DONE 1
#define HOOK_NOT_BEGUN 2
#define HOOK_NOT_RECORDED 3

#define FAST_SAVED 32 // bytes between a fast path's call and rbp; the stack is aligned there

	.section .head, "ax", @progbits
	.globl payload_header
	.hidden payload_header
	.type payload_header, @object
payload_header:
	.quad 0x44414f4c59415053          // magic
	.long HS_ABI_VERSION               // abi_version
	.long payload_image_end - payload_header
	.long entry_malloc - payload_header
	.long entry_calloc - payload_header
	.long entry_realloc - payload_header
	.long entry_reallocarray - payload_header
	.long entry_free - payload_header
	.long entry_posix_memalign - payload_header
	.long entry_memalign - payload_header
	.long entry_loader_event - payload_header
	.long entry_new - payload_header
	.long entry_allocate - payload_header
	.long entry_release - payload_header
	.long entry_reallocate - payload_header
	.long entry_resize - payload_header
	.long entry_watched - payload_header
	.long entry_exit_point - payload_header
	.zero 4
	.long gadget_syscall - payload_header
	.long gadget_sigreturn - payload_header
	.long thread_pointer_reads - payload_header
	.long thread_pointer_reads_end - payload_header
config:
config_region:
	.quad 0                            // region
config_state:
	.quad 0                            // state
	.zero 14 * 8
	.long island_malloc - payload_header // island_head, by enum hook_kind
	.long island_calloc - payload_header
	.zero 2 * 4
	.long island_free - payload_header
	.zero 3 * 4
	.long island_new - payload_header
	.zero 7 * 4
	.byte begin_malloc - island_malloc // island_begin
	.byte begin_calloc - island_calloc
	.zero 2
	.byte begin_free - island_free
	.zero 3
	.byte begin_new - island_new
	.zero 7
	.size payload_header, . - payload_header

// The inline fast paths: what stands in an island before its trampoline. They are copied there (attach/hook/inline_fast_path.c) and never run where they are here.
// Each ends where the trampoline begins: the way on is no jump. `stub` is the island's, which leads to the entry and so to the C code.
.macro island_head name, padding
	.balign 16
	.type island_\name, @object
island_\name:
	.fill 16, 1, 0xcc
stub_\name:
	.fill 16 + \padding, 1, 0xcc
.endm

.macro island_end name
	.org island_\name + ISLAND_TRAMPOLINE, 0xcc
	.size island_\name, . - island_\name
.endm

// Passes when the call is not recorded and may run without a frame of ours, having counted its bytes (`size`); otherwise it leaves all as it was,
// and the C code decides. Changes rax, r10, r11.
//
// In a forked child, and where no allocation may pass, the sampling credit is not this thread's. The countdown is changed by one instruction, so that a
// signal handler may allocate at any place: one that comes before it was undone finds it below 0 and does not pass; neither does anybody after a
// handler that has jumped out of here.
.macro pass_if_unsampled name, size
undo_\name:
	add %\size, STATE_CREDITS + CREDIT_COUNTDOWN(%r11,%rax)
	jmp stub_\name
begin_\name:
	movabs $FAST_PATH_STATE, %r11
	cmpb $TRUST_CALLS, FAST_PATH_TRUST(%r11) // first: where all was recorded since attach, no hook is trusted
	jne stub_\name
	mov %fs:0, %r10 // may become RDFSBASE (attach/arch/thread_pointer_code.h)
	imul $HASH_FACTOR, %r10d, %eax
	shr $CREDIT_SHIFT, %eax
	and $CREDIT_MASK, %eax
	cmp %r10, STATE_CREDITS(%r11,%rax)
	jne stub_\name
.endm

.macro count_down name, size
	test %\size, %\size         // a block of no bytes counts as one of one byte; one below 0, as a signed number, would lengthen the countdown
	jle stub_\name
	sub %\size, STATE_CREDITS + CREDIT_COUNTDOWN(%r11,%rax)
	jle undo_\name
.endm

	island_head malloc, 17
	pass_if_unsampled malloc, rdi
	count_down malloc, rdi
	island_end malloc

	island_head new, 17
	pass_if_unsampled new, rdi
	count_down new, rdi
	island_end new

	island_head calloc, 0
	pass_if_unsampled calloc, rcx
	mov %rdi, %rcx
	or %rsi, %rcx
	js stub_calloc // two numbers that are below 0, as signed ones, may have a small product
	mov %rdi, %rcx
	imul %rsi, %rcx
	jo stub_calloc
	count_down calloc, rcx
	island_end calloc

// A counter of 0 proves that the block is not recorded. In a forked child all of them are.
	island_head free, 66
begin_free:
	imul $HASH_FACTOR, %edi, %eax // bloom_index
	movabs $FAST_PATH_STATE, %r11
	shr $BLOOM_SHIFT, %eax
	cmpb $0, STATE_BLOOM(%r11,%rax)
	jne stub_free
	island_end free

	.text

// For the tool's remote calls: see attach/ptrace/remote_call.h. Never run by a hook.
	.balign 16
gadget_syscall:
	syscall
	ret
gadget_sigreturn:
	mov $15, %eax
	syscall

// if (!active) goto label
.macro unless_active label
	mov config_state(%rip), %r10
	cmpl $0, (%r10)
	je \label
.endm

.macro save register
	push \register
	.cfi_adjust_cfa_offset 8
.endm

.macro restore register
	pop \register
	.cfi_adjust_cfa_offset -8
.endm

// To the original, with its arguments as the caller left them.
.macro to_trampoline
	lea ISLAND_TRAMPOLINE(%r11), %r11
	jmp *%r11
.endm

// The callee-saved registers, as struct entry_frame has them.
.macro push_entry_frame
	save %rbp
	push_callee_saved
.endm

// rbp and the return address stand side by side, as code with frame pointers has them: so the original, and whoever walks the chain of those from within it,
// finds the caller behind our frames. Who leaves takes rbp from there.
.macro keep_chain
	save %rbp
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
.endm

.macro push_callee_saved
	save %rbx
	save %r12
	save %r13
	save %r14
	save %r15
.endm

// The second half of a hook that calls the original itself, from the call of its C code on: struct hook_result hook(a, b, c, island, frame), which has
// kept the callee-saved registers. It returns edx = 0 to have the original run in its place, with the `arguments` (1 to 3) as they were.
.macro save_arguments arguments
	sub $40, %rsp
	.cfi_adjust_cfa_offset 40
	mov %r11, 32(%rsp)
	mov %rdi, 24(%rsp)
	.if \arguments > 1
	mov %rsi, 16(%rsp)
	.endif
	.if \arguments > 2
	mov %rdx, 8(%rsp)
	.endif
.endm

.macro leave_as_told arguments
	mov 80(%rsp), %rbp
	test %edx, %edx
	je 5f
	add $88, %rsp
	.cfi_adjust_cfa_offset -88
	ret
	.cfi_adjust_cfa_offset 88
5:	mov 32(%rsp), %r11
	mov 24(%rsp), %rdi
	.if \arguments > 1
	mov 16(%rsp), %rsi
	.endif
	.if \arguments > 2
	mov 8(%rsp), %rdx
	.endif
	add $88, %rsp
	.cfi_adjust_cfa_offset -88
.endm

.macro calling_hook name, arguments
	.balign 32
	.type entry_\name, @function
entry_\name:
	.cfi_startproc
	unless_active 1f
	keep_chain
	push_callee_saved
	mov %rsp, %r8
	save_arguments \arguments
	mov %r11, %rcx
	call hook_\name
	leave_as_told \arguments
1:	to_trampoline
	.cfi_endproc
	.size entry_\name, . - entry_\name
.endm

// The same for a hook with a fast path: struct hook_result hook_fast(a, b, c, island, frame), where of the frame only rbp and the return address are
// there. The other registers are pushed where that way ended before the original was called (edx = HOOK_NOT_BEGUN: hook() begins anew), or behind
// it (HOOK_NOT_RECORDED: hook_made(a, b, block, island, frame) goes on; the thread's guard stands).
.macro fast_hook name, arguments
	.balign 32
	.type entry_\name, @function
entry_\name:
	.cfi_startproc
	unless_active 1f
	keep_chain
	sub $FAST_SAVED, %rsp
	.cfi_adjust_cfa_offset FAST_SAVED
	mov %r11, 16(%rsp)
	mov %rdi, 8(%rsp)
	.if \arguments > 1
	mov %rsi, (%rsp)
	.endif
	mov %r11, %rcx
	lea FAST_SAVED - 40(%rsp), %r8
	call hook_\name\()_fast
	cmp $HOOK_DONE, %edx
	jne 2f
	add $FAST_SAVED, %rsp
	.cfi_adjust_cfa_offset -FAST_SAVED
	restore %rbp
	ret
	.cfi_adjust_cfa_offset FAST_SAVED + 8
	// What arch_hook_runs looks for stands below, in the red zone, before the pushes overwrite what stood above.
2:	lea 1f(%rip), %r10
	mov %r10, FAST_SAVED + 8 - 96(%rsp)
	mov 16(%rsp), %r11
	mov 8(%rsp), %rdi
	.if \arguments > 1
	mov (%rsp), %rsi
	.endif
	add $FAST_SAVED, %rsp
	.cfi_adjust_cfa_offset -FAST_SAVED
	push_callee_saved
	mov %rsp, %r8
	save_arguments \arguments
	mov %r11, %rcx
	cmp $HOOK_NOT_BEGUN, %edx
	jb 4f
	ja 3f
	call hook_\name
	jmp 4f
3:	mov %rax, %rdx
	call hook_\name\()_made
4:	leave_as_told \arguments
1:	to_trampoline
	.cfi_endproc
	.size entry_\name, . - entry_\name
.endm

	fast_hook malloc, 1
	fast_hook calloc, 2
	fast_hook new, 2 // the second one is an alignment, or std::nothrow's address, if any
	calling_hook realloc, 2
	calling_hook reallocarray, 3
	calling_hook posix_memalign, 3
	calling_hook memalign, 2

// A hook that does its work first and leaves by the trampoline, so that no frame of ours is on the stack while the original
// runs: void before(a, where the return address lies, island).
	.balign 32
	.type entry_free, @function
entry_free:
	.cfi_startproc
	unless_active 1f
	save %rdi
	save %r11
	save %rsi
	lea 24(%rsp), %rsi
	mov %r11, %rdx
	call hook_before_free
	restore %rsi
	restore %r11
	restore %rdi
1:	to_trampoline
	.cfi_endproc
	.size entry_free, . - entry_free

// The kinds that keep every register but those that the function itself changes, for callers that rely on it (gcc's -fipa-ra: docs/design.md, Hooks). Their
// stub has put the caller's r11 below the stack pointer, into the part that signal handlers leave alone (the red zone, 128 bytes: psABI).
#define RED_R11 -120
#define RED_R10 -128
#define RED_RAX -112
#define RED_ISLAND -104

// Where the fields of struct call_frame lie.
#define FRAME_RESULT 0     // rax, rdx
#define FRAME_CHANGED 16   // rcx, rsi, rdi, r8, r9, r10, r11
#define FRAME_ISLAND 72
#define FRAME_RAX 80
#define FRAME_ARGUMENTS 88 // rdi, rsi, rdx, rcx, r8, r9
#define FRAME_R10 136
#define FRAME_R11 144
#define FRAME_ENTRY 152
#define FRAME_SIZE 200     // without the return address

.macro unless_active_keep label
	mov %r10, RED_R10(%rsp)
	mov config_state(%rip), %r10
	cmpl $0, (%r10)
	je \label
.endm

// All registers into struct call_frame, whose address is the stack pointer then, and rdi.
.macro push_call_frame
	push_entry_frame
	sub $FRAME_ENTRY, %rsp
	.cfi_adjust_cfa_offset FRAME_ENTRY
	mov FRAME_SIZE + RED_R10(%rsp), %r10
	mov %r10, FRAME_R10(%rsp)
	mov FRAME_SIZE + RED_R11(%rsp), %r10
	mov %r10, FRAME_R11(%rsp)
	mov %r9, FRAME_ARGUMENTS + 40(%rsp)
	mov %r8, FRAME_ARGUMENTS + 32(%rsp)
	mov %rcx, FRAME_ARGUMENTS + 24(%rsp)
	mov %rdx, FRAME_ARGUMENTS + 16(%rsp)
	mov %rsi, FRAME_ARGUMENTS + 8(%rsp)
	mov %rdi, FRAME_ARGUMENTS(%rsp)
	mov %rax, FRAME_RAX(%rsp)
	mov %r11, FRAME_ISLAND(%rsp)
	mov %rsp, %rdi
.endm

// All registers as they were.
.macro pop_call_frame
	mov FRAME_ARGUMENTS + 40(%rsp), %r9
	mov FRAME_ARGUMENTS + 32(%rsp), %r8
	mov FRAME_ARGUMENTS + 24(%rsp), %rcx
	mov FRAME_ARGUMENTS + 16(%rsp), %rdx
	mov FRAME_ARGUMENTS + 8(%rsp), %rsi
	mov FRAME_ARGUMENTS(%rsp), %rdi
	mov FRAME_RAX(%rsp), %rax
	mov FRAME_R10(%rsp), %r10
	mov FRAME_R11(%rsp), %r11
	add $FRAME_SIZE, %rsp
	.cfi_adjust_cfa_offset -FRAME_SIZE
.endm

// To the trampoline at once, from the entry's beginning; r10 and r11 are where unless_active_keep and the stub have put them.
.macro to_trampoline_keep
	add $ISLAND_TRAMPOLINE, %r11
	mov RED_R10(%rsp), %r10
	mov %r11, RED_R10(%rsp)
	mov RED_R11(%rsp), %r11
	jmp *RED_R10(%rsp)
.endm

// What the inline fast paths decide (above), for functions of the same arguments whose hook keeps registers; r10 = the state pages. Goes on below where the C code is to
// decide.
.macro pass_allocation
	cmpw $0x0001, ISLAND_LAYOUT(%r11) // size is the first argument, and there is no count
	jne 8f
	test %rdi, %rdi
	jle 8f
	mov %rax, RED_RAX(%rsp)
	mov %r11, RED_ISLAND(%rsp)
	mov ISLAND_HOOK_INDEX(%r11), %eax
	cmpb $TRUST_CALLS, STATE_TRUST(%r10,%rax)
	jne 7f
9:	mov %fs:0, %r11
	.pushsection .thread_pointer_reads, "a"
	.long 9b - .
	.popsection
	imul $HASH_FACTOR, %r11d, %eax
	shr $CREDIT_SHIFT, %eax
	and $CREDIT_MASK, %eax
	cmp %r11, STATE_CREDITS(%r10,%rax)
	jne 7f
	sub %rdi, STATE_CREDITS + CREDIT_COUNTDOWN(%r10,%rax)
	jle 6f
	mov RED_RAX(%rsp), %rax
	mov RED_ISLAND(%rsp), %r11
	to_trampoline_keep
6:	add %rdi, STATE_CREDITS + CREDIT_COUNTDOWN(%r10,%rax)
7:	mov RED_RAX(%rsp), %rax
	mov RED_ISLAND(%rsp), %r11
8:
.endm

.macro pass_nothing
.endm

.macro pass_release
	cmpq $0x10000, ISLAND_LAYOUT(%r11) // the block is the first argument, and nothing else is asked for
	jne 8f
	mov %rax, RED_RAX(%rsp)
	imul $HASH_FACTOR, %edi, %eax
	shr $BLOOM_SHIFT, %eax
	cmpb $0, STATE_BLOOM(%r10,%rax)
	mov RED_RAX(%rsp), %rax
	jne 8f
	to_trampoline_keep
8:
.endm

// The generic kinds: the C code gets the address of struct call_frame. 0 from it: the original runs in its place, as after those that never have a
// result (release, watched).
.macro generic_hook name, has_result=1, pass=nothing
	.balign 32
	.type entry_\name, @function
entry_\name:
	.cfi_startproc
	unless_active_keep 1f
	pass_\pass
	push_call_frame
	call hook_\name
	.if \has_result
	test %al, %al
	je 2f
	mov FRAME_RESULT(%rsp), %rax
	mov FRAME_RESULT + 8(%rsp), %rdx
	mov FRAME_CHANGED(%rsp), %rcx
	mov FRAME_CHANGED + 8(%rsp), %rsi
	mov FRAME_CHANGED + 16(%rsp), %rdi
	mov FRAME_CHANGED + 24(%rsp), %r8
	mov FRAME_CHANGED + 32(%rsp), %r9
	mov FRAME_CHANGED + 40(%rsp), %r10
	mov FRAME_CHANGED + 48(%rsp), %r11
	add $FRAME_SIZE, %rsp
	.cfi_adjust_cfa_offset -FRAME_SIZE
	ret
	.cfi_adjust_cfa_offset FRAME_SIZE
	.endif
	// To the trampoline with no register to spare: its address stands where the stack pointer's red zone will be.
2:	mov FRAME_ISLAND(%rsp), %r11
	add $ISLAND_TRAMPOLINE, %r11
	mov %r11, FRAME_SIZE + RED_R10(%rsp)
	pop_call_frame
	jmp *RED_R10(%rsp)
1:	to_trampoline_keep
	.cfi_endproc
	.size entry_\name, . - entry_\name
.endm

	generic_hook allocate, 1, allocation
	generic_hook release, 0, release
	generic_hook reallocate
	generic_hook resize
	generic_hook watched, 0

// Where a watched function returns: its last instructions have run in the island's trampoline, but for the return itself, and all registers are
// as its caller gets them, and stay so. void hook_exit_point(struct call_frame *), which finds the result in `rax`.
	.balign 32
	.type entry_exit_point, @function
entry_exit_point:
	.cfi_startproc
	unless_active_keep 1f
	push_call_frame
	call hook_exit_point
	pop_call_frame
	ret
1:	mov RED_R10(%rsp), %r10
	mov RED_R11(%rsp), %r11
	ret
	.cfi_endproc
	.size entry_exit_point, . - entry_exit_point

// void arch_call(struct call_frame *frame, uint64_t function)
	.balign 32
	.globl arch_call
	.hidden arch_call
	.type arch_call, @function
arch_call:
	.cfi_startproc
	save %rbx
	save %rbp
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	mov %rdi, %rbx
	mov %rsi, (%rsp)
	lea FRAME_ENTRY + 40(%rbx), %rbp // the caller's, beside its return address: as keep_chain has them
	mov FRAME_R11(%rbx), %r11
	mov FRAME_R10(%rbx), %r10
	mov FRAME_ARGUMENTS + 40(%rbx), %r9
	mov FRAME_ARGUMENTS + 32(%rbx), %r8
	mov FRAME_ARGUMENTS + 24(%rbx), %rcx
	mov FRAME_ARGUMENTS + 16(%rbx), %rdx
	mov FRAME_ARGUMENTS + 8(%rbx), %rsi
	mov FRAME_ARGUMENTS(%rbx), %rdi
	mov FRAME_RAX(%rbx), %rax
	call *(%rsp)
	mov %rax, FRAME_RESULT(%rbx)
	mov %rdx, FRAME_RESULT + 8(%rbx)
	mov %rcx, FRAME_CHANGED(%rbx)
	mov %rsi, FRAME_CHANGED + 8(%rbx)
	mov %rdi, FRAME_CHANGED + 16(%rbx)
	mov %r8, FRAME_CHANGED + 24(%rbx)
	mov %r9, FRAME_CHANGED + 32(%rbx)
	mov %r10, FRAME_CHANGED + 40(%rbx)
	mov %r11, FRAME_CHANGED + 48(%rbx)
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	restore %rbp
	restore %rbx
	ret
	.cfi_endproc
	.size arch_call, . - arch_call

// The dynamic loader calls an empty function (`ret`) for debuggers' sake; nothing of it is left to run. Its caller may have been
// compiled in the knowledge that the callee changes nothing, so every general register is kept.
	.balign 32
	.type entry_loader_event, @function
entry_loader_event:
	.cfi_startproc
	unless_active_keep 1f
	push RED_R10(%rsp)
	push RED_R11 + 8(%rsp)
	.irp register, rax, rcx, rdx, rsi, rdi, r8, r9
	push %\register
	.endr
	.cfi_adjust_cfa_offset 72
	call hook_loader_event
	.irp register, r9, r8, rdi, rsi, rdx, rcx, rax, r11, r10
	pop %\register
	.endr
	.cfi_adjust_cfa_offset -72
	ret
1:	mov RED_R10(%rsp), %r10
	mov RED_R11(%rsp), %r11
	ret
	.cfi_endproc
	.size entry_loader_event, . - entry_loader_event

	.section .note.GNU-stack, "", @progbits
