// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/symbols/symbol_answer.h"
#include "snapshot/symbols/symbol_messages.h"

#include <stdbool.h>
#include <stdlib.h>

enum { ADDRESSES = 4 };

// Items under construction.
static struct {
	uint8_t bytes[SYMBOL_MESSAGE_MAX];
	size_t size;
} message;

static void begin(void) { message.size = 0; }

static void put(const void *data, size_t size)
{
	memcpy(message.bytes + message.size, data, size);
	message.size += size;
}

static void u32(uint32_t value) { put(&value, sizeof(value)); }

static void u64(uint64_t value) { put(&value, sizeof(value)); }

static void function(const char *name, const char *system_name, const char *file, uint64_t start_line)
{
	u32(SYMBOL_ITEM_FUNCTION);
	u32((uint32_t)strlen(name));
	u32((uint32_t)strlen(system_name));
	u32((uint32_t)strlen(file));
	u64(start_line);
	put(name, strlen(name));
	put(system_name, strlen(system_name));
	put(file, strlen(file));
}

static void location_of(uint32_t index, uint32_t flags, uint32_t count)
{
	u32(SYMBOL_ITEM_LOCATION);
	u32(index);
	u32(flags);
	u32(count);
}

static void location(uint32_t index, uint32_t count) { location_of(index, SYMBOL_HAS_INLINED, count); }

static void line(uint32_t number, uint64_t value)
{
	u32(number);
	u64(value);
}

static bool is_taken(struct symbol_answer *answer)
{
	struct hs_error *error = symbol_answer_take(answer, message.bytes, message.size);
	bool taken = !error;

	if (error)
		CHECK_EQUAL(error->code, HS_ERROR_BAD_DATA);
	hs_error_destroy(error);
	return taken;
}

// The message is taken by a fresh answer that knows one function already, number 0.
static bool is_taken_alone(void)
{
	static uint8_t saved[SYMBOL_MESSAGE_MAX];
	size_t size = message.size;
	struct symbol_answer answer;
	bool taken;

	memcpy(saved, message.bytes, size);
	CHECK(!symbol_answer_init(ADDRESSES, &answer));
	begin();
	function("", "known", "", 0);
	CHECK(is_taken(&answer));
	memcpy(message.bytes, saved, size);
	message.size = size;
	taken = is_taken(&answer);
	symbol_answer_deinit(&answer);
	return taken;
}

static void test_good(void)
{
	struct symbol_answer answer;

	CHECK(!symbol_answer_init(ADDRESSES, &answer));
	begin();
	function("f(int)", "_Z1fi", "f.cc", 10);
	function("", "main", "", 0);
	location(2, 2);
	line(0, 12);
	line(1, 0);
	CHECK(is_taken(&answer));
	begin();
	function("f(int)", "_Z1fi", "f.cc", 10); // said twice: another number of the same function
	location(0, 1);
	line(2, 13);
	location(3, 0);
	CHECK(is_taken(&answer));
	CHECK_EQUAL(answer.functions.count, 2);
	CHECK_STRING(answer.functions.items[0].name, "f(int)");
	CHECK_STRING(answer.functions.items[0].system_name, "_Z1fi");
	CHECK_STRING(answer.functions.items[0].file, "f.cc");
	CHECK_EQUAL(answer.functions.items[0].start_line, 10);
	CHECK_STRING(answer.functions.items[1].name, "main");
	CHECK_EQUAL(answer.locations[2].first_line, 0);
	CHECK_EQUAL(answer.locations[2].line_count, 2);
	CHECK(answer.locations[2].has_inlined);
	CHECK_EQUAL(answer.lines[0].function, 0);
	CHECK_EQUAL(answer.lines[0].line, 12);
	CHECK_EQUAL(answer.lines[1].function, 1);
	CHECK_EQUAL(answer.lines[2].function, 0);
	CHECK_EQUAL(answer.lines[2].line, 13);
	CHECK(!answer.locations[1].is_answered);
	CHECK_EQUAL(answer.locations[1].line_count, 0);
	CHECK(answer.locations[3].is_answered);
	symbol_answer_deinit(&answer);
}

