// SPDX-License-Identifier: Apache-2.0
// Values of options as users write them. Pure; false for anything else than what is said.
#ifndef HEAPSNAP_CLI_OPTION_VALUES_H
#define HEAPSNAP_CLI_OPTION_VALUES_H

#include <stdbool.h>
#include <stdint.h>

// A decimal number with an optional suffix K, M, G (1024 steps; also KB, KiB).
bool parse_size(const char *text, uint64_t *ret);
// A percentage above 0 and up to 100, with at most four digits behind the point, in millionths; with or without
// a % sign.
bool parse_percent(const char *text, uint32_t *ret);
// A time above 0 and up to 1000 hours: a decimal number, perhaps with a point, of seconds, or with suffix ms, s, m or
// h; in nanoseconds.
bool parse_duration(const char *text, uint64_t *ret);
// Samples per word of 8 bytes, as a decimal number (1e-4, 0.0001): the mean interval in bytes.
bool parse_rate(const char *text, uint32_t *ret);

// The name of a signal, with or without SIG, or its number.
bool parse_signal(const char *text, int *ret);

// "-" for names of standard output, to which a file of the name cannot be meant (proto/output_file.h); else the text.
const char *parse_output_name(const char *text);

#endif
