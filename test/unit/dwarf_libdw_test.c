// SPDX-License-Identifier: Apache-2.0
// The reader of debug information against an independent one, elfutils' libdw, on real files: every line row of
// a unit's code, and every function and inlined call that libdw finds at the begin of a range, ours finds too, with the
// same name and line. That ours finds none where there is none, symbolize_test and the comparison with llvm-symbolizer
// (test/bench/symbols.py) say; libdw cannot, for its lists end early.
//   dwarf_libdw_test [file...]    default: the fixtures of symbolize_test, and the largest debug file that is installed
#include "snapshot/symbols/debug_sections.h"
#include "snapshot/symbols/debug_units.h"
#include "snapshot/symbols/demangle.h"

#include "check.h"
#include "error_check.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NESTING_MAX = 128, PRINTED_MAX = 5, LOWEST_CODE = 0x1000, LARGEST_FILE = 50 << 20 };

struct comparison {
	struct debug_units *units;
	Dwarf_Die unit;
	unsigned rows, functions, calls; // compared
	unsigned different;
};

static void differ(struct comparison *comparison, const char *what, uint64_t address, const char *theirs, int line)
{
	if (comparison->different++ < PRINTED_MAX)
		printf("  0x%" PRIx64 ": %s: libdw says %s, line %d\n", address, what, theirs ? theirs : "nothing",
		       line);
}

static size_t lookup(struct comparison *comparison, uint64_t address, struct debug_frame *frames)
{
	size_t count;

	must(debug_units_lookup(comparison->units, address, frames, &count));
	return count;
}

// libdw leaves the first folder of a DWARF 5 table out.
static bool is_same_file(const char *ours, const char *theirs)
{
	const size_t size = strlen(theirs), ours_size = ours ? strlen(ours) : 0;

	return ours_size >= size && strcmp(ours + ours_size - size, theirs) == 0;
}

static void compare_row(struct comparison *comparison, uint64_t address)
{
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	Dwarf_Line *row = dwarf_getsrc_die(&comparison->unit, address);
	const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	int line;

	// Between functions is no code of the unit, though rows may cover it.
	if (!file || dwarf_lineno(row, &line) != 0 || dwarf_haspc(&comparison->unit, address) != 1)
		return;
	comparison->rows++;
	if (lookup(comparison, address, frames) == 0 || frames[0].line != line || !is_same_file(frames[0].file, file))
		differ(comparison, "row", address, file, line);
}

struct row {
	Dwarf_Addr address;
	bool is_end;
};

static struct row row_of(Dwarf_Lines *lines, size_t index)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, index);
	struct row row = { 0 };

	CHECK(dwarf_lineaddr(line, &row.address) == 0 && dwarf_lineendsequence(line, &row.is_end) == 0);
	return row;
}

static void compare_rows(struct comparison *comparison)
{
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(&comparison->unit, &lines, &count) != 0)
		return;
	for (size_t i = 1; i + 1 < count; i++) {
		const struct row before = row_of(lines, i - 1), row = row_of(lines, i), next = row_of(lines, i + 1);

		// A row of no bytes where a sequence ends: libdw has it go on to the next sequence.
		if (row.is_end || next.address <= row.address || (before.is_end && before.address == row.address))
			continue;
		// Code that the linker dropped, which is as if it were at 0.
		if (row.address < LOWEST_CODE)
			continue;
		compare_row(comparison, row.address);
		compare_row(comparison, next.address - 1);
	}
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name && is_mangled(name) ? name : dwarf_diename(die);
}

static bool is_same_name(const char *ours, const char *theirs)
{
	return ours && theirs ? strcmp(ours, theirs) == 0 : ours == theirs;
}

static void compare_function(struct comparison *comparison, Dwarf_Die *die, Dwarf_Addr address)
{
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	const size_t count = lookup(comparison, address, frames);
	int line;

	comparison->functions++;
	if (count == 0 || !is_same_name(frames[count - 1].system_name, name_of(die)) ||
	    (dwarf_decl_line(die, &line) == 0 && frames[count - 1].start_line != line))
		differ(comparison, "function", address, name_of(die), 0);
}

