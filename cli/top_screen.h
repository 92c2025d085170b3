// SPDX-License-Identifier: Apache-2.0
// The screen of `top`. Pure: from what there is to lines of text, as many and as wide as the terminal has.
//
//   heapsnap top: leak (PID 4242), recorded for 12 s, every 2 s
//   Process RSS 398.0 MiB (anonymous 391.2 MiB), +2.1 MiB/s
//   Recorded live 24.1 MiB in 6,173 blocks, +2.0 MiB/s
//   Nothing lost.
//         live  blocks       growth    site, by growth
//     20.2 MiB   47.6k  +2.0 MiB/s ↑  shop::Cache::put  leak.cpp:18   via vector
//
//   q quit  s sort  / search  enter callers  p pause  ? help
#ifndef HEAPSNAP_CLI_TOP_SCREEN_H
#define HEAPSNAP_CLI_TOP_SCREEN_H

#include "cli/screen.h"
#include "cli/top_model.h"
#include "snapshot/heap_profile.h"

// What stands above the rows. Borrowed.
struct top_facts {
	const char *program;          // "" = unknown
	int pid;                      //
	bool has_look;                // else all but these three is arbitrary
	double seconds;               // since the attach
	double every;                 // seconds between two looks
	struct profile_memory memory; // of the process
	double anonymous_rate;        // bytes a second; of RSS, which has our own records in it, none is told
	double live, error, blocks;   // recorded: bytes, standard error of an estimate, live blocks
	double rate;                  // of the live bytes, a second
	const char *completeness;     // views/completeness.h
	const char *message;          // in place of that; "" = none
};

// *ret is owned by the caller (screen_deinit). HS_ERROR_NO_MEMORY. pre: top_arrange
struct hs_error *top_draw(const struct top_state *state, const struct top_data *data, const struct top_facts *facts,
			  struct screen *ret) HS_MUST_CHECK;

#endif
