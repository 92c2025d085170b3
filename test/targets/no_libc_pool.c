// SPDX-License-Identifier: Apache-2.0
// A static program without libc, with an allocator of its own that has other names, and no thread pointer: nothing that
// it allocates can be recorded. Ends at end of input.
#include "no_libc.h"

#include <stddef.h>

#define FUNCTION __attribute__((noipa, used))

static union piece {
	union piece *next;
	char bytes[48];
} pieces[64] __attribute__((aligned(16)));
static union piece *freed;
static unsigned used;

FUNCTION void *take_block(size_t size)
{
	union piece *piece = freed;

	(void)size;
	if (piece)
		freed = piece->next;
	else
		piece = used < 64 ? &pieces[used++] : NULL;
	return piece;
}

FUNCTION void give_block(void *block)
{
	union piece *piece = block;

	piece->next = freed;
	freed = piece;
}
