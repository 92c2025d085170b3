// SPDX-License-Identifier: Apache-2.0
// cfi_decode against an independent decoder, elfutils, on real programs: for every FDE, at its first pc, at each row's
// first pc and at its last pc, the two must give the same row. Then the same sections with bytes changed: no crash, no
// read outside, bounded time.
//   cfi_libdw_test [file...]    default: the programs below that are there
#include "unwind/cfi.h"
#include "unwind/unwind_rule.h"

#include "check.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const default_files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/bin/python3.11",
	"/usr/bin/redis-server",
	"/usr/sbin/nginx",
};

// In a larger file only every n-th FDE is looked at, so that no more than these are.
#define FDES_MAX 12000
// Differences are printed up to this many a file.
#define PRINTED_MAX        10
#define MUTATIONS_PER_FILE 15000

struct file {
	const char *path;
	int fd;
	uint8_t *map;
	size_t map_size;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct memory_span span; // the load segment that holds .eh_frame and its header
	uint64_t hdr, hdr_size;
	uint64_t frame, frame_size; // address and bytes of .eh_frame
};

// Rows by what came of them.
enum outcome {
	OUTCOME_SAME,
	OUTCOME_FOREIGN_CFA,
	OUTCOME_FOREIGN_RULE,
	OUTCOME_BOTH_REFUSE,
	OUTCOME_DIFFERENT,
	OUTCOMES
};
static const char *const outcome_names[OUTCOMES] = {
	[OUTCOME_SAME] = "equal",
	[OUTCOME_FOREIGN_CFA] =
		"unsupported by design: the CFA is in a register that is not kept (a realigning prologue's r10, say)",
	[OUTCOME_FOREIGN_RULE] = "unsupported by design: a value is in a register that is not kept",
	[OUTCOME_BOTH_REFUSE] = "refused by both: half a CFA changed while it is an expression",
	[OUTCOME_DIFFERENT] = "DIFFERENT",
};

struct tally {
	unsigned fdes, fdes_total, rows;
	unsigned outcomes[OUTCOMES];
	unsigned kinds[16];
};

static const char *const kind_names[16] = {
	"INVALID", "END", "SP", "BP", "BP_DEREF", "PLT", "SIGNAL", "SLOW", "FRAME_POINTER", "NO_INFO", "BAD",
};

static const uint8_t dwarf_numbers[CFI_REGISTERS] = { DWARF_RBX, DWARF_FP,  DWARF_R12, DWARF_R13,
						      DWARF_R14, DWARF_R15, DWARF_SP,  DWARF_RA };

static bool open_file(const char *path, struct file *file)
{
	struct stat status;
	size_t count;

	*file = (struct file){ .path = path, .map = MAP_FAILED, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (file->fd < 0 || fstat(file->fd, &status) < 0)
		return false;
	file->map_size = (size_t)status.st_size;
	file->map = mmap(NULL, file->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file->fd, 0);
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (file->map == MAP_FAILED || !file->elf || elf_getphdrnum(file->elf, &count) < 0)
		return false;
	for (int i = 0; i < (int)count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(file->elf, i, &header) && header.p_type == PT_GNU_EH_FRAME) {
			file->hdr = header.p_vaddr;
			file->hdr_size = header.p_memsz;
		}
	}
	for (int i = 0; i < (int)count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(file->elf, i, &header) && header.p_type == PT_LOAD && file->hdr >= header.p_vaddr &&
		    file->hdr < header.p_vaddr + header.p_filesz)
			file->span =
				(struct memory_span){ file->map + header.p_offset, header.p_vaddr, header.p_filesz };
	}
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		size_t names;

		if (elf_getshdrstrndx(file->elf, &names) == 0 && gelf_getshdr(section, &header) &&
		    strcmp(elf_strptr(file->elf, names, header.sh_name), ".eh_frame") == 0) {
			file->frame = header.sh_addr;
			file->frame_size = header.sh_size;
		}
	}
	file->cfi = dwarf_getcfi_elf(file->elf);
	return file->hdr && file->span.size && file->frame && file->cfi;
}

