// SPDX-License-Identifier: Apache-2.0
// For how long run --children has held processes to attach to them, and whether it may hold one more. Pure.
#ifndef HEAPSNAP_LIB_RUN_HOLDS_H
#define HEAPSNAP_LIB_RUN_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_holds {
	uint64_t began_ns; // CLOCK_MONOTONIC, when there were none
	size_t programs;
	uint64_t held_ns; // in all
};

// The first 40 programs, and then as many as take a quarter of the time.
bool run_holds_allow(const struct run_holds *holds, uint64_t now_ns);

#endif
