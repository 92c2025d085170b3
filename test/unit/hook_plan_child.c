// SPDX-License-Identifier: Apache-2.0
// What hook_plan_test plans hooks for: says "ready", then waits until its input ends. Built several times:
//   OWN_ALLOCATOR 1  brings its own malloc, with landing pads
//   OWN_ALLOCATOR 2  brings one whose free branches into its own first bytes
//   OWN_ALLOCATOR 3  brings functions that cannot be hooked for what is around them; the rest can
//   PREFIXED         and beside it something of a jemalloc whose names have a prefix
//   NO_ALLOCATOR     no libc, no allocation function, but the note that glibc's start files leave, as FreePascal's do
#ifdef NO_ALLOCATOR
__asm__(".section .note.ABI-tag, \"a\", @note\n .long 4, 16, 1\n .asciz \"GNU\"\n .long 0, 2, 4, 0\n .text\n"
	".globl _start\n .type _start, @function\n"
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
#define FUNCTION(name, body)                                                                                           \
	__asm__(".pushsection .text\n.balign 16\n.globl " name "\n.type " name ", @function\n" name ": endbr64\n" body \
		"\n.size " name ", .-" name "\n.popsection\n")

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
#ifdef PREFIXED
FUNCTION("own_mallctlnametomib", "movq %rsi, %rax\n testq %rdi, %rdi\n ret");
#endif
#if OWN_ALLOCATOR != 2
FUNCTION("free", "movq %rdi, %rax\n testq %rax, %rax\n ret");
#else
FUNCTION("free", "nop\n 1: movq %rdi, %rax\n testq %rax, %rax\n js 1b\n ret");
#endif
#if OWN_ALLOCATOR == 3
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>

// Somebody jumps behind the landing pad.
FUNCTION("memalign", "movq %rsi, %rdi\n xorl %eax, %eax\n ret");
FUNCTION("jumps_in", "nop\n .byte 0xe9\n .long memalign + 4 - . - 4"); // jmp rel32
FUNCTION("reallocarray", "movq %rsi, %rdi\n xorl %eax, %eax\n ret");
FUNCTION("jumps_in_if", "nop\n .byte 0x0f, 0x85\n .long reallocarray + 4 - . - 4"); // jne rel32
// Has a second entry, which is a function of its own, among the bytes that a jump would take.
FUNCTION(
	"valloc",
	"xorl %eax, %eax\n .globl inner\n .type inner, @function\n inner: movq %rdi, %rax\n movq %rax, %rax\n ret\n .size inner, .-inner");
// The bytes that a jump would take lie on two pages; those of the next one end with the page.
#define AT_PAGE_END(name, distance)                                                                                    \
	__asm__(".pushsection .text\n.p2align 12\n.skip 4096 - " #distance ", 0xcc\n.globl " name "\n.type " name      \
		", @function\n" name                                                                                   \
		": movq %rdi, %rax\n xorl %ecx, %ecx\n xorl %ecx, %ecx\n xorl %ecx, %ecx\n ret\n .size " name          \
		", .-" name "\n.popsection\n")
AT_PAGE_END("pvalloc", 4);
AT_PAGE_END("aligned_alloc", 5);
// Alone on its page, which is a shared mapping of the file.
__asm__(".pushsection .text\n.p2align 12\n.globl posix_memalign\n.type posix_memalign, @function\n"
	"posix_memalign: movl $12, %eax\n movl $12, %eax\n ret\n.size posix_memalign, .-posix_memalign\n.p2align 12\n.popsection\n");

extern const ElfW(Ehdr) __ehdr_start;
extern const char shared_function[] __asm__("posix_memalign");

static int share_page(void)
{
	const ElfW(Phdr) *segment = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
	const uint64_t vaddr = (uint64_t)shared_function - (uint64_t)&__ehdr_start; // of a program that is linked to 0
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	while (segment->p_type != PT_LOAD || vaddr - segment->p_vaddr >= segment->p_memsz)
		segment++;
	return mmap((void *)(uintptr_t)shared_function, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd,
		    (off_t)(segment->p_offset + vaddr - segment->p_vaddr)) != shared_function;
}
#else
static int share_page(void) { return 0; }
#endif
#else
static int share_page(void) { return 0; }
#endif

int main(void)
{
	void *block = malloc(100);
	char byte;

	if (share_page())
		return 2;

	block = realloc(block, 200);
	free(block);
	if (write(1, "r", 1) != 1)
		return 1;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
#endif
