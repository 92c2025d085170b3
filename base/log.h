// SPDX-License-Identifier: Apache-2.0
// Messages on the way. base knows no terminal: cli sets the sink and so decides what is shown and where.
#ifndef HEAPSNAP_BASE_LOG_H
#define HEAPSNAP_BASE_LOG_H

#include "base/error.h"

enum hs_log_level { HS_LOG_WARNING, HS_LOG_VERBOSE };

typedef void hs_log_sink(enum hs_log_level level, const char *message);

// NULL (the initial state) drops all messages.
void hs_log_set_sink(hs_log_sink *sink);

// One line each, without a newline.
void hs_warn(const char *format, ...) HS_PRINTF(1, 2);
void hs_verbose(const char *format, ...) HS_PRINTF(1, 2);

// Between the two, messages are kept in memory and progress is not told: whatever they are written to may be full, or
// stopped. What is more than the memory holds is left out, and the number of it said.
void hs_log_hold(void);
void hs_log_release(void);

// Progress of long work: `done` of `total` (0 = unknown) units of what `what` names. The sink is called as often as
// work calls it and limits its own rate. NULL drops it.
typedef void hs_progress_sink(const char *what, unsigned long done, unsigned long total);
void hs_progress_set_sink(hs_progress_sink *sink);
void hs_progress(const char *what, unsigned long done, unsigned long total);

#endif
