// SPDX-License-Identifier: Apache-2.0
// A command and what descends from it, followed and recorded: each process that executes a program, from there to its
// end; and each that executes none, from half a second after its fork on (run_late.h). For run.c.
//
// One process does all of it, and holds each program while it attaches, some tens of milliseconds. So that a command
// that makes very many is not held up for long, what comes too fast runs unrecorded, and is counted.
#ifndef HEAPSNAP_LIB_RUN_FAMILY_H
#define HEAPSNAP_LIB_RUN_FAMILY_H

#include "base/error.h"
#include "base/process.h"
#include "lib/run.h"
#include "lib/run_signals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_family; // opaque

// Follows the command, which is recorded or not, and stands stopped, or runs where its beginning was missed; what is
// passed is borrowed. HS_ERROR_GONE, HS_ERROR_SYSTEM, HS_ERROR_NO_MEMORY; *ret is NULL then.
struct hs_error *run_family_begin(const struct hs_run_options *options, const struct process *command, bool is_recorded,
				  enum hs_run_missed missed, struct run_family **ret) HS_MUST_CHECK;
// Waits for the next event: HS_RUN_CHILD, in a process of its own; HS_RUN_EXECUTED, of the command; HS_RUN_ENDED, when
// the command has ended, its descendants were left, and all profiles are written.
void run_family_next(struct run_family *family, struct run_signals *signals, struct hs_run_event *ret);
void run_family_end(struct run_family *family);

#endif
