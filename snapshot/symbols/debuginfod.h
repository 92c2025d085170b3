// SPDX-License-Identifier: Apache-2.0
// Separate debug files from the servers of debuginfod that DEBUGINFOD_URLS names. The only way in which the tool asks
// the network, and only where that was wanted.
//
// The program debuginfod-find asks them, in a process without capabilities and without a way to get any; as the user
// who has run sudo, where that is so. What it fetches it puts into its own cache, where module_files.h finds it. No
// byte of it is believed or read here: whether a file is the right one says its build id, read in the sandbox.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUGINFOD_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUGINFOD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod; // opaque

// `limit_ns`: the longest time for one file. *ret is owned by the caller. HS_ERROR_REFUSED: no server is named, the
// program is not installed, or there is no place for files; HS_ERROR_NO_MEMORY. Nothing is asked yet.
struct hs_error *debuginfod_open(uint64_t limit_ns, struct debuginfod **ret) HS_MUST_CHECK;
void debuginfod_close(struct debuginfod *debuginfod);

// Asks for the debug file of a build id; true: it is in the cache now. `name` is for messages. Nobody is asked twice
// for one, nor again at all after a server did not answer in time or failed, or a signal has come: that ends this
// alone, and is forgotten (interrupt_clear). All these are a warning; a file that no server has is a hs_verbose line.
bool debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_size, const char *name);

// What was fetched for this build id, if anything, is not used: says so, as a warning, the first time.
void debuginfod_was_refused(struct debuginfod *debuginfod, const uint8_t *build_id, size_t build_id_size,
			    const char *name);

// ns that it took until now; 0 of NULL.
uint64_t debuginfod_spent(const struct debuginfod *debuginfod);

#endif
