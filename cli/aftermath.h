// SPDX-License-Identifier: Apache-2.0
// What is said of a process after a command on it did not end as it should.
#ifndef HEAPSNAP_CLI_AFTERMATH_H
#define HEAPSNAP_CLI_AFTERMATH_H

#include "base/error.h"
#include "base/process.h"
#include "cli/console.h"

// As console_fail, with the better error where there is one (lib/aftermath.h). After an interrupt it says in which
// state the process is.
enum exit_status fail_and_look(const struct options *options, const struct process *process, struct hs_error *error);

#endif
