// SPDX-License-Identifier: Apache-2.0
// Asks for addresses of this process itself: of the fixture library, whole, stripped and otherwise changed, and of
// libc.
#include "base/cleanup.h"
#include "base/log.h"
#include "check.h"
#include "held_process.h"
#include "snapshot/symbols/symbolize.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void *callback(void);
typedef void *fixture_function(callback *);

static void show(enum hs_log_level level, const char *message)
{
	(void)level;
	printf("  %s\n", message);
}

__attribute__((noinline)) static void *return_address(void) { return __builtin_return_address(0); }

struct search {
	uintptr_t address;
	struct profile_module module;
};

static void read_build_id(const char *note, size_t size, struct profile_module *module)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *header = (const void *)note;
		size_t name_size = (header->n_namesz + 3u) & ~3u, data_size = (header->n_descsz + 3u) & ~3u;

		if (header->n_type == NT_GNU_BUILD_ID && header->n_descsz <= sizeof(module->build_id)) {
			module->build_id_size = header->n_descsz;
			memcpy(module->build_id, note + sizeof(*header) + name_size, header->n_descsz);
		}
		note += sizeof(*header) + name_size + data_size;
		size -= sizeof(*header) + name_size + data_size;
	}
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct profile_module module = { .load_bias = info->dlpi_addr, .start = UINT64_MAX };

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_NOTE)
			read_build_id((const char *)start, header->p_memsz, &module);
		if (header->p_type != PT_LOAD)
			continue;
		if ((start & ~4095ull) < module.start)
			module.start = start & ~4095ull;
		if (start + header->p_memsz > module.end)
			module.end = (start + header->p_memsz + 4095) & ~4095ull;
	}
	if (search->address < module.start || search->address >= module.end)
		return 0;

	char path[4096];
	ssize_t length = -1;

	if (!*info->dlpi_name)
		length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = 0;
	module.path = realpath(*info->dlpi_name ? info->dlpi_name : path, NULL);
	if (!module.path)
		module.path = strdup(info->dlpi_name);
	search->module = module;
	return 1;
}

// A profile of one location, `address` of the module that holds it; to be given back by heap_profile_deinit.
static struct heap_profile make_profile(void *address)
{
	struct search search = { .address = (uintptr_t)address - 1 };
	struct heap_profile profile = { .pid = getpid(), .location_count = 1, .module_count = 1, .mapping_count = 1 };

	CHECK(dl_iterate_phdr(look_at_module, &search) == 1);
	profile.modules = calloc(1, sizeof(*profile.modules));
	profile.locations = calloc(1, sizeof(*profile.locations));
	profile.mappings = calloc(1, sizeof(*profile.mappings));
	profile.modules[0] = search.module;
	profile.locations[0].address = search.address;
	return profile;
}

static void symbolize(struct heap_profile *profile)
{
	struct module_files files;
	struct hs_error *error;

	module_files_open(held_process(profile->pid), &files);
	error = symbolize_profile(&files, &(struct symbol_options){ .no_cache = true }, profile);
	module_files_close(&files);
	CHECK(!error);
	if (error)
		fprintf(stderr, "%s\n", error->message);
	hs_error_destroy(error);
}

static const struct profile_function *function_of(const struct heap_profile *profile, uint32_t line)
{
	static const char none[] = "(no such line)";
	static const struct profile_function missing = { (char *)(uintptr_t)none, (char *)(uintptr_t)none,
							 (char *)(uintptr_t)none, 0 };

	if (profile->location_count == 0 || line >= profile->locations[0].line_count)
		return &missing;
	return &profile->functions[profile->lines[profile->locations[0].first_line + line].function];
}

static int64_t line_of(const struct heap_profile *profile, uint32_t line)
{
	return line < profile->locations[0].line_count ? profile->lines[profile->locations[0].first_line + line].line
						       : -1;
}

