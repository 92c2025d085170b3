// SPDX-License-Identifier: Apache-2.0
// Where the profiles of run go: of a folder, with names that are made of the process's. *ret is owned by the caller;
// NULL = none is written. HS_ERROR_NO_MEMORY.
#ifndef HEAPSNAP_CLI_RUN_PATHS_H
#define HEAPSNAP_CLI_RUN_PATHS_H

#include "base/error.h"
#include "cli/options.h"

#include <sys/types.h>

// Of the end.
struct hs_error *run_path_at_exit(const struct options *options, const char *name, pid_t pid, bool is_child,
				  char **ret) HS_MUST_CHECK;
struct hs_error *run_path_at_peak(const struct options *options, const char *name, pid_t pid, char **ret) HS_MUST_CHECK;
// Of a snapshot. With children each process has its own. pre: there is an output
struct hs_error *run_path_of_snapshot(const struct options *options, const char *name, pid_t pid, unsigned number,
				      char **ret) HS_MUST_CHECK;

// What the command does is not begun where its profiles could not be written.
struct hs_error *run_paths_check(const struct options *options) HS_MUST_CHECK;

#endif
