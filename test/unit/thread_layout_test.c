// SPDX-License-Identifier: Apache-2.0
// Where the C library keeps a thread's id: what its symbols say, from files made by hand; what is looked for in control
// blocks, in this process's memory.
#include "check.h"
#include "held_process.h"

#include "attach/arch/thread_pointer_code.h"
#include "attach/elf/libc_symbols.h"
#include "attach/region/thread_layout.h"

#include <stdlib.h>
#include <unistd.h>

enum { SYMBOLS_MAX = 6, WORDS = 32 };

// A file of one segment, with a symbol table.
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3]; // none, symbols, their names
	Elf64_Sym symbols[1 + SYMBOLS_MAX];
	char names[SYMBOLS_MAX * 32];
	uint32_t values[SYMBOLS_MAX][4];
};

struct made_symbol {
	const char *name;
	uint32_t values[4]; // what stands there
};

static void make_image(const struct made_symbol *symbols, uint32_t table, struct image *ret)
{
	*ret = (struct image){
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_phoff = offsetof(struct image, segment),
			    .e_shoff = offsetof(struct image, sections),
			    .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1,
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3 },
		.segment = { .p_type = PT_LOAD,
			     .p_flags = PF_R,
			     .p_filesz = sizeof(*ret),
			     .p_memsz = sizeof(*ret),
			     .p_align = 8 },
	};
	ret->sections[1] = (Elf64_Shdr){ .sh_type = table,
					 .sh_offset = offsetof(struct image, symbols),
					 .sh_size = sizeof(ret->symbols),
					 .sh_link = 2,
					 .sh_entsize = sizeof(Elf64_Sym) };
	ret->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct image, names),
					 .sh_size = sizeof(ret->names) };
	for (size_t i = 0; i < SYMBOLS_MAX && symbols[i].name; i++) {
		const bool is_data = strncmp(symbols[i].name, "_thread_db_", 11) == 0;

		snprintf(ret->names + i * 32, 32, "%s", symbols[i].name);
		memcpy(ret->values[i], symbols[i].values, sizeof(ret->values[i]));
		ret->symbols[1 + i] =
			(Elf64_Sym){ .st_name = (Elf64_Word)(i * 32),
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, is_data ? STT_OBJECT : STT_FUNC),
				     .st_shndx = 1,
				     .st_value = offsetof(struct image, values) + i * sizeof(ret->values[0]),
				     .st_size = sizeof(ret->values[0]) };
	}
}

#define GLIBC(bits, number, offset, size)                                                                              \
	{ "_thread_db_pthread_tid", { bits, number, offset } },                                                        \
	{                                                                                                              \
		"_thread_db_sizeof_pthread", { size }                                                                  \
	}

