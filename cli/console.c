// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
	bool quiet, verbose, progress;
	bool line_open;    // a progress line stands on the terminal
	uint64_t shown_at; // ns
} console;

static void clear_line(void)
{
	if (console.line_open)
		fputs("\r\033[K", stderr);
	console.line_open = false;
}

// The one way of a text to the terminal: it may have names from the target in it.
static void write_line(const char *prefix, const char *text)
{
	char *printable = hs_printable(text);

	clear_line();
	fprintf(stderr, "%s%s\n", prefix, printable ? printable : "(out of memory for a message)");
	free(printable);
}

// `format` ends with the one newline that is meant.
static HS_PRINTF(2, 0) void write_formatted(const char *prefix, const char *format, va_list arguments)
{
	char *text;
	int length = vasprintf(&text, format, arguments);

	if (length < 0) {
		write_line(prefix, "(out of memory for a message)");
		return;
	}
	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = 0;
	write_line(prefix, text);
	free(text);
}

static void show_message(enum hs_log_level level, const char *message)
{
	if ((level == HS_LOG_VERBOSE && !console.verbose) || console.quiet)
		return;
	write_line(level == HS_LOG_WARNING ? "heapsnap: warning: " : "heapsnap: ", message);
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
	console.verbose = options->verbose;
	console.progress = !options->quiet && isatty(STDERR_FILENO);
	console.shown_at = hs_monotonic_ns(); // short work shows nothing
	hs_log_set_sink(show_message);
	if (console.progress)
		hs_progress_set_sink(show_progress);
}

void console_print(const struct options *options, const char *format, ...)
{
	va_list arguments;

	if (options->quiet)
		return;
	va_start(arguments, format);
	write_formatted("", format, arguments);
	va_end(arguments);
}

void console_complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_formatted("heapsnap: ", format, arguments);
	va_end(arguments);
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
	json_close(&json, '}');
	json_end(&json);
}

enum exit_status console_fail(const struct options *options, struct hs_error *error)
{
	char *message = hs_printable(error->message); // also for JSON, whose readers show it

	write_line("heapsnap: ", error->message);
	if (options->json)
		console_put_error(code_name(error->code), message ? message : "out of memory");
	free(message);
	hs_error_destroy(error);
	return EXIT_REFUSED;
}

const char *console_bytes(uint64_t bytes, char *buffer)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(buffer, 32, "%" PRIu64 " B", bytes);
	else
		snprintf(buffer, 32, "%.1f %s", value, units[unit]);
	return buffer;
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
