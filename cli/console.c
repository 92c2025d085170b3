// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	bool quiet, verbose, progress;
	bool line_open;   // a progress line stands on the terminal
	uint64_t shown_at; // ns
} console;

static void clear_line(void)
{
	if (console.line_open)
		fputs("\r\033[K", stderr);
	console.line_open = false;
}

static void show_message(enum hs_log_level level, const char *message)
{
	if ((level == HS_LOG_VERBOSE && !console.verbose) || console.quiet)
		return;
	clear_line();
	fprintf(stderr, "heapsnap: %s%s\n", level == HS_LOG_WARNING ? "warning: " : "", message);
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
	clear_line();
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

static const char *code_name(enum hs_error_code code)
{
	switch (code) {
	case HS_ERROR_SYSTEM: return "system";
	case HS_ERROR_NO_MEMORY: return "no_memory";
	case HS_ERROR_REFUSED: return "refused";
	case HS_ERROR_GONE: return "gone";
	case HS_ERROR_TIMEOUT: return "timeout";
	case HS_ERROR_INTERRUPTED: return "interrupted";
	case HS_ERROR_BAD_DATA: return "bad_data";
	case HS_ERROR_NOT_FOUND: return "not_found";
	case HS_ERROR_REMOTE: return "remote";
	case HS_ERROR_FAULT: return "fault";
	}
	return "unknown";
}

enum exit_status console_fail(const struct options *options, struct hs_error *error)
{
	char *message = console_safe_text(error->message);

	clear_line();
	fprintf(stderr, "heapsnap: %s\n", message ? message : "out of memory");
	if (options->json) {
		struct json json;

		json_begin(&json, stdout);
		json_open(&json, "error", '{');
		json_string(&json, "code", code_name(error->code));
		json_string(&json, "message", message ? message : "out of memory");
		json_close(&json, '}');
		json_end(&json);
	}
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

char *console_safe_text(const char *text)
{
	char *safe = strdup(text);

	for (char *c = safe; c && *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return safe;
}
