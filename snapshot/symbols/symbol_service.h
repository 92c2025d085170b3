// SPDX-License-Identifier: Apache-2.0
// The tool's side: has the symbol files of one module read by a child in a sandbox, opens for it the files that it asks
// for, and takes its answer.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_SERVICE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_SYMBOL_SERVICE_H

#include "base/error.h"
#include "snapshot/symbols/file_trail.h"
#include "snapshot/symbols/module_files.h"
#include "snapshot/symbols/sandbox.h"
#include "snapshot/symbols/symbol_answer.h"
#include "snapshot/symbols/symbol_reader.h"

struct symbol_talk; // opaque

// Starts the child. `trail`: empty, and then what was looked for and found; NULL = not wanted. All but `limits` are
// borrowed until the end. HS_ERROR_REFUSED: no sandbox here; HS_ERROR_NO_MEMORY; HS_ERROR_INTERRUPTED; HS_ERROR_SYSTEM.
struct hs_error *symbol_talk_begin(const struct module_files *files, const struct symbol_question *question,
				   const struct sandbox_limits *limits, uint64_t deadline_ns,
				   struct symbol_answer *answer, struct file_trail *trail,
				   struct symbol_talk **ret) HS_MUST_CHECK;

// Readable when the child has said something, or ended.
int symbol_talk_socket(const struct symbol_talk *talk);
bool symbol_talk_is_late(const struct symbol_talk *talk);

// Takes one thing that the child says, and does what it asks for; waits for it. *is_over_ret: it was the last, or an
// error. HS_ERROR_NOT_FOUND: the module has no file that can be used; HS_ERROR_NO_MEMORY and HS_ERROR_INTERRUPTED are
// the tool's own. Every other error says how the reading of this module's files failed.
struct hs_error *symbol_talk_step(struct symbol_talk *talk, bool *is_over_ret) HS_MUST_CHECK;

// Ends the child. Takes `error`, of the last step or of what has kept it from being made, and returns it or a better
// one. Without one the answer is the caller's to deinit, else it is empty.
struct hs_error *symbol_talk_end(struct symbol_talk *talk, struct hs_error *error) HS_MUST_CHECK;

#endif
