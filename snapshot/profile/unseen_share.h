// SPDX-License-Identifier: Apache-2.0
// How much of a heap the functions make that are not hooked: the frees tell, where all of them are counted.
#ifndef HEAPSNAP_SNAPSHOT_PROFILE_UNSEEN_SHARE_H
#define HEAPSNAP_SNAPSHOT_PROFILE_UNSEEN_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define UNSEEN_SHARE_SIZE 144

// Pure. Untracked frees and those of recorded blocks, in words, into a buffer of UNSEEN_SHARE_SIZE bytes; returns it.
// `counts_untracked`: region_counts_untracked; else the frees tell nothing.
const char *unseen_share(bool counts_untracked, uint64_t untracked, uint64_t recorded, char *buffer);

#endif
