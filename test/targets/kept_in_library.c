// SPDX-License-Identifier: Apache-2.0
// Has its library (kept_library.c) compute, and computes itself. Answers each line with how many results of ROUNDS were
// wrong.
#include <stdint.h>
#include <stdio.h>

#include "commands.h"

enum { ROUNDS = 20000 };

uint64_t kept_mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	return (a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f) ^ (a * c) ^ (b * d) ^ (e * f);
}

int main(void)
{
	uint64_t n = 0;

	say_ready();
	while (next_command()) {
		unsigned wrong = 0;

		for (int i = 0; i < ROUNDS; i++, n++)
			wrong += kept_mix(n * 7 + 1, n ^ 0x55, n + 9, n * n, ~n, n << 3) !=
				 mix(n * 7 + 1, n ^ 0x55, n + 9, n * n, ~n, n << 3);
		printf("%u\n", wrong);
	}
	return 0;
}
