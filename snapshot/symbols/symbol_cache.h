// SPDX-License-Identifier: Apache-2.0
// Answers that are kept on disk, by the build id of the module: what a file says of an address need not be read twice.
//
// What the target says of its build id is not believed: an answer is used only where the files that it was made of are
// met again (file_trail.h). Two files of one build id take each other's place.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_CACHE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_CACHE_H

#include "snapshot/symbols/cache_folder.h"
#include "snapshot/symbols/symbol_service.h"

struct symbol_lookup; // opaque

// Looks for answers in the folder; a talk with a child (symbol_service.h) is begun about what is not there, or about
// all: of a module without a build id, and with a folder that is none. All but `limits` are borrowed until the end.
// What cannot be read or written in the folder is no error. Errors: those of symbol_talk_begin. pre: the addresses are
// ascending.
struct hs_error *symbol_lookup_begin(const struct cache_folder *folder, const struct module_files *files,
				     const struct symbol_question *question, const struct sandbox_limits *limits,
				     uint64_t deadline_ns, struct symbol_lookup **ret) HS_MUST_CHECK;

// NULL: everything is there already. Else it is to be talked to its end, or to an error.
struct symbol_talk *symbol_lookup_talk(const struct symbol_lookup *lookup);

// Takes `error`, of the talk or of what has kept it from being over, and returns it, or HS_ERROR_NO_MEMORY. Without one
// the answers to the whole question are the caller's to deinit, and those that are new are kept in the folder.
struct hs_error *symbol_lookup_end(struct symbol_lookup *lookup, struct hs_error *error,
				   struct symbol_answer *ret) HS_MUST_CHECK;

#endif