static bool begins_with(const char *text, const char *begin) { return strncmp(text, begin, strlen(begin)) == 0; }

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void *call_fixture(void *library, const char *name)
{
	fixture_function *function = (fixture_function *)dlsym(library, name);

	CHECK(function != NULL);
	return function ? function(return_address) : NULL;
}

static int fixture_line(void *library, const char *name)
{
	const int *line = dlsym(library, name);

	CHECK(line != NULL);
	return line ? *line : -2;
}

static void *open_fixture(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", FIXTURE_DIRECTORY, name);

	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(library != NULL);
	return library;
}

static void check_inlined(void *library)
{
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_outer"));

	symbolize(&profile);
	// keep() holds no call, so it is not among them. GCC gives no linkage name, thus no parameters, to functions
	// that are static; clang does.
	CHECK_EQUAL(profile.locations[0].line_count, 3);
	CHECK(begins_with(function_of(&profile, 0)->name, "inner"));
	CHECK(begins_with(function_of(&profile, 1)->name, "middle"));
	CHECK_STRING(function_of(&profile, 2)->name, "fixture_outer");
	CHECK_STRING(function_of(&profile, 2)->system_name, "fixture_outer");
	CHECK_EQUAL(line_of(&profile, 0), fixture_line(library, "fixture_inner_line"));
	CHECK_EQUAL(line_of(&profile, 1), fixture_line(library, "fixture_middle_line"));
	CHECK_EQUAL(line_of(&profile, 2), fixture_line(library, "fixture_outer_line"));
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(ends_with(function_of(&profile, i)->file, "/symbolize_fixture.cpp"));
		CHECK_EQUAL(function_of(&profile, i)->start_line, line_of(&profile, i) - 2);
	}
	CHECK(!profile.locations[0].is_allocator);
	CHECK(profile.mappings[0].has_functions && profile.mappings[0].has_filenames);
	CHECK(profile.mappings[0].has_line_numbers && profile.mappings[0].has_inline_frames);
	heap_profile_deinit(&profile);
}

static void check_names(void *library)
{
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_method"));

	symbolize(&profile);
	CHECK_EQUAL(profile.locations[0].line_count, 1);
	CHECK_STRING(function_of(&profile, 0)->name, "fixture::Box::fill(void* (*)(), int)");
	CHECK_STRING(function_of(&profile, 0)->system_name, "_ZN7fixture3Box4fillEPFPvvEi");
	CHECK_EQUAL(line_of(&profile, 0), fixture_line(library, "fixture_method_line"));
	heap_profile_deinit(&profile);

	profile = make_profile(call_fixture(library, "fixture_local"));
	symbolize(&profile);
	CHECK_STRING(function_of(&profile, 0)->name, "(anonymous namespace)::local_function(void* (*)())");
	heap_profile_deinit(&profile);

	profile = make_profile(call_fixture(library, "fixture_lambda"));
	symbolize(&profile);
	CHECK(begins_with(function_of(&profile, 0)->name, "fixture_lambda::"));
	CHECK(ends_with(function_of(&profile, 0)->name, "::operator()(int) const"));
	CHECK(line_of(&profile, 0) > fixture_line(library, "fixture_method_line"));
	heap_profile_deinit(&profile);
}

// Symbols only: exported functions have names and no lines, local ones are near one of them.
static void check_without_debug(void *library)
{
	size_t size;
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_outer"));

	symbolize(&profile);
	CHECK_EQUAL(profile.locations[0].line_count, 1);
	CHECK_STRING(function_of(&profile, 0)->name, "fixture_outer");
	CHECK_STRING(function_of(&profile, 0)->file, "");
	CHECK_EQUAL(line_of(&profile, 0), 0);
	CHECK(profile.mappings[0].has_functions && !profile.mappings[0].has_filenames);
	CHECK(!profile.mappings[0].has_line_numbers && !profile.mappings[0].has_inline_frames);
	heap_profile_deinit(&profile);

	profile = make_profile(call_fixture(library, "fixture_hidden"));
	symbolize(&profile);
	CHECK(profile.locations[0].is_guess);
	CHECK(profile_guess_base(function_of(&profile, 0)->name, &size) != NULL);
	CHECK(!profile.mappings[0].has_functions && !profile.mappings[0].has_filenames);
	CHECK(!profile.mappings[0].has_line_numbers && !profile.mappings[0].has_inline_frames);
	CHECK_EQUAL(profile.ledger_count, 1);
	CHECK_STRING(profile.ledger_count ? profile.ledger[0].name : "", "symbols_missing");
	CHECK(profile.ledger_count && strstr(profile.ledger[0].text, "1 place in "));
	heap_profile_deinit(&profile);
}

