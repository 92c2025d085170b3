// SPDX-License-Identifier: Apache-2.0
// The reader of debug information against an independent one, elfutils' libdw, on real files: every line row of
// a unit's code, and every function and inlined call that libdw finds at the begin of a range, ours finds too, with the
// same name and line; and where no call has a list of ranges, no others.
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

enum { NESTING_MAX = 128, PRINTED_MAX = 5, LOWEST_CODE = 0x1000, LARGEST_FILE = 50 << 20, FEW_ROWS = 200, EVERY = 20 };

struct comparison {
	struct debug_units *units;
	Dwarf_Die unit;
	unsigned rows, functions, calls, lists; // compared; lists: of the functions that an address is in
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

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name) // before DWARF 4
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
	return name && is_mangled(name) ? name : dwarf_diename(die);
}

static bool is_same_name(const char *ours, const char *theirs)
{
	return ours && theirs ? strcmp(ours, theirs) == 0 : ours == theirs;
}

// The functions that an address is in, outermost first, as libdw's entries have it. False where it cannot be said:
// libdw ends a list of ranges at an empty one, so of calls with such lists it does not know all.
static bool list_functions(Dwarf_Die *parent, Dwarf_Addr address, int nesting, const char **names, size_t *count)
{
	Dwarf_Die die;

	if (nesting == NESTING_MAX || dwarf_child(parent, &die) != 0)
		return true;
	do {
		const int tag = dwarf_tag(&die);
		const bool is_call = tag == DW_TAG_inlined_subroutine;

		if (is_call && dwarf_hasattr(&die, DW_AT_ranges))
			return false;
		if ((is_call || tag == DW_TAG_subprogram) && dwarf_haspc(&die, address) == 1 &&
		    *count < DEBUG_FRAMES_LIMIT)
			names[(*count)++] = name_of(&die);
		else if (is_call || tag == DW_TAG_subprogram)
			continue;
		if (!list_functions(&die, address, nesting + 1, names, count))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

// It describes each of the names that code has as a function of its own.
static bool is_assembler(Dwarf_Die *unit) { return dwarf_srclang(unit) == DW_LANG_Mips_Assembler; }

// That there are no other functions than these.
static void compare_functions(struct comparison *comparison, uint64_t address)
{
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	const char *names[DEBUG_FRAMES_LIMIT];
	size_t theirs = 0, ours;
	bool is_same;

	if (is_assembler(&comparison->unit) || !list_functions(&comparison->unit, address, 0, names, &theirs) ||
	    theirs == 0)
		return;
	ours = lookup(comparison, address, frames);
	is_same = ours == theirs;
	for (size_t i = 0; is_same && i < ours; i++)
		is_same = is_same_name(frames[i].system_name, names[theirs - 1 - i]);
	comparison->lists++;
	if (!is_same)
		differ(comparison, "functions", address, names[theirs - 1], (int)theirs);
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
		if (count < FEW_ROWS || i % EVERY == 0) {
			compare_functions(comparison, row.address);
			compare_functions(comparison, next.address - 1);
		}
	}
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

// `has_functions`: there must be some. False when the file is not there, or has no debug information.
static bool compare_file(const char *path, bool has_functions)
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
		if (!is_assembler(&comparison.unit))
			compare_entries(&comparison, &comparison.unit, 0);
	}
	printf("%s: %u rows, %u functions, %u inlined calls, %u lists of functions, %u different\n", path,
	       comparison.rows, comparison.functions, comparison.calls, comparison.lists, comparison.different);
	CHECK(comparison.rows > 0);
	CHECK(!has_functions || (comparison.functions > 0 && comparison.calls > 0 && comparison.lists > 0));
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
	CHECK(largest && compare_file(largest, true));
	globfree(&files);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "fixture", "dwarf2",     "dwarf4", "dwarf5", "dwarf64",
					     "types",   "compressed", "zdebug", "split" };

	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		CHECK(compare_file(argv[i], false));
	for (size_t i = 0; argc == 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char path[4096];

		snprintf(path, sizeof(path), FIXTURE_DIRECTORY "/libsymbolize_%s.so", kinds[i]);
		// the other half of split DWARF is in another file
		CHECK(compare_file(path, strcmp(kinds[i], "split") != 0));
	}
	if (argc == 1)
		compare_installed();
	return CHECK_RESULT();
}
