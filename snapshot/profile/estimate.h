// SPDX-License-Identifier: Apache-2.0
// What recorded blocks stand for, and how sure that is. Pure. The reasons: docs/design.md, "Estimates".
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_ESTIMATE_H
#define HEAPSNAP_SNAPSHOT_PROFILE_ESTIMATE_H

#include "inject/abi/records.h"

#include <stdint.h>

// Sums over recorded blocks. Never rounded on the way, and finite whatever the records say: a region shows no more than
// 2^36 blocks, one of them adds less than 2^66 to a value and at most 2^64, the square of its interval, to a variance.
struct estimate {
	double objects, bytes; // of all such blocks, recorded or not
	// of these two, estimated without bias as well. What was not recorded adds nothing: heap_profile.h
	double objects_variance, bytes_variance;
	uint64_t records; // how many blocks it is made of
};

// Adds a block and those that it stands for.
void estimate_add(struct estimate *sum, const struct block_record *record);

// The nearest integer; UINT64_MAX for what is beyond. pre: value is no NaN, and not below 0
uint64_t estimate_round(double value);

#endif