// .gnu_debugdata names what is not exported.
static void check_mini(void *library)
{
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_local"));

	symbolize(&profile);
	CHECK_EQUAL(profile.locations[0].line_count, 1);
	CHECK(!profile.locations[0].is_guess);
	CHECK_STRING(function_of(&profile, 0)->name, "(anonymous namespace)::local_function(void* (*)())");
	CHECK_EQUAL(profile.ledger_count, 0);
	heap_profile_deinit(&profile);
}

// The stripped library without its table of sections, too: the loader does not need it, and what it exports is still
// named.
static void *open_without_sections(void)
{
	static const ElfW(Off) nowhere;
	static const ElfW(Half) none[2];
	char command[8192], path[64];

	snprintf(path, sizeof(path), "/tmp/symbolize_test.%d.sections.so", (int)getpid());
	snprintf(command, sizeof(command), "cp '%s/libsymbolize_stripped.so' '%s'", FIXTURE_DIRECTORY, path);
	CHECK(system(command) == 0);

	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(pwrite(fd, &nowhere, sizeof(nowhere), offsetof(ElfW(Ehdr), e_shoff)) == sizeof(nowhere));
	CHECK(pwrite(fd, none, sizeof(none), offsetof(ElfW(Ehdr), e_shnum)) == sizeof(none));
	close(fd);

	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	CHECK(library != NULL);
	return library;
}

static void close_without_sections(void *library)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/symbolize_test.%d.sections.so", (int)getpid());
	CHECK(unlink(path) == 0);
	dlclose(library);
}

// The file with most of the debug information is not read: the symbol table says which function, and the lines, which
// stay behind, where in the source.
static void check_split(void *library)
{
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_outer"));

	symbolize(&profile);
	CHECK_EQUAL(profile.locations[0].line_count, 1);
	CHECK(!profile.locations[0].is_guess);
	CHECK_STRING(function_of(&profile, 0)->name, "fixture_outer");
	CHECK(ends_with(function_of(&profile, 0)->file, "symbolize_fixture.cpp"));
	CHECK_EQUAL(line_of(&profile, 0), fixture_line(library, "fixture_inner_line"));
	heap_profile_deinit(&profile);
}

static void check_wrong_build_id(void *library)
{
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_outer"));

	CHECK(profile.modules[0].build_id_size > 0);
	profile.modules[0].build_id[0] ^= 1;
	symbolize(&profile);
	CHECK_EQUAL(profile.locations[0].line_count, 0);
	heap_profile_deinit(&profile);
}

// The file is found though its name is gone. Needs the privilege for /proc/PID/map_files.
static void check_deleted(const char *name)
{
	char command[8192], path[64];

	snprintf(path, sizeof(path), "/tmp/symbolize_test.%d.so", (int)getpid());
	snprintf(command, sizeof(command), "cp '%s/%s' '%s'", FIXTURE_DIRECTORY, name, path);
	CHECK(system(command) == 0);

	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	CHECK(library != NULL);

	struct heap_profile profile = make_profile(call_fixture(library, "fixture_outer"));

	CHECK(unlink(path) == 0);
	symbolize(&profile);
	CHECK_STRING(function_of(&profile, 2)->name, "fixture_outer");
	heap_profile_deinit(&profile);
	dlclose(library);
}

