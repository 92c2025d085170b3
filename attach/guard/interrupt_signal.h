// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP: they are noted, and the work ends at the next point at which it can be rolled back
// (interrupt.h).
#ifndef HEAPSNAP_ATTACH_GUARD_INTERRUPT_SIGNAL_H
#define HEAPSNAP_ATTACH_GUARD_INTERRUPT_SIGNAL_H

#include "base/error.h"

#include <stdbool.h>

// Installs handlers that only set a flag (no SA_RESTART, so that waits return).
void interrupt_install(void);
// Whether such a signal has come; the error that says so, HS_ERROR_INTERRUPTED.
bool interrupt_signal_came(void);
struct hs_error *interrupt_signal_check(void) HS_MUST_CHECK;

// Its number, and from then on none has come; 0 = none had.
int interrupt_signal_take(void);

// The work that a signal has ended is undone: what comes now is done, until the next one.
void interrupt_clear(void);

#endif
