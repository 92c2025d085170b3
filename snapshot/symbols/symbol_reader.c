// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbol_reader.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/test_variable.h"
#include "snapshot/symbols/debug_info.h"
#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/function_table.h"
#include "snapshot/symbols/perf_map.h"
#include "snapshot/symbols/symbol_files.h"
#include "snapshot/symbols/symbol_messages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// A message on its way.
struct writer {
	int socket;
	size_t size;
	uint32_t sent;
	bool is_cut_off; // the tool is gone
	uint8_t bytes[SYMBOL_MESSAGE_MAX];
};

static void put(struct writer *writer, const void *data, size_t size)
{
	memcpy(writer->bytes + writer->size, data, size);
	writer->size += size;
}

static void put_u32(struct writer *writer, uint32_t value) { put(writer, &value, sizeof(value)); }

static void put_u64(struct writer *writer, uint64_t value) { put(writer, &value, sizeof(value)); }

static void flush(struct writer *writer)
{
	if (writer->size <= sizeof(uint32_t))
		return;
	if (send(writer->socket, writer->bytes, writer->size, MSG_NOSIGNAL) != (ssize_t)writer->size)
		writer->is_cut_off = true;
	writer->size = 0;
	writer->sent++;
}

// Begins an item that takes `size` bytes, in this message or the next.
static void begin_item(struct writer *writer, enum symbol_item kind, size_t size)
{
	if (writer->size + sizeof(uint32_t) + size > sizeof(writer->bytes))
		flush(writer);
	if (writer->size == 0)
		put_u32(writer, SYMBOL_ITEMS);
	put_u32(writer, kind);
}

static void send_reason(int socket, const struct hs_error *error)
{
	uint32_t head[2] = { SYMBOL_FAILED, error->code == HS_ERROR_NOT_FOUND };
	uint8_t message[sizeof(head) + SYMBOL_REASON_MAX];
	size_t size = strnlen(error->message, SYMBOL_REASON_MAX);

	memcpy(message, head, sizeof(head));
	memcpy(message + sizeof(head), error->message, size);
	send(socket, message, sizeof(head) + size, MSG_NOSIGNAL);
}

enum { GUESS_NAME_MAX = SYMBOL_TEXT_MAX - 64 }; // of the neighbour, so that the offset has room

static uint32_t text_size(const char *text) { return (uint32_t)strnlen(text, SYMBOL_TEXT_MAX); }

// `demangled` NULL: the name is the system name.
static void put_function(struct writer *writer, const struct debug_frame *frame, const char *file,
			 const char *demangled)
{
	uint32_t name_size = demangled && strlen(demangled) <= SYMBOL_TEXT_MAX ? text_size(demangled) : 0;
	uint32_t system_size = text_size(frame->system_name), file_size = text_size(file);

	begin_item(writer, SYMBOL_ITEM_FUNCTION,
		   3 * sizeof(uint32_t) + sizeof(uint64_t) + name_size + system_size + file_size);
	put_u32(writer, name_size);
	put_u32(writer, system_size);
	put_u32(writer, file_size);
	put_u64(writer, frame->start_line > 0 ? (uint64_t)frame->start_line : 0);
	if (name_size)
		put(writer, demangled, name_size);
	put(writer, frame->system_name, system_size);
	put(writer, file, file_size);
}

// The number of a frame's function; says what it is when it is the first time.
static struct hs_error *number_of(struct writer *writer, struct function_table *functions,
				  const struct debug_frame *frame, uint32_t *number_ret)
{
	const char *file = frame->file ? frame->file : "";
	size_t known = functions->count;
	struct hs_error *error = function_table_add(
		functions, &(struct function_text){ "", frame->system_name, file, frame->start_line }, number_ret);

	if (!error && functions->count > known) {
		char *demangled = demangle(frame->system_name);

		put_function(writer, frame, file, demangled);
		free(demangled);
	}
	return error;
}

// The number of what stands for a function that has no name: "near NAME+0xOFFSET".
static struct hs_error *number_of_guess(struct writer *writer, struct function_table *functions,
					const struct debug_frame *frame, uint32_t *number_ret)
{
	HS_CLEANUP_FREE char *system_name = NULL;
	HS_CLEANUP_FREE char *name = NULL;
	char *demangled = demangle(frame->system_name);
	struct hs_error *error =
		hs_format(&system_name, "near %.*s+0x%" PRIx64, (int)GUESS_NAME_MAX, frame->system_name, frame->near);
	struct debug_frame guess = { .system_name = system_name };
	size_t known = functions->count;

	if (!error && demangled)
		error = hs_format(&name, "near %s+0x%" PRIx64, demangled, frame->near);
	free(demangled);
	if (!error)
		error = function_table_add(functions, &(struct function_text){ "", system_name, "", 0 }, number_ret);
	if (!error && functions->count > known)
		put_function(writer, &guess, "", name);
	return error;
}

static struct hs_error *answer_address(struct writer *writer, struct debug_info *info, struct function_table *functions,
				       uint64_t address, uint32_t index)
{
	struct debug_frame frames[DEBUG_FRAMES_LIMIT];
	uint32_t numbers[DEBUG_FRAMES_LIMIT];
	uint32_t flags = 0;
	bool has_inlined, is_wrapper = false;
	size_t count;
	struct hs_error *error = debug_info_lookup(info, address, frames, &count, &has_inlined);

	for (size_t i = 0; i < count && !error; i++) {
		if (!*frames[i].system_name)
			frames[i].system_name = "?";
		error = frames[i].near ? number_of_guess(writer, functions, &frames[i], &numbers[i])
				       : number_of(writer, functions, &frames[i], &numbers[i]);
		flags |= frames[i].near ? SYMBOL_IS_GUESS : 0;
	}
	if (!error && count > 0 && !(flags & SYMBOL_IS_GUESS))
		error = debug_info_is_wrapper(info, address, &is_wrapper);
	if (error)
		return error;
	begin_item(writer, SYMBOL_ITEM_LOCATION, 3 * sizeof(uint32_t) + count * (sizeof(uint32_t) + sizeof(uint64_t)));
	put_u32(writer, index);
	put_u32(writer, flags | (has_inlined ? SYMBOL_HAS_INLINED : 0) | (is_wrapper ? SYMBOL_IS_WRAPPER : 0));
	put_u32(writer, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		put_u32(writer, numbers[i]);
		put_u64(writer, frames[i].line > 0 ? (uint64_t)frames[i].line : 0);
	}
	return NULL;
}

