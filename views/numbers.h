// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: the same units and digits wherever one is shown. Pure.
#ifndef HEAPSNAP_VIEWS_NUMBERS_H
#define HEAPSNAP_VIEWS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_SIZE = 32 }; // bytes of a buffer

// Rounded; stays at INT64_MIN or INT64_MAX; 0 for what is no number.
int64_t number_whole(double number);

// Each of these writes into a buffer of NUMBER_SIZE bytes and returns it.

// "1.5 MiB"; below 1 KiB "17 B".
const char *number_bytes(uint64_t bytes, char *buffer);
// "+1.5 MiB", "-17 B", "0 B".
const char *number_bytes_signed(int64_t bytes, char *buffer);
// Bytes a second: "+1.5 MiB/s", "-17 B/s"; without the plus where it is no difference.
const char *number_rate(double bytes, bool is_difference, char *buffer);
// With its sign, where it is a difference; a number below 0 has it in any case.
const char *number_bytes_of(int64_t bytes, bool is_difference, char *buffer);
// "39,434".
const char *number_grouped(uint64_t value, char *buffer);
// Likewise: "+39,434", "-5".
const char *number_grouped_of(int64_t value, bool is_difference, char *buffer);
// "9,999", "47.6k", "1.25M": four characters or so.
const char *number_short(uint64_t value, char *buffer);
// Likewise: "+47.6k", "-5".
const char *number_short_of(int64_t value, bool is_difference, char *buffer);
// How far an estimate may be off: "5 %", "0.3 %", "<0.1 %" of the value; in bytes where the error is above it.
const char *number_error(int64_t value, uint64_t error, char *buffer);
// "350 us", "12.3 ms", "4 s", "3 min", "5 h", "8 d".
const char *number_duration(uint64_t nanoseconds, char *buffer);

#endif
