// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"
#include "views/line_wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WARNINGS_MOST = 100, WIDTH_LEAST = 80, WIDTH_MOST = 200 };

static struct {
	bool quiet, verbose, progress, json, wide;
	bool output_is_taken;          // by a profile or a command: results go to standard error
	bool interrupted;              // an error said so
	pid_t pid;                     // as in console_begin_process; 0 = none
	bool line_open;                // a progress line stands on the terminal
	uint64_t shown_at;             // ns
	char *warnings[WARNINGS_MOST]; // with --json: for the object; owned
	size_t warning_count;
} console;

static const char no_memory[] = "(out of memory for a message)";

static void clear_line(void)
{
	if (console.line_open)
		fputs("\r\033[K", stderr);
	console.line_open = false;
}

// The one way of a text to the terminal: it may have names from the target in it.
static void write_line(FILE *file, const char *prefix, const char *text)
{
	char *printable = hs_printable(text);

	clear_line();
	if (file == stderr)
		fflush(stdout); // so that where both are one file, what comes first stands first
	fprintf(file, "%s%s\n", prefix, printable ? printable : no_memory);
	free(printable);
}

// A line in as many as it takes.
static void write_wrapped(FILE *file, char *text, size_t width)
{
	const size_t begin = strspn(text, " "), indent = line_indent(text, width);
	size_t size = begin < width ? begin + line_fit(text + begin, width - begin) : strlen(text);
	char spaces[WIDTH_MOST + 1];
	const char *before = "";

	snprintf(spaces, sizeof(spaces), "%*s", (int)indent, "");
	for (;;) {
		const bool is_last = !text[size];

		text[size] = 0;
		write_line(file, before, text);
		if (is_last)
			return;
		text += size + 1;
		before = spaces;
		size = line_fit(text, width - indent);
	}
}

// `format` ends with the one newline that is meant, which goes. Owned by the caller; NULL = there is no memory.
static HS_PRINTF(1, 0) char *format_line(const char *format, va_list arguments)
{
	char *text;
	int length = vasprintf(&text, format, arguments);

	if (length < 0)
		return NULL;
	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = 0;
	return text;
}

