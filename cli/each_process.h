// SPDX-License-Identifier: Apache-2.0
// A command on one process or on several, one after the other.
#ifndef HEAPSNAP_CLI_EACH_PROCESS_H
#define HEAPSNAP_CLI_EACH_PROCESS_H

#include "base/process.h"
#include "cli/options.h"

#include <stdbool.h>

// Does the command to one process, prints its result or what is wrong, and returns the exit status of that.
typedef enum exit_status process_command(const struct options *options, const struct process *process, void *context);

// Calls `command` for each process that the options mean. Of several, and of one that a filter means, each begins with
// a heading among the results; one that fails does not keep the others from being done, and then the whole has failed.
// One that a filter means and that ends meanwhile counts as if it had not been there. After an interrupt nothing new is
// begun.
enum exit_status each_process(const struct options *options, process_command *command, void *context);

// Says so where `hidden` processes could not be looked at.
void warn_of_hidden_processes(size_t hidden);

#endif
