// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/symbols/symbol_table.h"

#include <stdlib.h>

// Longer than 60 lines: tables of cases.
int main(void)
{
	static const struct symbol symbols[] = {
		{ 0x1000, 0x100, "__libc_malloc", 0x9000, SYMBOL_GLOBAL },
		{ 0x1000, 0x100, "malloc", 0x9000, SYMBOL_GLOBAL },
		{ 0x1000, 0x100, "aa", 0x9000, SYMBOL_LOCAL },
		{ 0x1000, 0, "b", 0x9000, SYMBOL_GLOBAL },
		{ 0x1200, 0x400, "long", 0x9000, SYMBOL_LOCAL },
		{ 0x1300, 0x10, "inside", 0x9000, SYMBOL_LOCAL },
		{ 0x2000, 0, "unsized", 0x9000, SYMBOL_LOCAL },
		{ 0x2800, 0, "unsized_short", 0x2900, SYMBOL_LOCAL },
		{ 0x7000, 0x10, "last", 0x9000, SYMBOL_WEAK },
		{ 0x8000, 0, "end", 0x9800, SYMBOL_LOCAL },
		{ 0x1c100, 0x10, "alone", UINT64_MAX, SYMBOL_GLOBAL },
	};
	static const struct {
		uint64_t address;
		const char *name;
	} cases[] = {
		{ 0xfff, "-" },
		{ 0x1000, "malloc" },
		{ 0x10ff, "malloc" },
		{ 0x1100, "-" },
		{ 0x1200, "long" },
		{ 0x1300, "inside" },
		{ 0x130f, "inside" },
		{ 0x1310, "long" },
		{ 0x15ff, "long" },
		{ 0x1600, "-" },
		{ 0x2000, "unsized" },
		{ 0x27ff, "unsized" },
		{ 0x28ff, "unsized_short" },
		{ 0x2900, "-" },
		{ 0x6fff, "-" },
		{ 0x700f, "last" },
		{ 0x7010, "-" },
		{ 0x8fff, "end" },
		{ 0x9000, "-" },
		{ UINT64_MAX, "-" },
	};
	// Addresses that no symbol holds: of the same section, and not too far.
	static const struct {
		uint64_t address;
		const char *name;
	} near_cases[] = {
		{ 0xfff, "-" },
		{ 0x1100, "malloc" },
		{ 0x1600, "inside" },
		{ 0x2900, "-" }, // the section of unsized_short ends before
		{ 0x6fff, "-" },
		{ 0x7010, "last" },
		{ 0x97ff, "end" },
		{ 0x9800, "-" },
		{ 0x20000, "alone" },
		{ 0x1c100 + SYMBOL_NEAR_BYTES - 1, "alone" },
		{ 0x1c100 + SYMBOL_NEAR_BYTES, "-" },
		{ UINT64_MAX, "-" },
	};
	struct symbol_table table = { 0 };

	CHECK(!symbol_table_near(&table, 0x1000));

	CHECK(!symbol_table_find(&table, 0x1000));
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		CHECK(!symbol_table_add(&table, &symbols[i]));
	symbol_table_sort(&table);
	CHECK_EQUAL(table.count, 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct symbol *symbol = symbol_table_find(&table, cases[i].address);

		CHECK_STRING(symbol ? symbol->name : "-", cases[i].name);
	}
	for (size_t i = 0; i < sizeof(near_cases) / sizeof(near_cases[0]); i++) {
		const struct symbol *symbol = symbol_table_near(&table, near_cases[i].address);

		CHECK_STRING(symbol ? symbol->name : "-", near_cases[i].name);
	}
	symbol_table_deinit(&table);
	return CHECK_RESULT();
}
