// SPDX-License-Identifier: Apache-2.0
// The child's side: reads the symbol files of one module and answers (symbol_messages.h). Runs in a sandbox: no file is
// opened here, and what goes wrong here costs the symbols of this module.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_READER_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_READER_H

#include "snapshot/heap_profile.h"

#include <stddef.h>
#include <stdint.h>

struct symbol_question {
	const struct profile_module *module; // NULL: about code that the program makes itself, named in `perf_map`
	int perf_map;                        // descriptor, of the tool's side
	const uint64_t *addresses;           // run-time addresses inside the module
	size_t count;
};

// `context` is a struct symbol_question *: the signature is that of sandbox_start.
void symbol_reader_run(int socket, void *context);

#endif