static void compare_call(struct comparison *comparison, Dwarf_Die *die, Dwarf_Addr address)
{
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	const size_t count = lookup(comparison, address, frames);
	Dwarf_Attribute attribute;
	Dwarf_Word line;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0)
		return;
	comparison->calls++;
	for (size_t i = 0; i + 1 < count; i++)
		if (is_same_name(frames[i].system_name, name_of(die)) && frames[i + 1].line == (int64_t)line)
			return;
	differ(comparison, "inlined call", address, name_of(die), (int)line);
}

static void compare_entries(struct comparison *comparison, Dwarf_Die *parent, int nesting)
{
	Dwarf_Addr base, low, high;
	Dwarf_Die die;

	if (nesting == NESTING_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		const int tag = dwarf_tag(&die);
		ptrdiff_t offset = 0;

		while ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
		       (offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0) {
			if (low <= 1 || low >= high)
				continue;
			if (tag == DW_TAG_subprogram)
				compare_function(comparison, &die, low);
			else
				compare_call(comparison, &die, low);
		}
		compare_entries(comparison, &die, nesting + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

// False when the file is not there, or has no debug information.
static bool compare_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
	Dwarf *shared_dwarf = dwarf ? dwarf_getalt(dwarf) : NULL;
	struct debug_sections sections, shared;
	struct comparison comparison = { 0 };
	Dwarf_CU *unit = NULL;
	uint8_t type;

	if (!dwarf) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	debug_sections_read(dwarf_getelf(dwarf), &sections);
	if (shared_dwarf)
		debug_sections_read(dwarf_getelf(shared_dwarf), &shared);
	must(debug_units_create(&sections, shared_dwarf ? &shared : NULL, &comparison.units));
	while (dwarf_get_units(dwarf, unit, &unit, NULL, &type, &comparison.unit, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		compare_rows(&comparison);
		// An assembler describes each of the names that code has as a function of its own.
		if (dwarf_srclang(&comparison.unit) != DW_LANG_Mips_Assembler)
			compare_entries(&comparison, &comparison.unit, 0);
	}
	printf("%s: %u rows, %u functions, %u inlined calls, %u different\n", path, comparison.rows,
	       comparison.functions, comparison.calls, comparison.different);
	CHECK(comparison.rows > 0);
	CHECK(comparison.different == 0);
	debug_units_destroy(comparison.units);
	dwarf_end(dwarf);
	close(fd);
	return true;
}

static bool is_of_64_bits(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[EI_NIDENT] = { 0 };
	const bool is_read = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head);

	if (fd >= 0)
		close(fd);
	return is_read && head[EI_CLASS] == ELFCLASS64;
}

// The largest debug file that is installed, of those that take no minutes, which is libc's where no other is: with
// dwz(1)'s shared file, where the distribution uses it.
static void compare_installed(void)
{
	const char *const pattern = "/usr/lib/debug/.build-id/*/*.debug";
	const char *largest = NULL;
	off_t largest_size = 0;
	struct stat status;
	glob_t files;

	if (glob(pattern, 0, NULL, &files) != 0) {
		printf("not compared: no file matches %s\n", pattern);
		return;
	}
	for (size_t i = 0; i < files.gl_pathc; i++) {
		if (stat(files.gl_pathv[i], &status) == 0 && status.st_size > largest_size &&
		    status.st_size <= LARGEST_FILE && is_of_64_bits(files.gl_pathv[i])) {
			largest = files.gl_pathv[i];
			largest_size = status.st_size;
		}
	}
	CHECK(largest && compare_file(largest));
	globfree(&files);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "fixture", "dwarf4", "dwarf5", "compressed", "split" };

	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		CHECK(compare_file(argv[i]));
	for (size_t i = 0; argc == 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char path[4096];

		snprintf(path, sizeof(path), FIXTURE_DIRECTORY "/libsymbolize_%s.so", kinds[i]);
		CHECK(compare_file(path));
	}
	if (argc == 1)
		compare_installed();
	return CHECK_RESULT();
}