// Longer than 60 lines: a table of cases.
static void test_bad(void)
{
	begin();
	u32(99);
	CHECK(!is_taken_alone());

	begin();
	location(ADDRESSES, 0);
	CHECK(!is_taken_alone());

	begin();
	location(1, 0);
	CHECK(is_taken_alone());
	location(1, 0); // answered twice
	CHECK(!is_taken_alone());

	begin();
	location(1, 1);
	line(1, 1); // no such function
	CHECK(!is_taken_alone());

	begin();
	location(1, 1);
	line(0, UINT64_MAX);
	CHECK(!is_taken_alone());

	begin();
	location(1, SYMBOL_LINES_MAX + 1);
	for (int i = 0; i <= SYMBOL_LINES_MAX; i++)
		line(0, 1);
	CHECK(!is_taken_alone());

	begin();
	function("", "", "", 0);
	CHECK(!is_taken_alone());

	begin();
	function("a", "b", "c", UINT64_C(1) << 63);
	CHECK(!is_taken_alone());

	begin();
	function("name", "system", "file", 1);
	message.bytes[message.size - 2] = 0; // a 0 byte inside a text
	CHECK(!is_taken_alone());

	begin();
	u32(SYMBOL_ITEM_FUNCTION);
	u32(0);
	u32(SYMBOL_TEXT_MAX + 1);
	u32(0);
	u64(0);
	for (int i = 0; i <= SYMBOL_TEXT_MAX; i++)
		put("x", 1);
	CHECK(!is_taken_alone());

	// Cut off anywhere.
	begin();
	function("name", "system", "file", 1);
	location(0, 1);
	line(1, 1);

	size_t whole = message.size, taken = 0;

	CHECK(is_taken_alone());
	for (size_t size = 1; size < whole; size++) {
		message.size = size;
		taken += is_taken_alone();
	}
	CHECK_EQUAL(taken, 1); // behind the function
}

static const struct {
	const char *name, *system_name, *file;
	uint32_t flags, count;
	uint64_t line;
	bool is_taken;
} guesses[] = {
	{ "near f(int)+0x1a", "near _Z1fi+0x1a", "", SYMBOL_IS_GUESS, 1, 0, true },
	{ "", "near f+0x1a", "", SYMBOL_IS_GUESS, 1, 0, true },
	{ "", "near f+0x1a", "", 0, 1, 0, true }, // some function's name, then
	{ "f(int)", "near f+0x1a", "", SYMBOL_IS_GUESS, 1, 0, false },
	{ "near f+0x1a", "f", "", SYMBOL_IS_GUESS, 1, 0, false },
	{ "", "f", "", SYMBOL_IS_GUESS, 1, 0, false },
	{ "", "near f+0x1a", "f.c", SYMBOL_IS_GUESS, 1, 0, false },
	{ "", "near f+0x1a", "", SYMBOL_IS_GUESS, 1, 7, false },
	{ "", "near f+0x1a", "", SYMBOL_IS_GUESS, 2, 0, false },
	{ "", "near f+0x1a", "", SYMBOL_IS_GUESS, 0, 0, false },
	{ "", "near f+0x1a", "", SYMBOL_IS_GUESS | SYMBOL_HAS_INLINED, 1, 0, false },
};

static void test_guesses(void)
{
	for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
		begin();
		function(guesses[i].name, guesses[i].system_name, guesses[i].file, 0);
		location_of(0, guesses[i].flags, guesses[i].count);
		for (uint32_t j = 0; j < guesses[i].count; j++)
			line(1, guesses[i].line);
		CHECK_EQUAL(is_taken_alone(), guesses[i].is_taken);
	}
}

// No more functions than the locations can name.
static void test_too_many(void)
{
	struct symbol_answer answer;
	size_t taken = 0;
	char name[32];

	CHECK(!symbol_answer_init(ADDRESSES, &answer));
	for (int i = 0; i <= ADDRESSES * SYMBOL_LINES_MAX; i++) {
		begin();
		snprintf(name, sizeof(name), "f%d", i);
		function("", name, "", 0);
		taken += is_taken(&answer);
	}
	CHECK_EQUAL(taken, ADDRESSES * SYMBOL_LINES_MAX);
	symbol_answer_deinit(&answer);
}

int main(void)
{
	test_good();
	test_bad();
	test_guesses();
	test_too_many();
	return CHECK_RESULT();
}