static void close_file(struct file *file)
{
	if (file->cfi)
		dwarf_cfi_end(file->cfi);
	elf_end(file->elf);
	if (file->map != MAP_FAILED)
		munmap(file->map, file->map_size);
	if (file->fd >= 0)
		close(file->fd);
}

// A small decoder of expressions of its own: the form that libdw gives.
static bool read_leb(const uint8_t **position, const uint8_t *end, bool is_signed, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		if (*position == end)
			return false;
		byte = *(*position)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~UINT64_C(0) << shift;
	*ret = value;
	return true;
}

static bool same_expression(const struct file *file, uint64_t address, uint64_t size, const Dwarf_Op *ops, size_t count)
{
	const uint8_t *position = file->span.bytes + (address - file->span.address), *end = position + size;

	if (address < file->span.address || address + size > file->span.address + file->span.size)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t number = 0;
		uint8_t opcode;

		if (position == end)
			return false;
		opcode = *position++;
		if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31) {
			if (!read_leb(&position, end, true, &number))
				return false;
		} else if (opcode == DW_OP_plus_uconst || opcode == DW_OP_constu) {
			if (!read_leb(&position, end, false, &number))
				return false;
		} else if (opcode == DW_OP_const1u && end - position >= 1) {
			number = *position++;
		} else if (opcode == DW_OP_const4s && end - position >= 4) {
			int32_t narrow;

			memcpy(&narrow, position, sizeof narrow);
			number = (uint64_t)(int64_t)narrow;
			position += sizeof narrow;
		}
		if (opcode != ops[i].atom || number != ops[i].number)
			return false;
	}
	return position == end;
}

// libdw's form of a rule: nothing at all = same; no operations = undefined; an expression, in which the CFA is
// DW_OP_call_frame_cfa, of a place or, with DW_OP_stack_value at its end, of a value.
static bool same_rule(const struct file *file, const struct cfi_rule *rule, const Dwarf_Op *ops, size_t count)
{
	uint64_t offset = count > 1 && ops[1].atom == DW_OP_plus_uconst ? ops[1].number : 0;
	bool is_value = count > 1 && ops[count - 1].atom == DW_OP_stack_value;

	if (count == 0)
		return rule->kind == (ops ? CFI_UNDEFINED : CFI_SAME);
	if (ops[0].atom == DW_OP_regx)
		return rule->kind == CFI_IN_REGISTER && dwarf_numbers[rule->offset] == ops[0].number;
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return rule->kind == CFI_IN_REGISTER && dwarf_numbers[rule->offset] == ops[0].atom - DW_OP_reg0;
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (rule->kind == CFI_AT_OFFSET || rule->kind == CFI_IS_OFFSET)
		return is_value == (rule->kind == CFI_IS_OFFSET) && (uint64_t)(int64_t)rule->offset == offset &&
		       count == 1 + (size_t)(offset != 0) + (size_t)is_value;
	if (rule->kind == CFI_AT_EXPRESSION || rule->kind == CFI_IS_EXPRESSION)
		return is_value == (rule->kind == CFI_IS_EXPRESSION) &&
		       same_expression(file, rule->expression, rule->expression_size, ops + 1,
				       count - 1 - (size_t)is_value);
	return false;
}

static bool same_cfa(const struct file *file, const struct cfi_row *row, const Dwarf_Op *ops, size_t count)
{
	if (row->cfa_is_expression)
		return same_expression(file, row->cfa_expression, row->cfa_expression_size, ops, count);
	if (count != 1)
		return false;
	if (ops[0].atom == DW_OP_bregx)
		return ops[0].number == dwarf_numbers[row->cfa_register] && (int64_t)ops[0].number2 == row->cfa_offset;
	return ops[0].atom == DW_OP_breg0 + dwarf_numbers[row->cfa_register] &&
	       (int64_t)ops[0].number == row->cfa_offset;
}

