// SPDX-License-Identifier: Apache-2.0
// What every harness needs. A harness is a function that libFuzzer calls with bytes; what must not happen is a crash, a
// sanitizer's report, or a REQUIRE that does not hold.
#ifndef HEAPSNAP_TEST_FUZZ_FUZZ_H
#define HEAPSNAP_TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Inputs that got beyond the first check of what is tried: those before it try nothing else (reach.py).
static unsigned long fuzz_reached;

static inline void fuzz_tell(void) { fprintf(stderr, "reached: %lu\n", fuzz_reached); }

#define REACHED()                                                                                                      \
	do {                                                                                                           \
		if (fuzz_reached++ == 0)                                                                               \
			atexit(fuzz_tell);                                                                             \
	} while (0)

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__, #condition);                         \
			__builtin_trap();                                                                              \
		}                                                                                                      \
	} while (0)

#endif
