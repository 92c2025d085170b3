// SPDX-License-Identifier: Apache-2.0
// Makes code of its own that calls malloc, as a JIT does, with frame pointers and without unwind information, and names
// it in /tmp/perf-PID.map (the folder can be given). Prints "ready", then on each line of input allocates a block and
// answers "done".
//
// With FAR_CODE its own code is in two segments with a hole between them, as node's is.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void *made_function(void);

enum { INNER = 0, OUTER = 64, SIZE = 4096 };

// push %rbp; mov %rsp,%rbp; [mov $size,%edi;] movabs $callee,%rax; call *%rax; pop %rbp; ret
static void make(uint8_t *code, uint32_t size, uintptr_t callee)
{
	static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5 }, end[] = { 0xff, 0xd0, 0x5d, 0xc3 };

	memcpy(code, begin, sizeof(begin));
	code += sizeof(begin);
	*code++ = 0xbf;
	memcpy(code, &size, 4);
	code += 4;
	*code++ = 0x48;
	*code++ = 0xb8;
	memcpy(code, &callee, 8);
	memcpy(code + 8, end, sizeof(end));
}

#ifdef FAR_CODE
__attribute__((section(".far"), used)) static void far_code(void) {}
#endif

int main(int argc, char **argv)
{
	uint8_t *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[256], line[64];
	FILE *map;

	make(code + INNER, 12345, (uintptr_t)malloc);
	make(code + OUTER, 0, (uintptr_t)code + INNER);
	if (mprotect(code, SIZE, PROT_READ | PROT_EXEC) != 0)
		return 2;
	snprintf(path, sizeof(path), "%s/perf-%d.map", argc > 1 ? argv[1] : "/tmp", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		return 3;
	fprintf(map, "%lx 40 made_inner\n%lx 40 made_outer (with a space)\n", (unsigned long)(code + INNER),
		(unsigned long)(code + OUTER));
	fclose(map);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!((made_function *)(uintptr_t)(code + OUTER))())
			return 4;
		puts("done");
		fflush(stdout);
	}
	unlink(path);
	return 0;
}
