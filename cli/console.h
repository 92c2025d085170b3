// SPDX-License-Identifier: Apache-2.0
// What people see, on standard error.
#ifndef HEAPSNAP_CLI_CONSOLE_H
#define HEAPSNAP_CLI_CONSOLE_H

#include "base/error.h"
#include "cli/options.h"
#include "views/numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Connects log and progress to standard error as the options say. Progress lines only on a terminal.
void console_init(const struct options *options);

// Results go to standard output from now on, not to standard error: of a command whose result is the text, and not a
// process that was changed or a file that was written.
void console_results_to_output(void);

// A result for people, one line that ends with a newline; nothing with -q. Like all that is shown, it is made printable
// (base/printable.h) as a whole, so names from the target may stand in it as they are.
void console_print(const struct options *options, const char *format, ...) HS_PRINTF(2, 3);

// What is wrong, and no error that ends the command: also with -q. Likewise one line.
void console_complain(const char *format, ...) HS_PRINTF(1, 2);

// Reports the error (one line on standard error, with --json an object on standard output too), frees it, returns the
// exit status.
enum exit_status console_fail(const struct options *options, struct hs_error *error);

// Whether an error that was reported was an interrupt.
bool console_was_interrupted(void);

// What comes now is of this process, one of several or one that a filter means: JSON of errors names it, and a heading
// says so, if there is to be one: "process 123 (redis-server):".
void console_begin_process(const struct options *options, pid_t pid, const char *name, bool has_heading);

// Columns that a line of a result may have: those of the terminal, from 80 to 200; 0 = as many as it takes, where the
// lines go to no terminal or --wide is given.
unsigned console_width(const struct options *options);

// What takes the place of a command's object on standard output. `message` is printable.
void console_put_error(const char *code, const char *message);

enum { COUNT_SIZE = 64 };

// "1 thread", "2 threads" into a buffer of COUNT_SIZE bytes; returns the buffer. `what` is one whose plural ends in s.
const char *console_count(size_t count, const char *what, char *buffer);
// "12.3 ms" into a buffer of NUMBER_SIZE bytes, likewise.
const char *console_time(uint64_t nanoseconds, char *buffer);

#endif
