// SPDX-License-Identifier: Apache-2.0
// The head of the payload image and the entries of its hooks.
//
// A patched function jumps to an island's stub, which comes here with r11 = address of its struct hook_island and all
// other registers as the caller of the function left them. r10 and r11 are free at a function's entry (psABI: r10 static
// chain, unused by C; r11 scratch).

// test/artifact compares the numbers here with the headers.
#define ISLAND_SHORT_WAY 32    // HS_ISLAND_SHORT_WAY_OFFSET
#define ISLAND_TRAMPOLINE 128  // HS_ISLAND_TRAMPOLINE_OFFSET
#define STATE_FILTER 4096
#define STATE_PASSES 12288
#define PASS_COUNTDOWN 8
#define PASS_FACTOR 0x9e3779b1
#define PASS_SHIFT 16          // thread_pass_index, times the size of an entry
#define PASS_MASK 0xffc0
#define TRUST_CALLS 16
#define FILTER_FACTOR 0x9e3779b1
#define FILTER_SHIFT 19
#define SHORT_WAY_STATE 0x5ea7e5ea7e5ea7e5
#define SHORT_WAY_TRUST 0x57a057a0
// enum hook_way
#define HOOK_DONE 1
#define HOOK_NOT_BEGUN 2
#define HOOK_NOT_RECORDED 3

#define USUAL_SAVED 32 // bytes between a usual way's call and rbp; the stack is aligned there

	.section .head, "ax", @progbits
	.globl payload_header
	.hidden payload_header
	.type payload_header, @object
payload_header:
	.quad 0x44414f4c59415053          // magic
	.long 11                           // abi_version
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
	.long entry_way_out - payload_header
	.zero 4
	.long gadget_syscall - payload_header
	.long gadget_sigreturn - payload_header
	.long fs_reads - payload_header
	.long fs_reads_end - payload_header
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

// The short ways: what stands in an island before its trampoline. They are copied there (attach/short_way.c) and never run where they are here.
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
// In a forked child, and where no allocation may pass, the pass is not this thread's. The countdown is changed by one instruction, so that a
// signal handler may allocate at any place: one that comes before it was undone finds it below 0 and does not pass; neither does anybody after a
// handler that has jumped out of here.
.macro pass_if_unsampled name, size
undo_\name:
	add %\size, STATE_PASSES + PASS_COUNTDOWN(%r11,%rax)
	jmp stub_\name
begin_\name:
	movabs $SHORT_WAY_STATE, %r11
	cmpb $TRUST_CALLS, SHORT_WAY_TRUST(%r11) // first: where all was recorded since attach, no hook is trusted
	jne stub_\name
	mov %fs:0, %r10 // may become RDFSBASE (attach/thread_pointer_code.h)
	imul $PASS_FACTOR, %r10d, %eax
	shr $PASS_SHIFT, %eax
	and $PASS_MASK, %eax
	cmp %r10, STATE_PASSES(%r11,%rax)
	jne stub_\name
.endm

.macro count_down name, size
	test %\size, %\size         // a block of no bytes counts as one of one byte; one below 0, as a signed number, would lengthen the countdown
	jle stub_\name
	sub %\size, STATE_PASSES + PASS_COUNTDOWN(%r11,%rax)
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
	imul $FILTER_FACTOR, %edi, %eax // filter_index
	movabs $SHORT_WAY_STATE, %r11
	shr $FILTER_SHIFT, %eax
	cmpb $0, STATE_FILTER(%r11,%rax)
	jne stub_free
	island_end free

	.text

// For the tool's remote calls: see attach/remote_call.h. Never run by a hook.
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

// To the original, with its arguments as the caller left them.
.macro to_trampoline
	lea ISLAND_TRAMPOLINE(%r11), %r11
	jmp *%r11
.endm

// The callee-saved registers, as struct entry_frame has them.
.macro push_entry_frame
	push %rbp
	.cfi_adjust_cfa_offset 8
	push_callee_saved
.endm

.macro push_callee_saved
	push %rbx
	.cfi_adjust_cfa_offset 8
	push %r12
	.cfi_adjust_cfa_offset 8
	push %r13
	.cfi_adjust_cfa_offset 8
	push %r14
	.cfi_adjust_cfa_offset 8
	push %r15
	.cfi_adjust_cfa_offset 8
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
	push_entry_frame
	mov %rsp, %r8
	save_arguments \arguments
	mov %r11, %rcx
	call hook_\name
	leave_as_told \arguments
1:	to_trampoline
	.cfi_endproc
	.size entry_\name, . - entry_\name
.endm

// The same for a hook with a usual way: struct hook_result hook_usual(a, b, c, island, frame), where of the frame only rbp and the return address are
// there. The other registers are pushed where that way ended before the original was called (edx = HOOK_NOT_BEGUN: hook() begins anew), or behind
// it (HOOK_NOT_RECORDED: hook_made(a, b, block, island, frame) goes on; the thread's guard stands).
.macro usual_hook name, arguments
	.balign 32
	.type entry_\name, @function
entry_\name:
	.cfi_startproc
	unless_active 1f
	push %rbp
	.cfi_adjust_cfa_offset 8
	sub $USUAL_SAVED, %rsp
	.cfi_adjust_cfa_offset USUAL_SAVED
	mov %r11, 16(%rsp)
	mov %rdi, 8(%rsp)
	.if \arguments > 1
	mov %rsi, (%rsp)
	.endif
	mov %r11, %rcx
	lea USUAL_SAVED - 40(%rsp), %r8
	call hook_\name\()_usual
	cmp $HOOK_DONE, %edx
	jne 2f
	add $USUAL_SAVED + 8, %rsp
	.cfi_adjust_cfa_offset -USUAL_SAVED - 8
	ret
	.cfi_adjust_cfa_offset USUAL_SAVED + 8
	// What arch_hook_runs looks for stands below, in the red zone, before the pushes overwrite what stood above.