// Columns of a terminal; 0 = as many as it takes.
static unsigned terminal_width(int fd, bool is_wide)
{
	struct winsize size;

	if (is_wide || ioctl(fd, TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col > WIDTH_MOST ? WIDTH_MOST : size.ws_col;
}

// What is wrong, or belongs to it: on a terminal in as many lines as it takes.
static void write_message(const char *prefix, const char *text)
{
	const unsigned width = terminal_width(STDERR_FILENO, console.wide);
	HS_CLEANUP_FREE char *printable = width ? hs_printable(text) : NULL, *whole = NULL;

	if (printable && asprintf(&whole, "%s%s", prefix, printable) < 0)
		whole = NULL;
	if (whole)
		write_wrapped(stderr, whole, width);
	else
		write_line(stderr, prefix, text);
}

static HS_PRINTF(2, 0) void write_formatted(const char *prefix, const char *format, va_list arguments)
{
	HS_CLEANUP_FREE char *text = format_line(format, arguments);

	write_message(prefix, text ? text : no_memory);
}

// False: there is no room or no memory for it.
static bool keep_warning(const char *message)
{
	char **kept = console.warning_count < WARNINGS_MOST ? &console.warnings[console.warning_count] : NULL;

	if (!kept || !(*kept = strdup(message)))
		return false;
	console.warning_count++;
	return true;
}

// Those that no object has told.
static void show_kept(void)
{
	for (size_t i = 0; i < console.warning_count; i++) {
		write_message("heapsnap: warning: ", console.warnings[i]);
		free(console.warnings[i]);
	}
	console.warning_count = 0;
}

bool console_end_json(struct json *json)
{
	json_open(json, "warnings", '[');
	for (size_t i = 0; i < console.warning_count; i++) {
		json_string(json, NULL, console.warnings[i]);
		free(console.warnings[i]);
	}
	console.warning_count = 0;
	json_close(json, ']');
	return json_end(json);
}

static void show_message(enum hs_log_level level, const char *message)
{
	if ((level == HS_LOG_VERBOSE && !console.verbose) || console.quiet)
		return;
	if (console.json && level == HS_LOG_WARNING && keep_warning(message))
		return;
	write_message(level == HS_LOG_WARNING ? "heapsnap: warning: " : "heapsnap: ", message);
}

// At most ten times a second.
static void show_progress(const char *what, unsigned long done, unsigned long total)
{
	uint64_t now = hs_monotonic_ns();

	if (now - console.shown_at < 100000000u)
		return;
	console.shown_at = now;
	console.line_open = true;
	if (total)
		fprintf(stderr, "\r\033[K%s: %lu of %lu", what, done, total);
	else
		fprintf(stderr, "\r\033[K%s ...", what);
	fflush(stderr);
}

void console_init(const struct options *options)
{
	console.quiet = options->quiet;
	console.json = options->json;
	console.wide = options->wide;
	console.output_is_taken =
		options->command == COMMAND_RUN || (options->output && strcmp(options->output, "-") == 0);
	console.verbose = options->verbose;
	console.progress = !options->quiet && isatty(STDERR_FILENO);
	console.shown_at = hs_monotonic_ns(); // short work shows nothing
	hs_log_set_sink(show_message);
	if (console.progress)
		hs_progress_set_sink(show_progress);
}

void console_print(const struct options *options, const char *format, ...)
{
	FILE *file = console.output_is_taken ? stderr : stdout;
	HS_CLEANUP_FREE char *text = NULL;
	va_list arguments;
	unsigned width;

	if (options->quiet || options->json)
		return;
	width = console_width(options);
	va_start(arguments, format);
	text = format_line(format, arguments);
	va_end(arguments);
	if (text && width)
		write_wrapped(file, text, width);
	else
		write_line(file, "", text ? text : no_memory);
}

void console_print_row(const struct options *options, const char *row)
{
	if (!options->quiet && !options->json)
		write_line(console.output_is_taken ? stderr : stdout, "", row);
}

void console_complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_formatted("heapsnap: ", format, arguments);
	va_end(arguments);
}

void console_explain(const struct options *options, const char *format, ...)
{
	va_list arguments;

	if (options->quiet)
		return;
	va_start(arguments, format);
	write_formatted("", format, arguments);
	va_end(arguments);
}

unsigned console_width(const struct options *options)
{
	return terminal_width(console.output_is_taken ? STDERR_FILENO : STDOUT_FILENO, options->wide);
}

static const char *code_name(enum hs_error_code code)
{
	switch (code) {
	case HS_ERROR_SYSTEM:
		return "system";
	case HS_ERROR_NO_MEMORY:
		return "no_memory";
	case HS_ERROR_REFUSED:
	case HS_ERROR_REFUSED_FOR_GOOD:
		return "refused";
	case HS_ERROR_GONE:
		return "gone";
	case HS_ERROR_TIMEOUT:
		return "timeout";
	case HS_ERROR_INTERRUPTED:
		return "interrupted";
	case HS_ERROR_BAD_DATA:
		return "bad_data";
	case HS_ERROR_NOT_FOUND:
		return "not_found";
	case HS_ERROR_REMOTE:
		return "remote";
	case HS_ERROR_FAULT:
		return "fault";
	}
	return "unknown";
}

void console_put_error(const char *code, const char *message)
{
	struct json json;

	json_begin(&json, stdout);
	json_open(&json, "error", '{');
	json_string(&json, "code", code);
	json_string(&json, "message", message);
	if (console.pid)
		json_number(&json, "pid", (uint64_t)console.pid);
	json_close(&json, '}');
	json_end(&json);
}

enum exit_status console_fail(const struct options *options, struct hs_error *error)
{
	char *message = hs_printable(error->message); // also for JSON, whose readers show it

	show_kept();
	console.interrupted |= error->code == HS_ERROR_INTERRUPTED;
	write_message("heapsnap: ", error->message);
	if (options->json)
		console_put_error(code_name(error->code), message ? message : "out of memory");
	free(message);
	hs_error_destroy(error);
	return EXIT_REFUSED;
}

// Who reads a pipe may have read enough of it, as head does, and is told nothing.
static bool has_lost_reader(void)
{
	struct pollfd end = { .fd = STDOUT_FILENO };

	return poll(&end, 1, 0) == 1 && end.revents & POLLERR;
}

struct hs_error *console_json_error(void)
{
	return has_lost_reader() ? NULL : hs_error_create(HS_ERROR_SYSTEM, "standard output cannot be written");
}

bool console_is_written(void)
{
	const bool failed_before = ferror(stdout);

	errno = 0;
	if (fflush(stdout) == 0 && !failed_before)
		return true;
	if (errno != EPIPE && !has_lost_reader())
		console_complain("standard output cannot be written%s%s\n", errno ? ": " : "",
				 errno ? strerror(errno) : "");
	return false;
}

bool console_was_interrupted(void) { return console.interrupted; }

void console_begin_process(const struct options *options, pid_t pid, const char *name, bool has_heading)
{
	if (console.pid) // what no object has told is not to stand in one of another process
		show_kept();
	console.pid = pid;
	if (!has_heading)
		return;
	if (name[0])
		console_print(options, "process %d (%s):\n", (int)pid, name);
	else
		console_print(options, "process %d:\n", (int)pid);
}

const char *console_time(uint64_t nanoseconds, char *buffer)
{
	if (nanoseconds < 1000000)
		snprintf(buffer, 32, "%.0f us", (double)nanoseconds / 1e3);
	else if (nanoseconds < 1000000000)
		snprintf(buffer, 32, "%.1f ms", (double)nanoseconds / 1e6);
	else
		snprintf(buffer, 32, "%.2f s", (double)nanoseconds / 1e9);
	return buffer;
}

const char *console_count(size_t count, const char *what, char *buffer)
{
	snprintf(buffer, COUNT_SIZE, "%zu %s%s", count, what, count == 1 ? "" : "s");
	return buffer;
}
