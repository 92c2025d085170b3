// SPDX-License-Identifier: Apache-2.0
// Errors are values: a function that can fail returns struct hs_error *, and NULL is success.
// A message is one line, says what happened and what to do, and names no internal function.
#ifndef HEAPSNAP_BASE_ERROR_H
#define HEAPSNAP_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_MUST_CHECK                        __attribute__((warn_unused_result))
#define HS_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))

enum hs_error_code {
	HS_ERROR_SYSTEM, // a system call failed; `error_number` is its errno
	HS_ERROR_NO_MEMORY,
	HS_ERROR_REFUSED,          // will not be done, and nothing was touched
	HS_ERROR_REFUSED_FOR_GOOD, // as that, and another moment would not suit better
	HS_ERROR_GONE,             // the target died or is exiting
	HS_ERROR_TIMEOUT,          // the target did not stop or did not leave the payload in time
	HS_ERROR_INTERRUPTED,      // the user interrupted the tool
	HS_ERROR_BAD_DATA,         // bytes that do not say what they must (region, ELF, maps)
	HS_ERROR_NOT_FOUND,
	HS_ERROR_REMOTE, // a system call made in the target failed; `error_number` is its errno
	HS_ERROR_FAULT,  // address not readable or not writable in the target
};

struct hs_error {
	enum hs_error_code code;
	int error_number; // errno value; 0 = none
	char *message;    // owned; static for the out-of-memory object
	uint64_t address; // of HS_ERROR_FAULT: where in the target; 0 = not said
};

// Returns a new error owned by the caller; the static out-of-memory error when there is no memory. Never NULL.
struct hs_error *hs_error_create(enum hs_error_code code, const char *format, ...) HS_PRINTF(2, 3) HS_MUST_CHECK;

// As above with code HS_ERROR_SYSTEM; ": <text of error_number>" is added to the message.
struct hs_error *hs_error_system(int error_number, const char *format, ...) HS_PRINTF(2, 3) HS_MUST_CHECK;

// As hs_error_system with another code (HS_ERROR_REMOTE, say).
struct hs_error *hs_error_with_errno(enum hs_error_code code, int error_number, const char *format, ...)
	HS_PRINTF(3, 4) HS_MUST_CHECK;

// An error of the code HS_ERROR_FAULT that says where.
struct hs_error *hs_error_fault(int error_number, uint64_t address, const char *format, ...)
	HS_PRINTF(3, 4) HS_MUST_CHECK;

// Returns `error` with the formatted text and ": " put before its message. Takes ownership of `error`.
struct hs_error *hs_error_prefix(struct hs_error *error, const char *format, ...) HS_PRINTF(2, 3) HS_MUST_CHECK;

// Joins two errors, each may be NULL: the first keeps its code, the second's message is added after "; also: ".
// Takes ownership of both. For undoing that goes on after a failure and reports all of it.
struct hs_error *hs_error_join(struct hs_error *first, struct hs_error *second) HS_MUST_CHECK;

extern struct hs_error hs_error_no_memory;

// Whether a call failed with this errno because the tool or the system has no descriptor or no memory left, and not
// because of what it was asked for: then the next call fails as well.
bool hs_errno_is_shortage(int error_number);

// Frees an error. NULL and the static object are allowed.
void hs_error_destroy(struct hs_error *error);

#endif
