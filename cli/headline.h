// SPDX-License-Identifier: Apache-2.0
// What comes before and after the rows of a profile: how much of the process it is, and how true.
#ifndef HEAPSNAP_CLI_HEADLINE_H
#define HEAPSNAP_CLI_HEADLINE_H

#include "cli/options.h"
#include "snapshot/heap_profile.h"

// The process, what of it is recorded, and what is not:
//
//   Process RSS 398.0 MiB (anonymous 391.2 MiB)
//     recorded live    4.0 KiB  in 1 block, allocated since attach (3 s ago)
//     not recorded   391.2 MiB  older than the attach, freed but kept by malloc, or mapped
//
// Of a file, what and when it is of stands in place of the first line.
void headline_print(const struct options *options, const struct heap_profile *profile);

// How far estimates may be off and what gives exact numbers, what is lost, which code has no names, and
// with --ledger all counters.
void truth_print(const struct options *options, const struct heap_profile *profile);
// Where other processes belong to what was asked for: "nothing lost" is then said of this one only.
void truth_print_of_one(const struct options *options, const struct heap_profile *profile);

#endif
