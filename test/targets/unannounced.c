// SPDX-License-Identifier: Apache-2.0
// A program that loads code in ways of its own. usage: unannounced own|loader LIBRARY
//   own     maps a library by itself; at the first line of input unmaps it and puts code at the same place, which
//           allocates. Nobody says so.
//   loader  at the first line of input opens a library whose ELF header is in no segment, and lets it allocate.
// Answers each line with "ok".
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE(address) ((address) & ~UINT64_C(4095))

static uint8_t *base;
static uint64_t size, text;

static void map_by_itself(const char *path)
{
	static _Alignas(8) uint8_t header[4096];
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)header;
	const Elf64_Phdr *segments;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || pread(fd, header, sizeof(header), 0) != sizeof(header))
		exit(2);
	segments = (const Elf64_Phdr *)(header + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			size = PAGE(segments[i].p_vaddr + segments[i].p_memsz + 4095);
	base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < elf->e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];
		uint64_t start = PAGE(segment->p_vaddr);

		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_flags & PF_X)
			text = start;
		mmap(base + start, PAGE(segment->p_vaddr + segment->p_filesz + 4095) - start,
		     PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : 0), MAP_PRIVATE | MAP_FIXED, fd,
		     (off_t)PAGE(segment->p_offset));
	}
	close(fd);
}

static bool allocate_in_its_place(void)
{
	// push %rbp; mov %rsp,%rbp; mov $12345,%edi; movabs $malloc,%rax; call *%rax; pop %rbp; ret
	uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xbf, 0x39, 0x30, 0,    0,    0x48, 0xb8, 0,
			   0,    0,    0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3 };
	uint64_t function = (uint64_t)malloc;
	void *place, *block;

	munmap(base, size);
	place = mmap(base + text, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(code + 11, &function, sizeof(function));
	memcpy(place, code, sizeof(code));
	mprotect(place, 4096, PROT_READ | PROT_EXEC);
	block = ((void *(*)(void))place)();
	return block != NULL;
}

static bool allocate_in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *(*allocate)(size_t) = library ? dlsym(library, "headless_allocate") : NULL;

	return allocate && allocate(12345);
}

int main(int argc, char **argv)
{
	char line[16];
	bool own = argc == 3 && strcmp(argv[1], "own") == 0, right;

	if (argc != 3)
		return 2;
	if (own)
		map_by_itself(argv[2]);
	puts("ready");
	fflush(stdout);
	for (int round = 0; fgets(line, sizeof(line), stdin); round++) {
		right = round > 0 || (own ? allocate_in_its_place() : allocate_in_library(argv[2]));
		free(malloc(10));
		puts(right ? "ok" : "wrong");
		fflush(stdout);
	}
	return 0;
}
