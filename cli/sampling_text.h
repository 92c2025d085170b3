// SPDX-License-Identifier: Apache-2.0
// What is recorded, in words and as JSON.
#ifndef HEAPSNAP_CLI_SAMPLING_TEXT_H
#define HEAPSNAP_CLI_SAMPLING_TEXT_H

#include "base/json.h"
#include "lib/sampling.h"

#define SAMPLING_TEXT_SIZE 160

// "one sample in 512.0 KiB on average"; returns the buffer, of SAMPLING_TEXT_SIZE bytes.
const char *sampling_text(const struct hs_sampling *sampling, char *buffer);

// The fields of an object that is open: "mode" and what belongs to it, and where nothing is recorded the "before".
void sampling_put_json(struct json *json, const struct hs_sampling *sampling);

#endif
