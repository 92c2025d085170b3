// SPDX-License-Identifier: Apache-2.0
// The processes that a command works on, one or more.
#ifndef HEAPSNAP_LIB_CHOOSE_PROCESSES_H
#define HEAPSNAP_LIB_CHOOSE_PROCESSES_H

#include "base/error.h"
#include "base/process.h"
#include "lib/process_filter.h"

#include <stdbool.h>
#include <stddef.h>

enum { HS_CHOSEN_MAX = 1000, HS_CHOSEN_NAME_SIZE = 32, HS_CHOSEN_TEXT_SIZE = 400 };

struct hs_process_choice {
	const char *const *pids; // as users type them, borrowed
	size_t pid_count;
	struct hs_process_filter filter; // counts only where there are no numbers
	// Of those that the filter means, only such as have something of heapsnap in them, or may not be asked.
	bool attached;
};

struct hs_chosen_process {
	// By a number: ready to be worked on, or, where there is none of that number, closed: what is asked of it then
	// says so. By a filter: only glanced at, so process_hold comes first, which says whether it has ended since.
	struct process process;
	char name[HS_CHOSEN_NAME_SIZE]; // comm; "" = not known
};

struct hs_chosen {
	struct hs_chosen_process *items; // in the order in which they were named, each once; else by number
	size_t count;                    // at least 1
	size_t room;
	bool by_filter;
	size_t not_looked_at;                        // processes that may have been meant, and may not be looked at
	size_t not_attached;                         // that were meant, and left out for that
	char not_attached_text[HS_CHOSEN_TEXT_SIZE]; // of them, as hs_chosen_text
};

// A filter means no kernel thread, nothing that has ended, no heapsnap, and none of those that this one was started by
// (sudo, a shell): their command lines have its words. HS_ERROR_NOT_FOUND: a number is none (hs_pid_is_number), or
// there is no such process or user; HS_ERROR_BAD_DATA: as hs_process_filter_check; HS_ERROR_REFUSED: more than
// HS_CHOSEN_MAX; HS_ERROR_SYSTEM: /proc or /etc/passwd cannot be read; HS_ERROR_INTERRUPTED; HS_ERROR_NO_MEMORY. *ret
// is the caller's (hs_chosen_deinit) on success; on failure it is empty.
struct hs_error *hs_choose_processes(const struct hs_process_choice *choice, struct hs_chosen *ret) HS_MUST_CHECK;
void hs_chosen_deinit(struct hs_chosen *chosen);

// What the user asks for: "--name 'redis' --user 'www'". Cut to the size of the buffer, which is returned.
const char *hs_process_filter_text(const struct hs_process_filter *filter, char *buffer, size_t size);

// "123 (redis-server), 124 (redis-server)"; of more than eight ", ... (5 more)". Returns the buffer.
const char *hs_chosen_text(const struct hs_chosen_process *items, size_t count,
			   char buffer[static HS_CHOSEN_TEXT_SIZE]);

// The words of its command line, or its name where there is none or it cannot be read; cut to the size of the buffer,
// which is returned.
const char *hs_chosen_command(const struct hs_chosen_process *chosen, char *buffer, size_t size);

#endif
