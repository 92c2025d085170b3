// SPDX-License-Identifier: Apache-2.0
// What the process that does the work needs for it: signals, limits, guards.
#ifndef HEAPSNAP_LIB_TOOL_H
#define HEAPSNAP_LIB_TOOL_H

#include "base/error.h"

#include <stdbool.h>

// Bytes. The deepest chains of calls take less than half of it (e2e.small_stack runs all commands in so much).
enum { HS_TOOL_STACK = 512 << 10 };

// Once, before any other function of lib/. pre: the process has one thread, descriptors 0 to 2 are taken, the limit of
// its stack is HS_TOOL_STACK at least. A broken pipe and a file that grows too large are errors of the call from now on
// (SIGPIPE, SIGXFSZ), and the ends of children are kept (SIGCHLD). SIGINT, SIGTERM and SIGHUP end a command
// from now on at the next point where it can be rolled back. As the first process of a PID namespace it goes on in a
// child (attach/guard/tool_guard.h). HS_ERROR_REFUSED: /proc is not that of the PID namespace, or no proc file system
// is there.
struct hs_error *hs_tool_begin(void) HS_MUST_CHECK;

// Whether such a signal has come, and no command has ended for it yet: nothing new is to be begun.
bool hs_tool_is_interrupted(void);

#endif