// What stands in the place of the file may be a FIFO: nobody must wait for its writer.
static void check_fifo(void *library)
{
	char path[64];
	struct heap_profile profile = make_profile(call_fixture(library, "fixture_outer"));

	snprintf(path, sizeof(path), "/tmp/symbolize_test.%d.fifo", (int)getpid());
	CHECK(mkfifo(path, 0600) == 0);
	free(profile.modules[0].path);
	profile.modules[0].path = strdup(path);
	profile.modules[0].unloaded = true; // so that only the path leads to it
	symbolize(&profile);
	CHECK_EQUAL(profile.locations[0].line_count, 0);
	heap_profile_deinit(&profile);
	unlink(path);
}

static void *libc_address;

static int compare_nothing(const void *left, const void *right)
{
	(void)left;
	(void)right;
	libc_address = __builtin_return_address(0);
	return 0;
}

// By build id, when Debian's libc6-dbg is installed.
static void check_libc(void *start_address)
{
	char items[4] = { 0 };
	struct heap_profile profile;
	char debug_file[128];

	qsort(items, 4, 1, compare_nothing);
	profile = make_profile(libc_address);
	symbolize(&profile);

	const uint8_t *id = profile.modules[0].build_id;
	char *end = debug_file + sprintf(debug_file, "/usr/lib/debug/.build-id/%02x/", id[0]);

	for (uint32_t i = 1; i < profile.modules[0].build_id_size; i++)
		end += sprintf(end, "%02x", id[i]);
	strcpy(end, ".debug");

	bool has_debug_file = access(debug_file, R_OK) == 0;

	printf("libc: %s %s:%d\n", function_of(&profile, 0)->name, function_of(&profile, 0)->file,
	       (int)line_of(&profile, 0));
	if (has_debug_file)
		CHECK(strstr(function_of(&profile, 0)->file, "msort") && line_of(&profile, 0) > 0);
	heap_profile_deinit(&profile);

	profile = make_profile(start_address);
	symbolize(&profile);
	if (has_debug_file) {
		CHECK_STRING(function_of(&profile, 0)->name, "__libc_start_call_main");
		CHECK(line_of(&profile, 0) > 0);
	} else {
		CHECK_LEFT_OUT("no debug file of libc (libc6-dbg)");
	}
	heap_profile_deinit(&profile);

	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	profile = make_profile((char *)dlsym(libc, "malloc") + 5);
	symbolize(&profile);
	CHECK(profile.locations[0].is_allocator);
	dlclose(libc);
	heap_profile_deinit(&profile);
}

static void check_empty(void)
{
	struct heap_profile profile = { .pid = getpid() };

	symbolize(&profile);
	CHECK_EQUAL(profile.function_count, 0);
	heap_profile_deinit(&profile);
}

int main(void)
{
	hs_log_set_sink(show);

	void *start_address = __builtin_return_address(0);
	void *whole = open_fixture("libsymbolize_fixture.so"), *linked = open_fixture("libsymbolize_linked.so");
	void *stripped = open_fixture("libsymbolize_stripped.so"), *no_id = open_fixture("libsymbolize_no_id.so");
	void *no_sections = open_without_sections();

	check_empty();
	check_inlined(whole);
	check_names(whole);
	check_inlined(linked);
	check_names(linked);
	check_inlined(no_id);
	check_without_debug(stripped);
	check_without_debug(no_sections);
	close_without_sections(no_sections);
#ifdef HAS_MINI
	check_mini(open_fixture("libsymbolize_mini.so"));
#else
	CHECK_LEFT_OUT("no xz");
#endif
	static const char *const kinds[] = { "libsymbolize_dwarf4.so", "libsymbolize_dwarf5.so",
					     "libsymbolize_compressed.so" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		void *library = open_fixture(kinds[i]);

		check_inlined(library);
		check_names(library);
	}
	check_split(open_fixture("libsymbolize_split.so"));
	check_wrong_build_id(whole);
	check_fifo(whole);
	if (geteuid() == 0)
		check_deleted("libsymbolize_fixture.so");
	else
		CHECK_LEFT_OUT("not root");
	check_libc(start_address);
	return CHECK_RESULT();
}
