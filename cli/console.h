// SPDX-License-Identifier: Apache-2.0
// What people see: results on standard output, all else on standard error. Where a profile goes to standard output (-o
// -), or it is the command's (run), results stand on standard error, too.
#ifndef HEAPSNAP_CLI_CONSOLE_H
#define HEAPSNAP_CLI_CONSOLE_H

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "views/numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Connects results, log and progress to where the options say. Progress lines only on a terminal.
void console_init(const struct options *options);

// A result for people, one line that ends with a newline; nothing with -q, and with --json, where
// the object is the result. On a terminal a longer one goes on in the next line, further in. Like all that is shown, it
// is made printable (base/printable.h) as a whole, so names from the target may stand in it as they are.
void console_print(const struct options *options, const char *format, ...) HS_PRINTF(2, 3);

// The same of a row that is made to fit, or shall not be broken.
void console_print_row(const struct options *options, const char *row);

// Whether all results so far could be written; if not, says why.
bool console_is_written(void);

// What is wrong, and no error that ends the command: also with -q. Likewise one line, which a terminal has in several.
void console_complain(const char *format, ...) HS_PRINTF(1, 2);

// What belongs to an error that was reported: what has become of the process. On standard error, nothing with -q.
void console_explain(const struct options *options, const char *format, ...) HS_PRINTF(2, 3);

// Reports the error (one line on standard error, with --json an object on standard output too), frees it, returns the
// exit status.
enum exit_status console_fail(const struct options *options, struct hs_error *error);

// Whether an error that was reported was an interrupt.
bool console_was_interrupted(void);

// What comes now is of this process, one of several or one that a filter means: JSON of errors names it, and a heading
// says so, if there is to be one: "process 123 (redis-server):". Warnings that no object of the process before has told
// go to standard error; those before the first process are of all, and stand in its object.
void console_begin_process(const struct options *options, pid_t pid, const char *name, bool has_heading);

// Columns that a line of a result may have: those of the terminal, from 80 to 200; 0 = as many as it takes, where the
// lines go to no terminal or --wide is given.
unsigned console_width(const struct options *options);

// Ends the outermost object with what would have been warnings on standard error: "warnings", an array. Returns false
// when the stream failed.
bool console_end_json(struct json *json);
// After that has failed: why. NULL = the reader has closed the pipe.
struct hs_error *console_json_error(void) HS_MUST_CHECK;

// What takes the place of a command's object on standard output. `message` is printable.
void console_put_error(const char *code, const char *message);

enum { COUNT_SIZE = 64 };

// "1 thread", "2 threads" into a buffer of COUNT_SIZE bytes; returns the buffer. `what` is one whose plural ends in s.
const char *console_count(size_t count, const char *what, char *buffer);
// "12.3 ms" into a buffer of NUMBER_SIZE bytes, likewise.
const char *console_time(uint64_t nanoseconds, char *buffer);

#endif
