// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include "base/message_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static hs_log_sink *log_sink;
static hs_progress_sink *progress_sink;
static bool held;
static struct message_queue queue;

void hs_log_set_sink(hs_log_sink *sink) { log_sink = sink; }

static HS_PRINTF(2, 0) void log_message(enum hs_log_level level, const char *format, va_list arguments)
{
	char *message;

	if (!log_sink)
		return;
	if (held) {
		message_queue_put(&queue, level, format, arguments);
		return;
	}
	if (vasprintf(&message, format, arguments) < 0) {
		log_sink(level, "out of memory for a message");
		return;
	}
	log_sink(level, message);
	free(message);
}

void hs_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_message(HS_LOG_WARNING, format, arguments);
	va_end(arguments);
}

void hs_verbose(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_message(HS_LOG_VERBOSE, format, arguments);
	va_end(arguments);
}

void hs_log_hold(void) { held = true; }

void hs_log_release(void)
{
	held = false;
	message_queue_flush(&queue, log_sink);
}

void hs_progress_set_sink(hs_progress_sink *sink) { progress_sink = sink; }

void hs_progress(const char *what, unsigned long done, unsigned long total)
{
	if (progress_sink && !held)
		progress_sink(what, done, total);
}
