// SPDX-License-Identifier: Apache-2.0
// Classes of the sizes and ages of blocks. Pure.
//
// An index is 0 for what is not known, then 1, 2, ... from the smallest class on.
//
//   sizes  [1, 2)  [2, 4)  [4, 8)  ...  [2^62, 2^63)  [2^63, 2^64)     bytes: powers of two
//   index    1       2       3             63             64
//
//   ages  [0, 1 s)  [1 s, 10 s)  [10 s, 1 min)  [1, 10 min)  [10 min, 1 h)  [1 h, 1 d)  [1 d, 7 d)  [7 d, ...)
//   index    1           2             3             4             5             6           7          8
#ifndef HEAPSNAP_SNAPSHOT_SIZE_AGE_H
#define HEAPSNAP_SNAPSHOT_SIZE_AGE_H

#include <stddef.h>
#include <stdint.h>

enum { SIZE_CLASSES = 64, AGE_CLASSES = 8 }; // the largest index

struct class_text {
	char text[40];
};

// 0 for 0 bytes: not known. What asks for blocks of 0 bytes has them with those of 1.
unsigned size_class_index(uint64_t bytes);
// The smallest size in it, bytes; 0 for index 0. pre: index <= SIZE_CLASSES
uint64_t size_class_least(unsigned index);
// "64 B..127 B", "0 B..1 B" for the first; from 1 KiB on the second size is the first that is not in it: "1 KiB..2
// KiB". "unknown" for 0 and for what is no index.
struct class_text size_class_text(unsigned index);

// Of an age in nanoseconds; an age below 0 (clocks that differ) is in the youngest class.
unsigned age_class_index(int64_t nanoseconds);
// The least age in it, nanoseconds; 0 for index 0. pre: index <= AGE_CLASSES
int64_t age_class_least(unsigned index);
// "under 1 s", "10 s..1 min", "7 d and more": the second age is the first that is not in it. "unknown" for 0 and for
// what is no index.
struct class_text age_class_text(unsigned index);

#endif
