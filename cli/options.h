// SPDX-License-Identifier: Apache-2.0
// The command line, parsed.
#ifndef HEAPSNAP_CLI_OPTIONS_H
#define HEAPSNAP_CLI_OPTIONS_H

#include "cli/block_words.h"
#include "cli/option_table.h"
#include "cli/view_words.h"
#include "lib/own_rules.h"
#include "lib/process_filter.h"
#include "lib/profile_format.h"
#include "lib/sampling.h"
#include "lib/user_allocators.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exit_status { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NOT_RUN = 125 /* the command of `run` */ };

struct options {
	enum command command;
	const char *const *pids;                        // as they were typed; report: not of a file
	size_t pid_count;                               //
	struct hs_process_filter filter;                // --name, --cgroup, --container, --user
	bool all;                                       // attach, set, detach: --all
	const char *output;                             // dump, profile, why, run, diff: -o
	enum profile_format format;                     // of it
	const char *page;                               // why: --page
	const char *paths[2];                           // report, diff: the files
	size_t path_count;                              //
	bool ledger, wide;                              // dump, report, diff
	size_t limit;                                   // rows; dump, report, diff
	bool has_limit;                                 // it was given
	struct view_words view;                         // --by and the like; dump, report, diff
	struct hs_own_rule own_rules[HS_OWN_RULES_MAX]; // --own, --library
	size_t own_rule_count;                          //
	struct block_words blocks;                      // --older-than and the like, --labels
	bool survivors;                                 // diff: --survivors
	bool errors;                                    // dump: --errors
	bool stop;                                      // dump: --stop
	bool no_cache;                                  // dump, profile, why, run, report: --no-cache
	bool wants_debuginfod;                          // the same: --debuginfod
	uint64_t debuginfod_ns;                         // --debuginfod-time; 0 = none given
	struct debuginfod *debuginfod;                  // not of the parser: lib/debuginfod.h; NULL = not wanted
	uint64_t time_ns;                               // --for; 0 = none given
	uint32_t depth;                                 // attach, set; 0 = none given
	uint64_t max_memory;                            // bytes; 0 = default
	struct hs_sampling sampling;                    // attach, set: --sample, --samples-per-word, --exact, --budget
	bool has_sampling;                              // one of them was given
	bool stop_recording, start_recording;           // set
	const char *allocators[HS_USER_ALLOCATORS_MAX]; // --allocator
	size_t allocator_count;
	char *const *command_words; // run: the command and its arguments, ended by NULL
	const char *at_exit;        // run: --at-exit
	const char *at_peak;        // run, profile: --at-peak
	uint64_t every_ns;          // run: --every; 0 = none given
	int on_signal;              // run: --on; 0 = none given
	bool anyway;                // run: --anyway
	bool children;              // run: --children
	bool json, quiet, verbose;
	bool wants_json; // --json stands somewhere, though what is wrong with the line may come before it
	bool help, version;
};

// Returns false after saying on standard error what is wrong; with --json on standard output too.
bool options_parse(int argc, char **argv, struct options *ret);

#endif