// The DWARF register in which a CFA or rule is, when it is one that the walk does not keep.
static bool is_foreign(uint64_t dwarf_number)
{
	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		if (dwarf_numbers[i] == dwarf_number)
			return false;
	return true;
}

static bool is_foreign_register_rule(const Dwarf_Op *ops, size_t count)
{
	return count == 1 &&
	       ((ops[0].atom == DW_OP_regx && is_foreign(ops[0].number)) ||
		(ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 && is_foreign(ops[0].atom - DW_OP_reg0)));
}

static enum outcome compare_row(const struct file *file, uint64_t pc, Dwarf_Frame *frame, bool is_signal,
				unsigned *kind_ret)
{
	struct cfi_row row;
	enum cfi_result result = cfi_decode(&file->span, file->hdr, file->hdr_size, pc, &row);
	uint64_t rule = unwind_rule_pack(result, result == CFI_OK ? &row : NULL, &file->span, 1);
	Dwarf_Op *ops;
	size_t count;

	*kind_ret = UNWIND_KIND(rule);
	if (dwarf_frame_cfa(frame, &ops, &count) != 0)
		return result == CFI_MALFORMED ? OUTCOME_BOTH_REFUSE : OUTCOME_DIFFERENT;
	if (result == CFI_UNSUPPORTED && count == 1 &&
	    ((ops[0].atom == DW_OP_bregx && is_foreign(ops[0].number)) ||
	     (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 && is_foreign(ops[0].atom - DW_OP_breg0))))
		return OUTCOME_FOREIGN_CFA;
	if (result == CFI_OK && (!same_cfa(file, &row, ops, count) || row.is_signal_frame != is_signal))
		return OUTCOME_DIFFERENT;
	for (unsigned i = 0; i < CFI_REGISTERS; i++) {
		Dwarf_Op memory[3];

		if (dwarf_frame_register(frame, dwarf_numbers[i], memory, &ops, &count) != 0)
			return OUTCOME_DIFFERENT;
		if (is_foreign_register_rule(ops, count)) {
			if (result == CFI_UNSUPPORTED || row.registers[i].kind == CFI_UNDEFINED)
				return OUTCOME_FOREIGN_RULE;
			return OUTCOME_DIFFERENT;
		}
		if (result != CFI_OK)
			continue;
		if (i == CFI_SP && row.registers[i].kind == CFI_SAME) {
			// libdw writes the ABI's rule out: the value of the CFA.
			if (count != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_stack_value)
				return OUTCOME_DIFFERENT;
			continue;
		}
		// libdw's table of the ABI's defaults names %rax where it means %rbx, so it calls an unnamed %rbx
		// undefined.
		if (i == CFI_RBX && row.registers[i].kind == CFI_SAME && count == 0)
			continue;
		if (!same_rule(file, &row.registers[i], ops, count))
			return OUTCOME_DIFFERENT;
	}
	return result == CFI_OK ? OUTCOME_SAME : OUTCOME_DIFFERENT;
}

// Compares at `pc`. Returns the first pc of the next row.
static uint64_t compare_at(const struct file *file, uint64_t pc, struct tally *tally)
{
	Dwarf_Frame *frame;
	Dwarf_Addr start = 0, end = 0;
	bool is_signal = false;
	enum outcome outcome;
	unsigned kind;

	if (dwarf_cfi_addrframe(file->cfi, pc, &frame) != 0) {
		fprintf(stderr, "%s: libdw: 0x%lx: %s\n", file->path, (unsigned long)pc, dwarf_errmsg(-1));
		check_failures++;
		return pc + 1;
	}
	if (dwarf_frame_info(frame, &start, &end, &is_signal) != DWARF_RA)
		check_failures++;
	outcome = compare_row(file, pc, frame, is_signal, &kind);
	free(frame);
	tally->rows++;
	tally->outcomes[outcome]++;
	tally->kinds[kind]++;
	check_count++;
	if (outcome == OUTCOME_DIFFERENT) {
		check_failures++;
		if (tally->outcomes[outcome] <= PRINTED_MAX)
			fprintf(stderr, "%s: the row at 0x%lx differs (kind %s)\n", file->path, (unsigned long)pc,
				kind_names[kind]);
	}
	return end > pc ? end : pc + 1;
}

