// SPDX-License-Identifier: Apache-2.0
// What is said of functions that make blocks and are not hooked.
#ifndef HEAPSNAP_CLI_UNSEEN_TEXT_H
#define HEAPSNAP_CLI_UNSEEN_TEXT_H

#include "lib/status.h"

#define UNSEEN_TEXT_SIZE 256

// The measured share of frees whose blocks were not recorded, into a buffer of UNSEEN_TEXT_SIZE bytes; NULL = every
// function that makes blocks is hooked.
const char *unseen_text(const struct hs_status *process, char *buffer);

#endif
