// SPDX-License-Identifier: Apache-2.0
// One function, and one file, per command. Each prints its result and returns the exit status.
#ifndef HEAPSNAP_CLI_COMMANDS_H
#define HEAPSNAP_CLI_COMMANDS_H

#include "cli/options.h"

enum exit_status command_attach(const struct options *options);
enum exit_status command_check(const struct options *options);
// Ends the process as the command has ended, where it has run.
enum exit_status command_run(const struct options *options);
enum exit_status command_set(const struct options *options);
enum exit_status command_dump(const struct options *options);
enum exit_status command_detach(const struct options *options);
enum exit_status command_profile(const struct options *options);
enum exit_status command_top(const struct options *options);
enum exit_status command_why(const struct options *options);
enum exit_status command_report(const struct options *options);
enum exit_status report_survivors(const struct options *options); // diff --survivors
enum exit_status command_diff(const struct options *options);
enum exit_status command_status(const struct options *options);

#endif
