// SPDX-License-Identifier: Apache-2.0
// What is known of the addresses of one file, as it is kept on disk. Pure.
//
//     "heapsym" and the number of the format | checksum of the rest |
//     sizes | build id | trail | addresses, ascending | items as a child says them (symbol_messages.h)
//
// Numbers are of this machine; the file is not meant for another one.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_STORED_SYMBOLS_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_STORED_SYMBOLS_H

#include "base/error.h"
#include "snapshot/symbols/symbol_answer.h"

#include <stddef.h>
#include <stdint.h>

enum {
	STORED_BYTES_MAX = 64 << 20,
	STORED_ADDRESSES_MAX = 1 << 20,
};

struct stored_symbols {
	const uint8_t *build_id, *trail; // borrowed
	size_t build_id_size, trail_size;
	uint64_t *addresses; // of the file, ascending; owned
	size_t count;
	struct symbol_answer answer; // locations in the same order
};

// *ret is owned by the caller. HS_ERROR_NO_MEMORY, HS_ERROR_REFUSED: it is too much to be kept.
struct hs_error *stored_symbols_encode(const struct stored_symbols *stored, uint8_t **ret,
				       size_t *size_ret) HS_MUST_CHECK;
// *ret borrows from `data` and is to be deinitialized. HS_ERROR_BAD_DATA: it is no such file, or damaged;
// HS_ERROR_NO_MEMORY.
struct hs_error *stored_symbols_decode(const uint8_t *data, size_t size, struct stored_symbols *ret) HS_MUST_CHECK;
void stored_symbols_deinit(struct stored_symbols *stored);

#endif