static void compare_fde(const struct file *file, uint64_t begin, uint64_t end, struct tally *tally)
{
	struct cfi_row row;

	for (uint64_t pc = begin; pc < end;)
		pc = compare_at(file, pc, tally);
	compare_at(file, end - 1, tally);
	// Outside, this FDE is not the answer; the next function's may begin at once.
	CHECK(cfi_decode(&file->span, file->hdr, file->hdr_size, end, &row) != CFI_MALFORMED);
	CHECK(cfi_decode(&file->span, file->hdr, file->hdr_size, begin - 1, &row) != CFI_MALFORMED);
}

// Every FDE of .eh_frame, from libdw's reader of entries; addresses are pcrel|sdata4, as all linkers write on x86-64.
static void compare_file(const struct file *file, struct tally *tally)
{
	const uint8_t *section = file->span.bytes + (file->frame - file->span.address);
	unsigned char ident[EI_NIDENT] = { [EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB };
	Elf_Data data = { .d_buf = (void *)(uintptr_t)section, .d_size = file->frame_size, .d_version = EV_CURRENT };
	unsigned stride = 1;

	for (unsigned pass = 0; pass < 2; pass++) {
		Dwarf_Off offset = 0, next;
		Dwarf_CFI_Entry entry;

		for (; dwarf_next_cfi(ident, &data, true, offset, &next, &entry) == 0; offset = next) {
			int32_t begin_distance, size;
			uint64_t begin;

			if (dwarf_cfi_cie_p(&entry))
				continue;
			if (pass == 0) {
				tally->fdes_total++;
				continue;
			}
			memcpy(&begin_distance, entry.fde.start, sizeof begin_distance);
			memcpy(&size, entry.fde.start + 4, sizeof size);
			begin = file->frame + (uint64_t)(entry.fde.start - section) + (uint64_t)(int64_t)begin_distance;
			if (size > 0 && tally->fdes_total-- % stride == 0) {
				tally->fdes++;
				compare_fde(file, begin, begin + (uint64_t)size, tally);
			}
		}
		stride = tally->fdes_total / FDES_MAX + 1;
	}
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

// Hostile bytes: some of the header's, of a CIE's or of an FDE's bytes changed, then a lookup near it; put back
// afterwards. The copy is exactly as long as what is told, so that a sanitizer sees each read outside.
// Longer than 60 lines: one loop over all kinds of damage.
static void mutate_file(const struct file *file)
{
	uint64_t begin = file->hdr < file->frame ? file->hdr : file->frame;
	uint64_t end = file->frame + file->frame_size > file->hdr + file->hdr_size ? file->frame + file->frame_size
										   : file->hdr + file->hdr_size;
	size_t size = end - begin;
	uint8_t *copy = malloc(size);
	const uint8_t *original = file->span.bytes + (begin - file->span.address);
	uint64_t entries = (file->hdr_size - 12) / 8;
	struct memory_span span = { copy, begin, size };
	unsigned results[CFI_MALFORMED + 1] = { 0 };

	memcpy(copy, original, size);
	for (unsigned i = 0; i < MUTATIONS_PER_FILE; i++) {
		uint64_t entry = random_number() % entries, table = file->hdr + 12 + 8 * entry - begin;
		uint64_t places[8], count = 1 + random_number() % 8;
		int32_t pc_distance, fde_distance;
		struct cfi_row row;
		enum cfi_result result;
		uint64_t fde, fde_size, cie;

		memcpy(&pc_distance, original + table, 4);
		memcpy(&fde_distance, original + table + 4, 4);
		fde = file->hdr + (uint64_t)(int64_t)fde_distance - begin;
		fde_size = original[fde] + 4u;
		cie = fde + 4 -
		      (original[fde + 4] | (uint32_t)original[fde + 5] << 8 | (uint32_t)original[fde + 6] << 16 |
		       (uint32_t)original[fde + 7] << 24);
		for (uint64_t j = 0; j < count; j++) {
			switch (random_number() % 8) {
			case 0:
				places[j] = file->hdr - begin + random_number() % 12;
				break;
			case 1:
				places[j] = table + random_number() % 8;
				break;
			case 2:
			case 3:
				places[j] = cie + random_number() % 28;
				break;
			default:
				places[j] = fde + random_number() % fde_size;
			}
			places[j] %= size;
			copy[places[j]] = (uint8_t)random_number();
		}
		// A scan of the whole section for each would take too long: cut it.
		span.size = copy[file->hdr - begin + 3] == 0x3b && copy[file->hdr - begin + 2] != 0xff ? size
												       : size % 65536;
		result = cfi_decode(&span, file->hdr, file->hdr_size,
				    file->hdr + (uint64_t)(int64_t)pc_distance + random_number() % 32, &row);
		results[result]++;
		if (result == CFI_OK) {
			uint64_t stack[32] = { 0 }, cfa;
			struct memory_span stack_span = { (const uint8_t *)stack, 0x1000, sizeof stack };
			struct full_registers registers = { .known = 0xff };

			for (unsigned j = 0; j < CFI_REGISTERS; j++)
				registers.value[j] = 0x1000 + 8 * (random_number() % 32);
			for (unsigned j = 0; j < 32; j++)
				stack[j] = random_number() % 3 ? 0x1000 + 8 * (random_number() % 40) : random_number();
			check_count++;
			unwind_step_full(&row, &span, &stack_span, &registers, &cfa);
			unwind_rule_pack(result, &row, &span, 1);
		}
		for (uint64_t j = 0; j < count; j++)
			copy[places[j]] = original[places[j]];
	}
	printf("  hostile bytes: %u decoded, %u without entry, %u unsupported, %u malformed\n", results[CFI_OK],
	       results[CFI_NO_ENTRY], results[CFI_UNSUPPORTED], results[CFI_MALFORMED]);
	CHECK(entries < 100 || (results[CFI_OK] > 0 && results[CFI_NO_ENTRY] > 0 && results[CFI_UNSUPPORTED] > 0 &&
				results[CFI_MALFORMED] > 0));
	free(copy);
}

static void test_file(const char *path)
{
	struct tally tally = { 0 };
	struct file file;
	struct timespec start, end;

	if (!open_file(path, &file)) {
		CHECK_LEFT_OUT("%s is not here, or has no .eh_frame_hdr", path);
		close_file(&file);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	compare_file(&file, &tally);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%s: %u FDEs, %u rows compared in %.1f s\n ", path, tally.fdes, tally.rows,
	       (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
	for (unsigned i = 0; i < 16; i++)
		if (tally.kinds[i])
			printf(" %s %u", kind_names[i] ? kind_names[i] : "?", tally.kinds[i]);
	printf("\n");
	for (unsigned i = 0; i < OUTCOMES; i++)
		if (tally.outcomes[i])
			printf("  %u %s\n", tally.outcomes[i], outcome_names[i]);
	mutate_file(&file);
	close_file(&file);
}

int main(int argc, char **argv)
{
	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++)
		test_file(argv[i]);
	if (argc < 2)
		for (size_t i = 0; i < sizeof default_files / sizeof *default_files; i++)
			test_file(default_files[i]);
	return CHECK_RESULT();
}
