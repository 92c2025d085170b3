// SPDX-License-Identifier: Apache-2.0
// How a Go program is known, on files made by hand: by its section (that is what the linkings test sees), by its note,
// by what stands in its data; and bytes that are none of these.
#include "check.h"

#include "attach/elf/program_kind.h"

#include <stdlib.h>

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	uint32_t note[8]; // name size, text size, type, name, text
	char data[64];
};

static struct file make_file(void)
{
	const uint64_t note = offsetof(struct file, note), data = offsetof(struct file, data);
	struct file file = {
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC,
			    .e_machine = EM_X86_64,
			    .e_phoff = offsetof(struct file, segments),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 4 },
		.segments = { { .p_type = PT_LOAD,
				.p_flags = PF_R,
				.p_vaddr = 0x400000,
				.p_filesz = data,
				.p_memsz = data },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_W,
				.p_vaddr = 0x401000 + data,
				.p_offset = data,
				.p_filesz = 64,
				.p_memsz = 64 },
			      { .p_type = PT_NOTE,
				.p_vaddr = 0x400000 + note,
				.p_offset = note,
				.p_filesz = 32,
				.p_memsz = 32,
				.p_align = 4 } },
		.note = { 4, 16, 4, 0x6f47 }, // "Go"
	};

	return file;
}

static bool is_go(const struct file *file)
{
	struct elf_view elf;
	bool answer;

	CHECK(elf_view_init(file, sizeof(*file), &elf) == NULL);
	answer = program_is_go(&elf);
	elf_view_deinit(&elf);
	return answer;
}

// The process's own executable, and another one that is loaded in it.
static bool is_run_by_another(struct file files[2], bool has_code)
{
	static char path[] = "another";
	struct module modules[2] = {
		{ .is_main = true }, { .path = path, .text_low = 0x400000, .text_high = has_code ? 0x401000 : 0x400000 }
	};
	const struct module_list list = { .items = modules, .count = 2 };
	const char *found;

	for (size_t i = 0; i < 2; i++)
		CHECK(elf_view_init(&files[i], sizeof(files[i]), &modules[i].elf) == NULL);
	found = program_run_by_another(&list);
	CHECK(!found || found == path);
	for (size_t i = 0; i < 2; i++)
		elf_view_deinit(&modules[i].elf);
	return found;
}

// What else is loaded cannot be read.
static bool is_run_by_unread(struct file *file)
{
	static char path[] = "unread";
	struct module own = { .is_main = true };
	struct unread_module unread = { .path = path };
	const struct module_list list = { .items = &own, .count = 1, .unread = &unread, .unread_count = 1 };
	const char *found;

	CHECK(elf_view_init(file, sizeof(*file), &own.elf) == NULL);
	found = program_run_by_another(&list);
	CHECK(!found || found == path);
	elf_view_deinit(&own.elf);
	return found;
}

static void ask_for_loader(struct file *file) { file->segments[2].p_type = PT_INTERP; }

// Its data is the table of the dynamic loader, with a name in it.
static void make_library(struct file *file)
{
	const Elf64_Dyn name = { .d_tag = DT_SONAME, .d_un.d_val = 1 };

	file->segments[3] = file->segments[1];
	file->segments[3].p_type = PT_DYNAMIC;
	memcpy(file->data, &name, sizeof(name));
}

static void test_run_by_another(void)
{
	struct file files[2] = { make_file(), make_file() };

	CHECK(!is_run_by_another(files, true)); // a static program with another in its memory, both alone
	CHECK(is_run_by_unread(&files[0]));
	ask_for_loader(&files[1]);
	CHECK(is_run_by_another(files, true));
	CHECK(!is_run_by_another(files, false)); // only read
	make_library(&files[0]);                 // the loader, given the program
	CHECK(!is_run_by_another(files, true));
	CHECK(!is_run_by_unread(&files[0]));
	files[0] = make_file();
	ask_for_loader(&files[0]);
	CHECK(!is_run_by_another(files, true));
	CHECK(!is_run_by_unread(&files[0])); // it has libraries of its own
	files[0] = make_file();
	make_library(&files[1]); // a C library that can be run, loaded by a static program
	CHECK(!is_run_by_another(files, true));
	CHECK(program_run_by_another(&(struct module_list){ 0 }) == NULL);
}

static void test_static(void)
{
	struct file file = make_file();
	struct module modules[3] = { { .is_main = true }, { .is_vdso = true }, { .is_loader = true } };
	struct module_list list = { .items = modules, .count = 2 };

	CHECK(elf_view_init(&file, sizeof(file), &modules[0].elf) == NULL);
	CHECK(program_is_static(&list));
	list.count = 3; // a loader that the kernel has loaded
	CHECK(!program_is_static(&list));
	list.count = 0; // nothing is known of it
	CHECK(!program_is_static(&list));
	elf_view_deinit(&modules[0].elf);
	make_library(&file); // the loader, given the program
	CHECK(elf_view_init(&file, sizeof(file), &modules[0].elf) == NULL);
	list.count = 2;
	CHECK(!program_is_static(&list));
	elf_view_deinit(&modules[0].elf);
}

int main(void)
{
	struct file *file = malloc(sizeof(*file)); // sanitizers see who reads behind it

	if (!file)
		return 1;
	*file = make_file();
	CHECK(is_go(file));
	file->note[2] = 3; // another type of note
	CHECK(!is_go(file));
	memcpy(file->data + 50, "\xff Go buildinf:", 14);
	CHECK(is_go(file));
	file->segments[1].p_flags = PF_R; // not in data
	CHECK(!is_go(file));
	*file = make_file();
	file->note[3] = 0x554e47; // "GNU"
	CHECK(!is_go(file));
	*file = make_file();
	file->segments[2].p_filesz = 15; // cut
	CHECK(!is_go(file));
	for (unsigned word = 0; word < 2; word++) {
		static const uint32_t sizes[] = { 0, 5, 15, 21, 1000, UINT32_MAX, UINT32_MAX - 3 };

		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			*file = make_file();
			file->note[word] = sizes[i];
			// the name's must be right, the text's must fit
			CHECK(is_go(file) == (word == 1 && sizes[i] <= 16));
		}
	}
	*file = make_file();
	memset(file->note, 0, sizeof(file->note));
	CHECK(!is_go(file));
	free(file);
	test_run_by_another();
	test_static();
	return CHECK_RESULT();
}
