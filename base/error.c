// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char no_memory_message[] = "out of memory: free some memory on this machine and try again";

struct hs_error hs_error_no_memory = { HS_ERROR_NO_MEMORY, 0, no_memory_message, 0 };

// Takes ownership of `message`; NULL stands for a message that there was no memory for.
static struct hs_error *create(enum hs_error_code code, int error_number, char *message)
{
	struct hs_error *error = message ? malloc(sizeof(*error)) : NULL;

	if (!error) {
		free(message);
		return &hs_error_no_memory;
	}
	*error = (struct hs_error){ code, error_number, message, 0 };
	return error;
}

static char *format_message(const char *format, va_list arguments)
{
	char *message;

	return vasprintf(&message, format, arguments) < 0 ? NULL : message;
}

// Returns "<first><separator><second>" in fresh memory, NULL when there is none.
static char *join(const char *first, const char *separator, const char *second)
{
	char *message;

	return asprintf(&message, "%s%s%s", first, separator, second) < 0 ? NULL : message;
}

// Takes ownership of `message`, which may be NULL.
static struct hs_error *create_with_errno(enum hs_error_code code, int error_number, char *message)
{
	char buffer[128];
	char *with_reason = message ? join(message, ": ", strerror_r(error_number, buffer, sizeof(buffer))) : NULL;

	free(message);
	return create(code, error_number, with_reason);
}

struct hs_error *hs_error_create(enum hs_error_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *message = format_message(format, arguments);
	va_end(arguments);
	return create(code, 0, message);
}

struct hs_error *hs_error_system(int error_number, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *message = format_message(format, arguments);
	va_end(arguments);
	return create_with_errno(HS_ERROR_SYSTEM, error_number, message);
}

struct hs_error *hs_error_with_errno(enum hs_error_code code, int error_number, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *message = format_message(format, arguments);
	va_end(arguments);
	return create_with_errno(code, error_number, message);
}

struct hs_error *hs_error_fault(int error_number, uint64_t address, const char *format, ...)
{
	struct hs_error *error;
	va_list arguments;

	va_start(arguments, format);
	char *message = format_message(format, arguments);
	va_end(arguments);
	error = create_with_errno(HS_ERROR_FAULT, error_number, message);
	if (error != &hs_error_no_memory)
		error->address = address;
	return error;
}

struct hs_error *hs_error_prefix(struct hs_error *error, const char *format, ...)
{
	va_list arguments;

	// Nothing can be added to the static object, and an error must not get lost for want of its prefix.
	if (error == &hs_error_no_memory)
		return error;
	va_start(arguments, format);
	char *prefix = format_message(format, arguments);
	va_end(arguments);

	char *message = prefix ? join(prefix, ": ", error->message) : NULL;

	free(prefix);
	if (message) {
		free(error->message);
		error->message = message;
	}
	return error;
}

struct hs_error *hs_error_join(struct hs_error *first, struct hs_error *second)
{
	if (!first)
		return second;
	if (!second)
		return first;

	char *message = join(first->message, "; also: ", second->message);
	struct hs_error *joined = message ? create(first->code, first->error_number, message) : NULL;

	// Without memory for both, the first is the one to keep.
	if (!joined || joined == &hs_error_no_memory) {
		hs_error_destroy(second);
		return first;
	}
	joined->address = first->address;
	hs_error_destroy(first);
	hs_error_destroy(second);
	return joined;
}

bool hs_errno_is_shortage(int error_number)
{
	return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM;
}

void hs_error_destroy(struct hs_error *error)
{
	if (!error || error == &hs_error_no_memory)
		return;
	free(error->message);
	free(error);
}
