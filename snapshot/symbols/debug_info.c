// SPDX-License-Identifier: Apache-2.0
// The only file that knows libdwfl. It finds the files; what is in their DWARF, snapshot/dwarf/ reads.
//
// Each module has a Dwfl of its own and is reported at the addresses of its file, so modules that were at one
// address at different times do not meet.
#include "snapshot/symbols/debug_info.h"

#include "snapshot/symbols/debug_sections.h"
#include "snapshot/symbols/debug_units.h"
#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/module_code.h"
#include "snapshot/symbols/symbol_files.h"
#include "snapshot/symbols/symbol_table.h"
#include "snapshot/symbols/wrapper_finder.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINK_BYTES = 4096, BUILD_ID_BYTES = 64, SYMBOL_NAME_BYTES = 4096 };

struct debug_info {
	int socket; // of the tool, which opens files
	const struct profile_module *module;
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module;
	struct debug_units *units;     // NULL = no DWARF
	uint64_t elf_bias, dwarf_bias; // address there = address of libdwfl - bias
	struct symbol_table symbols;
	Elf *elf;                            // the module's own file
	struct module_code *code;            // of it; NULL = not asked for yet
	struct wrapper_finder *wrappers;     // NULL = likewise
	bool has_local;                      // symbols that are not for other files
	char symbol_name[SYMBOL_NAME_BYTES]; // of the last lookup, without its version

	// .gnu_debugaltlink of the file that has the DWARF: dwz(1) moves what several files share into another file.
	char shared_link[LINK_BYTES]; // "" = none
	uint8_t shared_build_id[BUILD_ID_BYTES];
	size_t shared_build_id_size;
};

// What is looked for, for the callbacks of symbol_files.
struct wanted_file {
	struct debug_info *info;
	const uint8_t *build_id;
	size_t build_id_size;
	uint32_t crc; // of .gnu_debuglink, for a file without a build id
};

static bool has_build_id(Elf *elf, const uint8_t *build_id, size_t size)
{
	const void *found;
	ssize_t found_size = dwelf_elf_gnu_build_id(elf, &found);

	return found_size > 0 && (size_t)found_size == size && memcmp(found, build_id, size) == 0;
}

// .gnu_debugaltlink: a file name, its 0 byte, a build id. A section that is not so is taken as none.
static void read_shared_link(struct debug_info *info, Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || strcmp(name, ".gnu_debugaltlink") != 0)
			continue;

		Elf_Data *data = elf_rawdata(section, NULL);
		const char *end = data && data->d_buf ? memchr(data->d_buf, 0, data->d_size) : NULL;
		size_t length = end ? (size_t)(end - (const char *)data->d_buf) + 1 : 0;

		if (!end || length > LINK_BYTES || data->d_size - length > BUILD_ID_BYTES)
			return;
		memcpy(info->shared_link, data->d_buf, length);
		info->shared_build_id_size = data->d_size - length;
		memcpy(info->shared_build_id, end + 1, info->shared_build_id_size);
		return;
	}
}

static bool accept_module(int fd, bool is_mapped, void *context)
{
	struct wanted_file *wanted = context;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool is_right =
		elf && (wanted->build_id_size ? has_build_id(elf, wanted->build_id, wanted->build_id_size) : is_mapped);

	if (is_right)
		read_shared_link(wanted->info, elf);
	elf_end(elf);
	return is_right;
}

