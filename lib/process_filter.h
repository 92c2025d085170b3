// SPDX-License-Identifier: Apache-2.0
// Processes that are meant by what they are, not by their numbers. Pure, and so no word here of /proc.
#ifndef HEAPSNAP_LIB_PROCESS_FILTER_H
#define HEAPSNAP_LIB_PROCESS_FILTER_H

#include "base/error.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// As the user types it, borrowed; NULL = any. A process matches when all that is given does.
struct hs_process_filter {
	// POSIX extended regular expression, searched in the name (comm) and in the words of the command line with
	// blanks between them.
	const char *name;
	// Path of a control group of either version: it, and those below it; with or without /sys/fs/cgroup before it.
	const char *cgroup;
	// Of a container: the whole of its hexadecimal id, or the first 12 digits of it or more.
	const char *container;
	const char *user; // name or number of its effective user
};

static inline bool hs_process_filter_is_given(const struct hs_process_filter *filter)
{
	return filter->name || filter->cgroup || filter->container || filter->user;
}

// HS_ERROR_BAD_DATA: one of them cannot be understood; the message says which, and what is expected.
struct hs_error *hs_process_filter_check(const struct hs_process_filter *filter) HS_MUST_CHECK;

// The same, ready to be compared; without the user, whose number only the system knows.
struct process_filter {
	bool has_name;
	regex_t name;
	char *cgroup;        // owned; NULL = any; "" or "/a/b": neither a slash at the end nor two in a row
	size_t mounted_size; // of the first part of it, its slash too, which may name a hierarchy; 0 = may not
	char *container;     // owned; NULL = any; lower case
};

// *ret may be given to process_filter_deinit whatever is returned. HS_ERROR_BAD_DATA as above; HS_ERROR_NO_MEMORY.
struct hs_error *process_filter_init(struct process_filter *ret, const struct hs_process_filter *given) HS_MUST_CHECK;
void process_filter_deinit(struct process_filter *filter);

// Whether the name is one that is meant; `command_line` as process_command_line makes it.
bool process_filter_has_name(const struct process_filter *filter, const char *name, const char *command_line);
// Whether a text of /proc/PID/cgroup, 0-terminated, says so.
bool process_filter_has_cgroup(const struct process_filter *filter, const char *text);
bool process_filter_has_container(const struct process_filter *filter, const char *text);

// Makes one line of the words of /proc/PID/cmdline, in place: text has `size` bytes and room for one more.
void process_command_line(char *text, size_t size);

// A number of a user: digits, below the one that means none (UINT32_MAX).
bool user_number(const char *text, uid_t *ret);
// The number of the user of that name in a text as in /etc/passwd (passwd(5)). False: there is none.
bool user_number_of_name(const char *passwd, const char *name, uid_t *ret);

#endif
