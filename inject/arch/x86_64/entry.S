// SPDX-License-Identifier: Apache-2.0
// The head of the payload image and the entries of its hooks.
//
// A patched function jumps to an island's stub, which comes here with r11 = address of its struct hook_island and all
// other registers as the caller of the function left them. r10 and r11 are free at a function's entry (psABI: r10 static
// chain, unused by C; r11 scratch).

#define ISLAND_TRAMPOLINE 32   // HS_ISLAND_TRAMPOLINE_OFFSET; test/artifact compares the numbers here with the headers

	.section .head, "ax", @progbits
	.globl payload_header
	.hidden payload_header
	.type payload_header, @object
payload_header:
	.quad 0x44414f4c59415053          // magic
	.long 2                            // abi_version
	.long payload_image_end - payload_header
	.long entry_malloc - payload_header
	.long entry_calloc - payload_header
	.long entry_realloc - payload_header
	.long entry_reallocarray - payload_header
	.long entry_free - payload_header
	.long entry_posix_memalign - payload_header
	.long entry_memalign - payload_header
	.long entry_pvalloc - payload_header
	.long entry_loader_event - payload_header
	.zero 7 * 4
	.long gadget_syscall - payload_header
	.long gadget_sigreturn - payload_header
	.zero 8
config:
	.quad 0                            // region
config_state:
	.quad 0                            // state
	.zero 14 * 8
	.size payload_header, . - payload_header

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

// A hook that calls the original itself: uint64_t hook(a, b, c, island, frame).
.macro calling_hook name
	.balign 32
	.type entry_\name, @function
entry_\name:
	.cfi_startproc
	unless_active 1f
	push %rbp
	.cfi_adjust_cfa_offset 8
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
	mov %r11, %rcx
	mov %rsp, %r8
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call hook_\name
	add $56, %rsp               // the C code has kept the callee-saved registers
	.cfi_adjust_cfa_offset -56
	ret
1:	lea ISLAND_TRAMPOLINE(%r11), %r11
	jmp *%r11
	.cfi_endproc
	.size entry_\name, . - entry_\name
.endm

	calling_hook malloc
	calling_hook calloc
	calling_hook realloc
	calling_hook reallocarray
	calling_hook posix_memalign
	calling_hook memalign
	calling_hook pvalloc

// A hook that does its work first and leaves by the trampoline, so that no frame of ours is on the stack while the original
// runs: void before(a, frame address).
	.balign 32
	.type entry_free, @function
entry_free:
	.cfi_startproc
	unless_active 1f
	mov %rsp, %rax
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %r11
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	mov %rax, %rsi
	call hook_before_free
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %r11
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
1:	lea ISLAND_TRAMPOLINE(%r11), %r11
	jmp *%r11
	.cfi_endproc
	.size entry_free, . - entry_free

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