// CRC-32 as in the gdb manual, "Debugging Information in Separate Files", over the whole file.
static bool has_crc(int fd, uint32_t wanted)
{
	uint8_t buffer[65536];
	uint32_t crc = 0xffffffff;
	ssize_t size;

	for (off_t offset = 0; (size = pread(fd, buffer, sizeof(buffer), offset)) > 0; offset += size) {
		for (ssize_t i = 0; i < size; i++) {
			crc ^= buffer[i];
			for (int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		}
	}
	return size == 0 && ~crc == wanted;
}

static bool accept_debug(int fd, bool is_mapped, void *context)
{
	struct wanted_file *wanted = context;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool is_right;

	(void)is_mapped;
	if (!elf)
		return false;
	if (wanted->build_id_size)
		is_right = has_build_id(elf, wanted->build_id, wanted->build_id_size);
	else
		is_right = has_crc(fd, wanted->crc);
	if (is_right && wanted->info)
		read_shared_link(wanted->info, elf);
	elf_end(elf);
	return is_right;
}

// libdwfl asks for the separate debug file, and then, with the link as both names, for the file that dwz made. Its
// own function for this would follow names of the target to what is no plain file, and could ask the network.
static int find_debuginfo(Dwfl_Module *dwfl_module, void **userdata, const char *module_name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **file_ret)
{
	struct debug_info *info = *userdata;

	(void)dwfl_module;
	(void)module_name;
	(void)base;
	*file_ret = NULL;
	if (link && link == file) {
		struct wanted_file shared = {
			.build_id = info->shared_build_id,
			.build_id_size = info->shared_build_id_size,
		};

		return shared.build_id_size == 0
			       ? -1
			       : symbol_files_find_debug(info->socket, shared.build_id, shared.build_id_size,
							 info->shared_link, accept_debug, &shared);
	}

	struct wanted_file wanted = { info, info->module->build_id, info->module->build_id_size, crc };

	return symbol_files_find_debug(info->socket, wanted.build_id, wanted.build_id_size, link, accept_debug,
				       &wanted);
}

// Never asked: the file of each module is given.
static int find_no_elf(Dwfl_Module *dwfl_module, void **userdata, const char *module_name, Dwarf_Addr base,
		       char **file_ret, Elf **elf_ret)
{
	(void)dwfl_module;
	(void)userdata;
	(void)module_name;
	(void)base;
	(void)file_ret;
	(void)elf_ret;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static bool is_function(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

// Where the code ends that begins at `address`, at the latest: its section, or its segment where the file has no table
// of sections any more. `address` is the file's. False when it is no code.
static bool find_code_end(Elf *elf, GElf_Word section_index, GElf_Addr address, GElf_Addr *ret)
{
	Elf_Scn *scn = elf_getscn(elf, section_index);
	GElf_Shdr section;
	GElf_Phdr segment;
	size_t count;

	if (scn && gelf_getshdr(scn, &section)) {
		*ret = section.sh_addr + section.sh_size;
		return section.sh_flags & SHF_EXECINSTR;
	}
	if (elf_getshdrnum(elf, &count) != 0 || count > 0 || elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X && address >= segment.p_vaddr &&
		    address - segment.p_vaddr < segment.p_memsz) {
			*ret = segment.p_vaddr + segment.p_memsz;
			return true;
		}
	return false;
}

static struct hs_error *load_symbols(struct debug_info *info)
{
	int count = dwfl_module_getsymtab(info->dwfl_module);

	for (int i = 1; i < count; i++) {
		GElf_Addr address, code_end;
		GElf_Word section_index;
		GElf_Sym symbol;
		Dwarf_Addr bias;
		Elf *elf;
		const char *name =
			dwfl_module_getsym_info(info->dwfl_module, i, &symbol, &address, &section_index, &elf, &bias);

		if (!name || !*name || !is_function(&symbol) || section_index == SHN_UNDEF || !elf ||
		    !find_code_end(elf, section_index, address - bias, &code_end))
			continue;

		int binding = GELF_ST_BIND(symbol.st_info);

		info->has_local |= binding == STB_LOCAL;
		struct symbol item = {
			.address = address,
			.size = symbol.st_size,
			.name = name,
			.section_end = code_end + bias,
			.binding = binding == STB_LOCAL  ? SYMBOL_LOCAL
				   : binding == STB_WEAK ? SYMBOL_WEAK
							 : SYMBOL_GLOBAL,
		};
		struct hs_error *error = symbol_table_add(&info->symbols, &item);

		if (error)
			return error;
	}
	symbol_table_sort(&info->symbols);
	return NULL;
}

static struct hs_error *load_units(struct debug_info *info, Dwarf *dwarf)
{
	struct debug_sections sections, shared;
	Dwarf *shared_dwarf = dwarf_getalt(dwarf);

	debug_sections_read(dwarf_getelf(dwarf), &sections);
	if (shared_dwarf)
		debug_sections_read(dwarf_getelf(shared_dwarf), &shared);
	return debug_units_create(&sections, shared_dwarf ? &shared : NULL, &info->units);
}

// Takes ownership of `fd`.
static struct hs_error *load(struct debug_info *info, int fd)
{
	void **userdata;
	GElf_Addr bias;

	info->dwfl = dwfl_begin(&callbacks);
	if (info->dwfl) {
		dwfl_report_begin(info->dwfl);
		// Base 0, added to the addresses in the file: libdwfl then works with these. The descriptor is
		// libdwfl's from here on.
		info->dwfl_module = dwfl_report_elf(info->dwfl, "module", info->module->path, fd, 0, true);
		dwfl_report_end(info->dwfl, NULL, NULL);
	}
	if (!info->dwfl_module) {
		close(fd);
		return hs_error_create(HS_ERROR_BAD_DATA, "%s cannot be read as an ELF file: %s", info->module->path,
				       dwfl_errmsg(-1));
	}
	dwfl_module_info(info->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = info;
	info->elf = dwfl_module_getelf(info->dwfl_module, &bias);
	if (info->elf)
		info->elf_bias = bias;

	Dwarf *dwarf = dwfl_module_getdwarf(info->dwfl_module, &bias);
	struct hs_error *error = NULL;

	if (dwarf) {
		info->dwarf_bias = bias;
		error = load_units(info, dwarf);
	}
	return error ? error : load_symbols(info);
}

static void close_debug_info(struct debug_info *info)
{
	wrapper_finder_destroy(info->wrappers);
	module_code_destroy(info->code);
	debug_units_destroy(info->units);
	symbol_table_deinit(&info->symbols);
	if (info->dwfl)
		dwfl_end(info->dwfl);
	free(info);
}

struct hs_error *debug_info_open(int socket, const struct profile_module *module, struct debug_info **ret)
{
	struct debug_info *info = calloc(1, sizeof(*info));

	if (!info)
		return &hs_error_no_memory;
	info->socket = socket;
	info->module = module;
	elf_version(EV_CURRENT);

	struct wanted_file wanted = { info, module->build_id, module->build_id_size, 0 };
	int fd = symbol_files_find(socket, accept_module, &wanted);
	struct hs_error *error = fd < 0 ? hs_error_create(HS_ERROR_NOT_FOUND,
							  "no file for %s with the build id of the "
							  "loaded module",
							  module->path)
					: load(info, fd);

	if (error) {
		close_debug_info(info);
		return error;
	}
	*ret = info;
	return NULL;
}

// The name of a symbol, NULL for none. Those of .symtab may have their version in the name ("malloc@@GLIBC_2.2.5"),
// which is no part of it.
static const char *symbol_name(struct debug_info *info, const struct symbol *symbol)
{
	if (!symbol)
		return NULL;

	size_t length = strcspn(symbol->name, "@");

	if (length == 0 || length >= sizeof(info->symbol_name))
		return symbol->name;
	memcpy(info->symbol_name, symbol->name, length);
	info->symbol_name[length] = 0;
	return info->symbol_name;
}

// What stands in place of a name where there is none.
static bool name_neighbour(struct debug_info *info, uint64_t address, struct debug_frame *frame)
{
	const struct symbol *symbol = symbol_table_near(&info->symbols, address);

	if (!symbol)
		return false;
	*frame = (struct debug_frame){ .system_name = symbol_name(info, symbol), .near = address - symbol->address };
	return true;
}

struct hs_error *debug_info_lookup(struct debug_info *info, uint64_t address, struct debug_frame *frames,
				   size_t *count_ret, bool *has_inlined_ret)
{
	uint64_t dwfl_address = address + info->elf_bias;
	size_t count = 0;

	if (info->units) {
		struct hs_error *error =
			debug_units_lookup(info->units, dwfl_address - info->dwarf_bias, frames, &count);

		if (error)
			return error;
	}
	*has_inlined_ret = count > 0 && frames[count - 1].system_name;
	if (count == 0)
		frames[count++] = (struct debug_frame){ 0 };

	// The last frame is the function as the linker knows it. Compilers leave out the linkage name of C++
	// functions that are local.
	struct debug_frame *last = &frames[count - 1];

	if (!last->has_linkage_name) {
		const char *name = symbol_name(info, symbol_table_find(&info->symbols, dwfl_address));

		if (name && (!last->system_name || is_mangled(name)))
			last->system_name = name;
	}
	if (!last->system_name && (count > 1 || !name_neighbour(info, dwfl_address, last)))
		count--;
	// A name that is missing further in is no reason to lose the others.
	for (size_t i = 0; i < count; i++) {
		if (!frames[i].system_name)
			frames[i].system_name = "(inlined)";
	}
	*count_ret = count;
	return NULL;
}

struct hs_error *debug_info_is_wrapper(struct debug_info *info, uint64_t address, bool *ret)
{
	struct hs_error *error = NULL;

	*ret = false;
	if (!info->elf)
		return NULL;
	if (!info->code)
		error = module_code_create(info->elf, &info->code);
	if (!error && !info->wrappers)
		error = wrapper_finder_create(info->code, &info->symbols, info->elf_bias, &info->wrappers);
	return error ? error : wrapper_finder_judge(info->wrappers, address, ret);
}

bool debug_info_is_stripped(const struct debug_info *info) { return !info->units && !info->has_local; }