// Longer than 60 lines: a table of cases.
static void test_symbols(void)
{
	static const struct {
		const char *what;
		struct made_symbol symbols[SYMBOLS_MAX];
		uint32_t table;
		bool is_main, is_loader, is_vdso;
		enum libc_kind libc;
		uint64_t tid_offset, tcb_size;
	} cases[] = {
		{ "glibc", { GLIBC(32, 1, 720, 2304) }, SHT_SYMTAB, false, false, false, LIBC_glibc, 720, 2304 },
		{ "glibc, stripped",
		  { GLIBC(32, 1, 720, 2304) },
		  SHT_DYNSYM,
		  false,
		  false,
		  false,
		  LIBC_glibc,
		  720,
		  2304 },
		{ "the id at the block's end",
		  { GLIBC(32, 1, 2300, 2304) },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_glibc,
		  2300,
		  2304 },
		{ "half of the id behind it",
		  { GLIBC(32, 1, 2301, 2304) },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "the id far behind it",
		  { GLIBC(32, 1, UINT32_MAX, 2304) },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "a block that has no room for an id",
		  { GLIBC(32, 1, 1, 3) },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "an id of another size",
		  { GLIBC(64, 1, 720, 2304) },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "several ids", { GLIBC(32, 2, 720, 2304) }, SHT_SYMTAB, false, false, false, LIBC_unknown, 0, 0 },
		{ "one symbol alone",
		  { { "_thread_db_pthread_tid", { 32, 1, 720 } } },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "musl",
		  { { "__dls2b", { 0 } }, { "__dls3", { 0 } } },
		  SHT_DYNSYM,
		  false,
		  true,
		  false,
		  LIBC_musl,
		  0,
		  128 },
		{ "one function of musl's loader",
		  { { "__dls2b", { 0 } } },
		  SHT_DYNSYM,
		  false,
		  true,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "the other one", { { "__dls3", { 0 } } }, SHT_DYNSYM, false, true, false, LIBC_unknown, 0, 0 },
		{ "such names that nobody else can see",
		  { { "__dls2b", { 0 } }, { "__dls3", { 0 } } },
		  SHT_SYMTAB,
		  false,
		  true,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "such names in a library",
		  { { "__dls2b", { 0 } }, { "__dls3", { 0 } } },
		  SHT_DYNSYM,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "musl, static",
		  { { "__init_tp", { 0 } }, { "__copy_tls", { 0 } }, { "__pthread_tsd_size", { 0 } } },
		  SHT_SYMTAB,
		  true,
		  false,
		  false,
		  LIBC_musl,
		  0,
		  128 },
		{ "two of the three",
		  { { "__init_tp", { 0 } }, { "__copy_tls", { 0 } } },
		  SHT_SYMTAB,
		  true,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "all three, in a library",
		  { { "__init_tp", { 0 } }, { "__copy_tls", { 0 } }, { "__pthread_tsd_size", { 0 } } },
		  SHT_SYMTAB,
		  false,
		  false,
		  false,
		  LIBC_unknown,
		  0,
		  0 },
		{ "the vdso", { GLIBC(32, 1, 720, 2304) }, SHT_DYNSYM, false, false, true, LIBC_unknown, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		// By itself, and before a library that can be believed.
		static const struct made_symbol good[SYMBOLS_MAX] = { GLIBC(32, 1, 100, 200) };
		static struct image images[2];
		struct module items[2] = {
			{ .is_main = cases[i].is_main, .is_loader = cases[i].is_loader, .is_vdso = cases[i].is_vdso }
		};
		bool believed = cases[i].libc != LIBC_unknown;

		make_image(cases[i].symbols, cases[i].table, &images[0]);
		make_image(good, SHT_DYNSYM, &images[1]);
		for (size_t count = 1; count <= 2; count++) {
			struct module_list list = { .items = items, .count = count };

			for (size_t j = 0; j < count; j++)
				CHECK(elf_view_init(&images[j], sizeof(images[j]), &items[j].elf) == NULL);
			libc_symbols_read(&list);
			if (list.libc != (believed || count == 1 ? cases[i].libc : LIBC_glibc))
				fprintf(stderr, "%s:\n", cases[i].what);
			CHECK_EQUAL(list.libc, believed || count == 1 ? cases[i].libc : LIBC_glibc);
			CHECK_EQUAL(list.tid_offset, believed || count == 1 ? cases[i].tid_offset : 100);
			CHECK_EQUAL(list.tcb_size, believed || count == 1 ? cases[i].tcb_size : 200);
			for (size_t j = 0; j < count; j++)
				elf_view_deinit(&items[j].elf);
		}
	}
}

// Threads that are not there, with numbers that no thread has; their control blocks lie in this process.
enum { THREADS_MAX = 3, FIRST_TID = 0x40000001 };

struct block {
	_Alignas(8) uint32_t words[WORDS];
};

static struct payload_config configure(struct block *blocks, size_t count, enum libc_kind libc, uint64_t tid_offset,
				       uint64_t tcb_size)
{
	struct frozen_thread threads[THREADS_MAX] = { 0 };
	struct frozen_process process = { .process = held_process(FIRST_TID), .threads = threads, .count = count };
	const struct module_list modules = { .libc = libc, .tid_offset = tid_offset, .tcb_size = tcb_size };
	const struct target_info target = { .pid = FIRST_TID };
	struct payload_config config = { 0 };
	struct target_memory memory;
	struct proc_maps maps;

	CHECK(proc_maps_read(held_process(getpid()), &maps) == NULL);
	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	for (size_t i = 0; i < count; i++) {
		threads[i].tid = FIRST_TID + (pid_t)i;
		// a thread without one
		threads[i].registers.fs_base = blocks[i].words[1] == UINT32_MAX ? 0 : (uint64_t)blocks[i].words;
	}
	thread_layout_configure(&target, &maps, &modules, &memory, &process, &config);
	target_memory_close(&memory);
	proc_maps_deinit(&maps);
	return config;
}

// What stands in a thread's block, besides its own address at the beginning.
struct made_block {
	unsigned ids[3]; // words that hold its id; 0 = no more
	enum { LIBCS, NOT_LIBCS, WITHOUT_POINTER } kind;
};

static void fill(const struct made_block *made, size_t index, struct block *ret)
{
	const uint64_t address = (uint64_t)ret->words + (made->kind == NOT_LIBCS);

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->words, &address, sizeof(address));
	for (size_t i = 0; i < 3 && made->ids[i]; i++)
		ret->words[made->ids[i]] = FIRST_TID + (uint32_t)index;
	if (made->kind == WITHOUT_POINTER)
		ret->words[1] = UINT32_MAX;
}

