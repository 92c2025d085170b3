// SPDX-License-Identifier: Apache-2.0
// The terminal as one screen: standard input and output. There is one, so there are no handles.
#ifndef HEAPSNAP_CLI_TERMINAL_H
#define HEAPSNAP_CLI_TERMINAL_H

#include "base/error.h"
#include "base/process.h"
#include "cli/screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether there is one that can be written to anywhere; changes nothing. HS_ERROR_REFUSED: standard input or output is
// no terminal, or its type (TERM) is not known, or cannot do that.
struct hs_error *terminal_check(void) HS_MUST_CHECK;

// Takes the screen, keeps what stands on it, and gets keys one by one, without their echo; terminal_close gives all
// back as it was. In between that happens too where a fault or SIGQUIT ends the program. pre: terminal_check.
// HS_ERROR_SYSTEM.
struct hs_error *terminal_open(void) HS_MUST_CHECK;
void terminal_close(void); // more than once is allowed

// Where it does not say its size: 24 lines of 80.
void terminal_size(unsigned *lines_ret, unsigned *columns_ret);

// Shows a screen: what has changed since the last one. One that cannot be written is shown as a whole the next time.
// HS_ERROR_NO_MEMORY.
struct hs_error *terminal_show(const struct screen *screen) HS_MUST_CHECK;
void terminal_redraw(void); // the next one as a whole

// Bits of what has happened.
enum {
	TERMINAL_TYPED = 1,       // terminal_read has something
	TERMINAL_RESIZED = 2,     // or to be redrawn: the program was stopped
	TERMINAL_SUSPENDED = 4,   // SIGTSTP: terminal_suspend is asked for
	TERMINAL_INTERRUPTED = 8, // a signal (lib/tool.h) that ends the program
	TERMINAL_ENDED = 16       // the process has ended
};
// Waits for one of these, until `deadline_ns` (CLOCK_MONOTONIC): then 0.
unsigned terminal_wait(const struct process *process, uint64_t deadline_ns);

// What was typed, at most `room` bytes; 0 = the terminal is gone.
size_t terminal_read(char *buffer, size_t room);

// Gives the terminal back and stops the program, as ^Z does to others; returns once it goes on. HS_ERROR_SYSTEM.
struct hs_error *terminal_suspend(void) HS_MUST_CHECK;

#endif
