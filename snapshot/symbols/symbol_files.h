// SPDX-License-Identifier: Apache-2.0
// The child's side of asking the tool for files.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_FILES_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_FILES_H

#include "snapshot/symbols/module_files.h"

#include <stddef.h>
#include <stdint.h>

// As module_files_find and module_files_find_debug, of the module that the tool has in mind.
int symbol_files_find(int socket, module_file_accept *accept, void *context);
int symbol_files_find_debug(int socket, const uint8_t *build_id, size_t build_id_size, const char *link,
			    module_file_accept *accept, void *context);

#endif
