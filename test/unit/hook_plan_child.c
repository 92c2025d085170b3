// SPDX-License-Identifier: Apache-2.0
// What hook_plan_test plans hooks for: says "ready", then waits until its input ends. Built several times:
//   OWN_ALLOCATOR 1  brings its own malloc, with landing pads
//   OWN_ALLOCATOR 2  brings one whose free branches into its own first bytes
//   NO_ALLOCATOR     no libc, no allocation function
#ifdef NO_ALLOCATOR
__asm__(".globl _start\n"
	"_start: movl $1, %eax\n movl $1, %edi\n leaq text(%rip), %rsi\n movl $1, %edx\n syscall\n"
	"1: xorl %eax, %eax\n xorl %edi, %edi\n leaq -64(%rsp), %rsi\n movl $1, %edx\n syscall\n"
	"testq %rax, %rax\n jg 1b\n"
	"movl $231, %eax\n xorl %edi, %edi\n syscall\n"
	"text: .ascii \"r\"\n");
#else
#include <stdlib.h>
#include <unistd.h>

#ifdef OWN_ALLOCATOR
// Hands out parts of one array and never takes them back.
#define FUNCTION(name, body)                                                                       \
	__asm__(".pushsection .text\n.balign 16\n.globl " name "\n.type " name ", @function\n"     \
		name ": endbr64\n" body "\n.size " name ", .-" name "\n.popsection\n")

__attribute__((used)) static char own_memory[1 << 20];
__attribute__((used)) static char *own_next = own_memory;

FUNCTION("malloc", "addq $31, %rdi\n andq $-16, %rdi\n movq own_next(%rip), %rax\n addq %rdi, own_next(%rip)\n ret");
FUNCTION("calloc", "imulq %rsi, %rdi\n jmp malloc");
FUNCTION("realloc", "movq %rsi, %rdi\n movl $0, %eax\n jmp malloc");
// C23's; the last one only leads to free.
FUNCTION("free_sized", "movq %rsi, %rax\n testq %rdi, %rdi\n ret");
FUNCTION("free_aligned_sized", "movq %rdx, %rax\n testq %rdi, %rdi\n ret");
FUNCTION("cfree", "jmp free");
// Believed only beside the rest of their families.
FUNCTION("rallocx", "movq %rsi, %rax\n testq %rdi, %rdi\n ret");
FUNCTION("mi_zalloc", "movq %rsi, %rax\n testq %rdi, %rdi\n ret");
#if OWN_ALLOCATOR == 1
FUNCTION("free", "movq %rdi, %rax\n testq %rax, %rax\n ret");
#else
FUNCTION("free", "nop\n 1: movq %rdi, %rax\n testq %rax, %rax\n js 1b\n ret");
#endif
#endif

int main(void)
{
	void *block = malloc(100);
	char byte;

	block = realloc(block, 200);
	free(block);
	if (write(1, "r", 1) != 1)
		return 1;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
#endif