// For tests, what a file might make of this process: HEAPSNAP_TEST_SYMBOL_CHILD=KIND:TEXT for modules whose path holds
// TEXT.
static void go_wrong_for_test(int socket, const char *path)
{
	const char *order = hs_test_variable("HEAPSNAP_TEST_SYMBOL_CHILD"), *text = order ? strchr(order, ':') : NULL;
	uint32_t rubbish[] = { SYMBOL_ITEMS, SYMBOL_ITEM_LOCATION, UINT32_MAX, 0, UINT32_MAX };

	if (!text || !strstr(path, text + 1))
		return;
	if (strncmp(order, "crash:", 6) == 0)
		__builtin_trap();
	else if (strncmp(order, "rubbish:", 8) == 0)
		send(socket, rubbish, sizeof(rubbish), MSG_NOSIGNAL);
	else if (strncmp(order, "loop:", 5) == 0)
		for (volatile int i = 0;; i++)
			;
}

static bool accept_any(int fd, bool is_mapped, void *context)
{
	(void)fd;
	(void)is_mapped;
	(void)context;
	return true;
}

static struct hs_error *read_perf_map(int fd, char **text_ret, size_t *size_ret)
{
	struct stat status;
	char *text;
	struct hs_error *error;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0 || status.st_size > PERF_MAP_MAX)
		return hs_error_create(HS_ERROR_NOT_FOUND, "no perf map of a size that can be read");
	text = malloc((size_t)status.st_size + 1);
	error = text ? hs_pread_exact(fd, text, (size_t)status.st_size, 0) : &hs_error_no_memory;
	*text_ret = text;
	*size_ret = (size_t)status.st_size;
	return error;
}

// The number of what code made at run time is of; *line_ret is 0 unless it is a function of a script.
static struct hs_error *number_of_made_code(struct writer *writer, struct function_table *functions, const char *name,
					    uint32_t *number_ret, int64_t *line_ret)
{
	HS_CLEANUP_FREE char *function = NULL, *file = NULL;
	struct debug_frame frame = { .system_name = name };
	struct script_function script;
	struct hs_error *error = NULL;

	if (perf_map_script_function(name, &script)) {
		error = script.name_size ? hs_format(&function, "JS:%.*s", (int)script.name_size, script.name)
					 : hs_format(&function, "JS:(anonymous)");
		if (!error)
			error = hs_format(&file, "%.*s", (int)script.file_size, script.file);
		frame = (struct debug_frame){ .system_name = function, .file = file, .start_line = script.line };
	}
	*line_ret = frame.start_line;
	return error ? error : number_of(writer, functions, &frame, number_ret);
}

static struct hs_error *answer_from_perf_map(struct writer *writer, const struct symbol_question *question)
{
	struct function_table functions = { 0 };
	struct perf_map map;
	size_t size = 0;
	char *text = NULL;
	struct hs_error *error = read_perf_map(symbol_files_find(writer->socket, accept_any, NULL), &text, &size);

	if (!error)
		error = perf_map_parse(text, size, &map);
	for (size_t i = 0; i < question->count && !error; i++) {
		const char *name = perf_map_find(&map, question->addresses[i]);
		uint32_t number;
		int64_t line;

		if (!name)
			continue;
		error = number_of_made_code(writer, &functions, name, &number, &line);
		if (error)
			break;
		begin_item(writer, SYMBOL_ITEM_LOCATION, 3 * sizeof(uint32_t) + sizeof(uint32_t) + sizeof(uint64_t));
		put_u32(writer, (uint32_t)i);
		put_u32(writer, 0);
		put_u32(writer, 1);
		put_u32(writer, number);
		put_u64(writer, (uint64_t)line);
	}
	return error;
}

static struct hs_error *answer_from_module(struct writer *writer, const struct symbol_question *question,
					   bool *stripped_ret)
{
	struct function_table functions = { 0 };
	struct debug_info *info;
	struct hs_error *error = debug_info_open(writer->socket, question->module, &info);

	for (size_t i = 0; i < question->count && !error && !writer->is_cut_off; i++)
		error = answer_address(writer, info, &functions, question->addresses[i] - question->module->load_bias,
				       (uint32_t)i);
	*stripped_ret = !error && debug_info_is_stripped(info);
	return error;
}

void symbol_reader_run(int socket, void *context)
{
	const struct symbol_question *question = context;
	struct writer *writer = calloc(1, sizeof(*writer));
	bool is_stripped = false;
	struct hs_error *error;

	if (!writer)
		return;
	writer->socket = socket;
	go_wrong_for_test(socket, question->module ? question->module->path : "perf map");
	error = question->module ? answer_from_module(writer, question, &is_stripped)
				 : answer_from_perf_map(writer, question);
	if (error) {
		send_reason(socket, error);
		return;
	}
	flush(writer);

	uint32_t done[3] = { SYMBOL_DONE, writer->sent, is_stripped };

	send(socket, done, sizeof(done), MSG_NOSIGNAL); // the process ends now, and its memory with it
}