2:	lea 1f(%rip), %r10
	mov %r10, USUAL_SAVED + 8 - 96(%rsp)
	mov 16(%rsp), %r11
	mov 8(%rsp), %rdi
	.if \arguments > 1
	mov (%rsp), %rsi
	.endif
	add $USUAL_SAVED, %rsp
	.cfi_adjust_cfa_offset -USUAL_SAVED
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

	usual_hook malloc, 1
	usual_hook calloc, 2
	usual_hook new, 2 // the second one is an alignment, or std::nothrow's address, if any
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
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %r11
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	lea 24(%rsp), %rsi
	mov %r11, %rdx
	call hook_before_free
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %r11
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
1:	to_trampoline
	.cfi_endproc
	.size entry_free, . - entry_free

// The general kinds: every register that may hold an argument is in struct call_frame, and the C code gets its address. 0 from it: the
// original runs in its place, as after those that never have a result (release, watched).
.macro general_hook name, has_result=1
	.balign 32
	.type entry_\name, @function
entry_\name:
	.cfi_startproc
	unless_active 1f
	push_entry_frame
	sub $88, %rsp // 80 of the frame, 8 for the alignment
	.cfi_adjust_cfa_offset 88
	mov %r9, 80(%rsp)
	mov %r8, 72(%rsp)
	mov %rcx, 64(%rsp)
	mov %rdx, 56(%rsp)
	mov %rsi, 48(%rsp)
	mov %rdi, 40(%rsp)
	mov %rax, 32(%rsp)
	mov %r11, 24(%rsp)
	lea 8(%rsp), %rdi
	call hook_\name
	.if \has_result
	test %al, %al
	je 2f
	mov 8(%rsp), %rax
	mov 16(%rsp), %rdx
	add $136, %rsp
	.cfi_adjust_cfa_offset -136
	ret
	.cfi_adjust_cfa_offset 136
	.endif
2:	mov 80(%rsp), %r9
	mov 72(%rsp), %r8
	mov 64(%rsp), %rcx
	mov 56(%rsp), %rdx
	mov 48(%rsp), %rsi
	mov 40(%rsp), %rdi
	mov 32(%rsp), %rax
	mov 24(%rsp), %r11
	add $136, %rsp
	.cfi_adjust_cfa_offset -136
1:	to_trampoline
	.cfi_endproc
	.size entry_\name, . - entry_\name
.endm

	general_hook allocate
	general_hook release, 0
	general_hook reallocate
	general_hook resize
	general_hook watched, 0

// Where a watched function returns: its last instructions have run in the island's trampoline, but for the return itself, and all registers are
// as its caller gets them. void hook_way_out(struct call_frame *), which finds the result in `rax`. Only r10 and r11 are changed, which the
// caller does not expect to keep (psABI).
	.balign 32
	.type entry_way_out, @function
entry_way_out:
	.cfi_startproc
	unless_active 1f
	push_entry_frame
	sub $88, %rsp
	.cfi_adjust_cfa_offset 88
	mov %r9, 80(%rsp)
	mov %r8, 72(%rsp)
	mov %rcx, 64(%rsp)
	mov %rdx, 56(%rsp)
	mov %rsi, 48(%rsp)
	mov %rdi, 40(%rsp)
	mov %rax, 32(%rsp)
	mov %r11, 24(%rsp)
	lea 8(%rsp), %rdi
	call hook_way_out
	mov 80(%rsp), %r9
	mov 72(%rsp), %r8
	mov 64(%rsp), %rcx
	mov 56(%rsp), %rdx
	mov 48(%rsp), %rsi
	mov 40(%rsp), %rdi
	mov 32(%rsp), %rax
	add $136, %rsp
	.cfi_adjust_cfa_offset -136
1:	ret
	.cfi_endproc
	.size entry_way_out, . - entry_way_out

// void arch_call(struct call_frame *frame, uint64_t function)
	.balign 32
	.globl arch_call
	.hidden arch_call
	.type arch_call, @function
arch_call:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	mov %rdi, %rbx
	mov %rsi, %r11
	mov 72(%rbx), %r9
	mov 64(%rbx), %r8
	mov 56(%rbx), %rcx
	mov 48(%rbx), %rdx
	mov 40(%rbx), %rsi
	mov 32(%rbx), %rdi
	mov 24(%rbx), %rax
	call *%r11
	mov %rax, (%rbx)
	mov %rdx, 8(%rbx)
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size arch_call, . - arch_call

// The dynamic loader calls an empty function (`ret`) for debuggers' sake; nothing of it is left to run. Its caller may have been
// compiled in the knowledge that the callee changes nothing, so every general register is kept.
	.balign 32
	.type entry_loader_event, @function
entry_loader_event:
	.cfi_startproc
	unless_active 1f
	push %rax
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	push %r8
	push %r9
	push %r10
	push %r11
	.cfi_adjust_cfa_offset 72
	call hook_loader_event
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %rax
	.cfi_adjust_cfa_offset -72
1:	ret
	.cfi_endproc
	.size entry_loader_event, . - entry_loader_event

	.section .note.GNU-stack, "", @progbits
