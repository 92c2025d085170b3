// SPDX-License-Identifier: Apache-2.0
// What return_proof_test plans hooks for: says "r", then waits until its input ends. Functions that make blocks; what
// each does besides is what its name says. LIBRARY: a library with a memcpy of its own, which is a cancellation point,
// and with a helper that is none. HELPED: a function that calls it.
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#ifdef LIBRARY
void help(void *block) { *(volatile char *)block = 1; }

void *memcpy(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	if (size == 999 && read(0, to, 1) != 1)
		return NULL;
	return to;
}
#else
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FUNCTION __attribute__((noipa))
#define STAY()   __asm__ volatile("" ::: "memory") // no tail call

static char memory[1 << 16], *next = memory;
static char source[256];
static volatile int told;

FUNCTION void *calm(size_t size)
{
	char *block = next;

	for (size_t i = 0; i < size; i++)
		block[i] = 1;
	next += size;
	return block;
}

FUNCTION void *ends(size_t size)
{
	if (next + size > memory + sizeof(memory))
		abort();
	next += size;
	return next - size;
}

FUNCTION void *maps(size_t size)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return block == MAP_FAILED ? NULL : block;
}

FUNCTION void *mallocs(size_t size)
{
	char *block = malloc(size + 16);

	return block ? block + 16 : NULL;
}

FUNCTION void *copies(size_t size)
{
	void *block = size > sizeof(memory) ? NULL : calm(size);

	if (block)
		memcpy(block, source, size < sizeof(source) ? size : sizeof(source));
	STAY();
	return block;
}

FUNCTION void *recurses(size_t size)
{
	void *block = size > 100 ? recurses(size / 2) : next;

	STAY();
	return block;
}

FUNCTION volatile void *by_pointer_argument(size_t size, void **block)
{
	if (size > sizeof(memory))
		return &told;
	*block = calm(size);
	STAY();
	return NULL;
}

static FUNCTION void reads_byte(void)
{
	char byte;

	if (read(0, &byte, 1) != 1)
		told = 2;
}

FUNCTION void *reads(size_t size)
{
	char byte;

	if (told && read(0, &byte, 1) != 1)
		told = 2;
	return calm(size) ? next : NULL;
}

FUNCTION void *helper_reads(size_t size)
{
	if (told)
		reads_byte();
	return calm(size) ? next : NULL;
}

static int compare(const void *left, const void *right) { return *(const char *)left - *(const char *)right; }

FUNCTION void *sorts(size_t size)
{
	qsort(source, size < sizeof(source) ? size : sizeof(source), 1, compare);
	STAY();
	return next;
}

static void *(*volatile pointer)(size_t) = calm;

FUNCTION void *by_pointer(size_t size)
{
	void *block = pointer(size);

	STAY();
	return block;
}

FUNCTION void *jumps(size_t size) { return pointer(size); }

FUNCTION int reads_and_puts(size_t size, void **block)
{
	if (told)
		reads_byte();
	*block = calm(size);
	return 0;
}

// rt_sigreturn, for all that is known.
FUNCTION void *calls_kernel(size_t size)
{
	long result = 39;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	if (result)
		calm(size);
	STAY();
	return next + size;
}

// A call through a register, as compilers make it that shun indirect branches: the target is put where the return
// address was.
__asm__(".pushsection .text\n.globl thunks\n.type thunks, @function\nthunks:\n push %rbx\n lea calm(%rip), %rax\n call thunk\n mov %rax, %rbx\n mov %rbx, %rax\n"
	" pop %rbx\n ret\n.size thunks, .-thunks\n"
	".type thunk, @function\nthunk:\n call 1f\n2: pause\n jmp 2b\n1: mov %rax, (%rsp)\n ret\n.size thunk, .-thunk\n.popsection\n");

FUNCTION void *traps(size_t size)
{
	char byte;

	if (told) {
		__asm__ volatile("int3");
		if (read(0, &byte, 1) != 1)
			told = 2;
	}
	return calm(size) ? next : NULL;
}

FUNCTION void *asks_caller(size_t size)
{
	source[0] = (char)(size_t)__builtin_return_address(0);
	return calm(size) ? next : NULL;
}

FUNCTION void *eight(size_t size, long b, long c, long d, long e, long f, long g, long h)
{
	source[0] = (char)(b + c + d + e + f + g + h);
	return calm(size) ? next : NULL;
}

FUNCTION void *varied(size_t size, int count, ...)
{
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		source[0] = (char)va_arg(list, int);
	va_end(list);
	return calm(size) ? next : NULL;
}

FUNCTION void *calls_eight(size_t size)
{
	void *block = eight(size, 1, 2, 3, 4, 5, 6, 7);

	STAY();
	return block;
}

FUNCTION void *jumps_and_asks(size_t size)
{
	if (!told)
		return pointer(size);
	source[0] = (char)(size_t)__builtin_return_address(0);
	return pointer(size + 1);
}

// As `eight`, with other registers.
__asm__(".pushsection .text\n.globl jumps_to_eight\n.type jumps_to_eight, @function\njumps_to_eight:\n mov %rsi, %rdx\n mov %rsi, %rcx\n jmp eight\n"
	".size jumps_to_eight, .-jumps_to_eight\n.popsection\n");

#ifdef HELPED
void help(void *block);

FUNCTION void *helped(size_t size)
{
	help(next);
	STAY();
	return next + size;
}
#endif

int main(void)
{
	char byte;

	if (write(1, "r", 1) != 1)
		return 1;
	return read(0, &byte, 1) > 0;
}
#endif
