// SPDX-License-Identifier: Apache-2.0
// Answers that are kept on disk, by the build id of the module: what a file says of an address need not be read twice.
//
// What the target says of its build id is not believed: an answer is used only where the files that it was made of are
// met again (file_trail.h). Two files of one build id take each other's place.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_CACHE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_CACHE_H

#include "snapshot/symbols/cache_folder.h"
#include "snapshot/symbols/symbol_service.h"

// As symbol_service_ask, which is asked for what is not in the folder, and whose answers are kept there; with its
// errors, and HS_ERROR_NO_MEMORY. What cannot be read or written in the folder is no error. A module without a build
// id, and a folder that is none: only symbol_service_ask. pre: the addresses are ascending.
struct hs_error *symbol_cache_ask(const struct cache_folder *folder, const struct module_files *files,
				  const struct symbol_question *question, const struct sandbox_limits *limits,
				  uint64_t deadline_ns, struct symbol_answer *ret) HS_MUST_CHECK;

#endif