// musl's library does not say where: it is where every thread's id stands, if that is one place.
static void test_search(void)
{
	static const struct {
		const char *what;
		size_t count;
		struct made_block blocks[THREADS_MAX];
		uint64_t tid_offset;
	} cases[] = {
		{ "one place", 1, { { { 14 }, LIBCS } }, 56 },
		{ "the last word", 1, { { { 31 }, LIBCS } }, 124 },
		{ "two places, of which one is a word that happens to hold the id", 1, { { { 14, 20 }, LIBCS } }, 0 },
		{ "the other one lies before it", 1, { { { 6, 14 }, LIBCS } }, 0 },
		{ "another thread tells them apart", 2, { { { 14, 20 }, LIBCS }, { { 14 }, LIBCS } }, 56 },
		{ "and in the other order", 2, { { { 20 }, LIBCS }, { { 6, 20, 21 }, LIBCS } }, 80 },
		{ "two places in both", 2, { { { 14, 20 }, LIBCS }, { { 14, 20, 21 }, LIBCS } }, 0 },
		{ "no place that both have", 2, { { { 14 }, LIBCS }, { { 20 }, LIBCS } }, 0 },
		{ "no place", 1, { { { 0 }, LIBCS } }, 0 },
		{ "a thread that the library has not made", 2, { { { 14 }, LIBCS }, { { 20 }, NOT_LIBCS } }, 56 },
		{ "a thread that has no pointer yet",
		  3,
		  { { { 0 }, WITHOUT_POINTER }, { { 14, 20 }, LIBCS }, { { 14 }, LIBCS } },
		  56 },
		{ "none that the library has made", 2, { { { 14 }, NOT_LIBCS }, { { 14 }, WITHOUT_POINTER } }, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct block blocks[THREADS_MAX];
		uint64_t found;

		for (size_t j = 0; j < cases[i].count; j++)
			fill(&cases[i].blocks[j], j, &blocks[j]);
		found = configure(blocks, cases[i].count, LIBC_musl, 0, sizeof(blocks[0])).tid_offset;
		if (found != cases[i].tid_offset)
			fprintf(stderr, "%s:\n", cases[i].what);
		CHECK_EQUAL(found, cases[i].tid_offset);
		// not musl's block
		CHECK_EQUAL(configure(blocks, cases[i].count, LIBC_musl, 0, sizeof(blocks[0]) - 8).tid_offset, 0);
		CHECK_EQUAL(configure(blocks, cases[i].count, LIBC_unknown, 56, sizeof(blocks[0])).tid_offset, 0);
	}
}

// What glibc's symbols say must hold in some thread: its library may be another than the one that runs.
static void test_glibc(void)
{
	const struct made_block made[] = { { { 14 }, LIBCS }, { { 20 }, LIBCS } };
	struct block blocks[2];
	struct payload_config config;

	for (size_t i = 0; i < 2; i++)
		fill(&made[i], i, &blocks[i]);
	CHECK_EQUAL(configure(blocks, 2, LIBC_glibc, 56, sizeof(blocks[0])).tid_offset, 56);
	CHECK_EQUAL(configure(blocks, 2, LIBC_glibc, 80, sizeof(blocks[0])).tid_offset, 80);
	CHECK_EQUAL(configure(blocks, 1, LIBC_glibc, 80, sizeof(blocks[0])).tid_offset, 0);
	CHECK_EQUAL(configure(blocks, 2, LIBC_glibc, 60, sizeof(blocks[0])).tid_offset, 0);
	config = configure(blocks, 2, LIBC_glibc, 56, sizeof(blocks[0]));
	CHECK_EQUAL(config.libc, LIBC_glibc);
	CHECK_EQUAL(config.tcb_size, sizeof(blocks[0]));
	CHECK_EQUAL(config.main_thread_pointer, (uint64_t)blocks[0].words);
	CHECK_EQUAL(config.main_tid, FIRST_TID);
	blocks[0].words[0]++; // no control block of the library
	CHECK_EQUAL(configure(blocks, 2, LIBC_glibc, 56, sizeof(blocks[0])).main_thread_pointer, 0);
}

// Two threads of one pointer, wherever they stand in the list.
static void test_shared_pointer(void)
{
	static uint64_t blocks[4];
	const unsigned cases[][THREADS_MAX] = { { 0, 1, 2 }, { 0, 0, 1 }, { 1, 1, 0 }, { 0, 1, 0 },
						{ 1, 0, 1 }, { 0, 1, 1 }, { 2, 2, 2 } };
	struct target_memory memory;

	CHECK(target_memory_open(held_process(getpid()), &memory) == NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frozen_thread threads[THREADS_MAX] = { 0 };
		const struct frozen_process process = { .process = held_process(FIRST_TID),
							.threads = threads,
							.count = THREADS_MAX };
		struct hs_error *error;

		for (size_t j = 0; j < THREADS_MAX; j++) {
			blocks[cases[i][j]] = (uint64_t)&blocks[cases[i][j]];
			threads[j].tid = FIRST_TID + (pid_t)j;
			threads[j].registers.fs_base = (uint64_t)&blocks[cases[i][j]];
		}
		error = thread_layout_check(&memory, &process);
		CHECK(i == 0 ? !error
			     : error && error->code == HS_ERROR_REFUSED &&
				       strstr(error->message, "have the same thread pointer"));
		hs_error_destroy(error);
	}
	if (thread_pointer_code_is_allowed()) { // threads without one allocate nothing that could be mixed up
		struct frozen_thread threads[2] = { { .tid = FIRST_TID }, { .tid = FIRST_TID + 1 } };
		const struct frozen_process process = { .process = held_process(FIRST_TID),
							.threads = threads,
							.count = 2 };

		CHECK(!thread_layout_check(&memory, &process));
	}
	target_memory_close(&memory);
}

// What heapsnap cannot record of: said, and refused where it is all, unless a C library may yet give them one.
static void test_unseen(void)
{
	static const struct {
		uint64_t pointers[THREADS_MAX];
		size_t unseen;
	} cases[] = { { { 64, 128, 192 }, 0 }, { { 0, 128, 192 }, 1 }, { { 64, 0, 0 }, 2 }, { { 0, 0, 0 }, 3 } };
	static const enum libc_kind kinds[] = { LIBC_unknown, LIBC_glibc, LIBC_musl };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frozen_thread threads[THREADS_MAX] = { 0 };
		const struct frozen_process process = { .process = held_process(FIRST_TID),
							.threads = threads,
							.count = THREADS_MAX };

		for (size_t j = 0; j < THREADS_MAX; j++)
			threads[j].registers.fs_base = cases[i].pointers[j];
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			size_t unseen;
			struct hs_error *error = thread_layout_count_unseen(kinds[k], &process, &unseen);

			CHECK_EQUAL(unseen, cases[i].unseen);
			CHECK_EQUAL(error != NULL, unseen == THREADS_MAX && kinds[k] == LIBC_unknown);
			CHECK(!error || (error->code == HS_ERROR_REFUSED && strstr(error->message, "thread pointer")));
			hs_error_destroy(error);
		}
	}
}

int main(void)
{
	test_symbols();
	test_search();
	test_glibc();
	test_shared_pointer();
	test_unseen();
	return CHECK_RESULT();
}
