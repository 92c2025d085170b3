// SPDX-License-Identifier: Apache-2.0
// name_addresses FILE [cache|MODULES] < addresses: names addresses of an ELF file as a dump does, in the sandbox.
// Addresses are hexadecimal, a line each. Prints for each the address, then its functions, innermost first: linkage
// name, a space, file:line. Says on standard error how long the naming took. MODULES: the file is so many modules,
// between which the addresses are shared out.
#include "base/clock.h"
#include "base/process.h"
#include "snapshot/symbols/symbolize.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "name_addresses: %s\n", what);
	exit(1);
}

// Of the first note of a GNU build id in a PT_NOTE segment.
static void read_build_id(int fd, struct profile_module *module)
{
	Elf64_Ehdr header;
	uint8_t notes[4096];

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		fail("no ELF file");
	for (int i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		Elf64_Nhdr note;
		const off_t at = (off_t)(header.e_phoff + (uint64_t)i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > sizeof(notes) ||
		    pread(fd, notes, segment.p_filesz, (off_t)segment.p_offset) != (ssize_t)segment.p_filesz)
			continue;
		for (size_t place = 0; place + sizeof(note) <= segment.p_filesz;) {
			memcpy(&note, notes + place, sizeof(note));

			const size_t data = place + sizeof(note) + ((note.n_namesz + 3u) & ~3u);

			if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= sizeof(module->build_id) &&
			    data + note.n_descsz <= segment.p_filesz) {
				module->build_id_size = note.n_descsz;
				memcpy(module->build_id, notes + data, note.n_descsz);
				return;
			}
			place = data + ((note.n_descsz + 3u) & ~3u);
		}
	}
	fail("no build id");
}

enum { MODULES_MAX = 64 };

static void read_addresses(struct heap_profile *profile)
{
	size_t room = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (profile->location_count == room) {
			room = room ? 2 * room : 1024;
			profile->locations = realloc(profile->locations, room * sizeof(*profile->locations));
			if (!profile->locations)
				fail("no memory");
		}
		profile->locations[profile->location_count++] =
			(struct profile_location){ .address = strtoull(line, NULL, 16),
						   .module =
							   (uint32_t)(profile->location_count % profile->module_count),
						   .mapping = UINT32_MAX };
	}
}

static void print_names(const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		printf("0x%" PRIx64 "\n", location->address);
		for (uint32_t j = 0; j < location->line_count && !location->is_guess; j++) {
			const struct profile_line *line = &profile->lines[location->first_line + j];
			const struct profile_function *function = &profile->functions[line->function];

			printf("%s %s:%" PRId64 "\n", function->system_name, *function->file ? function->file : "??",
			       line->line);
		}
	}
}

int main(int argc, char **argv)
{
	static struct profile_module modules[MODULES_MAX];
	struct profile_module module = { .end = UINT64_MAX, .unloaded = true };
	const bool has_cache = argc > 2 && strcmp(argv[2], "cache") == 0;
	const int count = argc > 2 && !has_cache ? atoi(argv[2]) : 1;
	struct heap_profile profile = { .pid = getpid(), .modules = modules };
	const struct symbol_options options = { .no_cache = !has_cache };
	struct process process = PROCESS_CLOSED;
	struct module_files files;

	if (argc < 2 || count < 1 || count > MODULES_MAX)
		fail("which file?");
	module.path = realpath(argv[1], NULL);

	const int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	if (!module.path || fd < 0)
		fail("cannot open the file");
	read_build_id(fd, &module);
	close(fd);
	for (; profile.module_count < (size_t)count; profile.module_count++)
		modules[profile.module_count] = module;
	read_addresses(&profile);
	if (process_open(getpid(), &process))
		fail("cannot open this process");
	module_files_open(&process, &files);

	const uint64_t began = hs_monotonic_ns();

	if (symbolize_profile(&files, &options, &profile))
		fail("cannot read symbols");
	fprintf(stderr, "%.3f s\n", (double)(hs_monotonic_ns() - began) / 1e9);
	print_names(&profile);
	return 0;
}
