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

// HS_ERROR_NOT_FOUND: the module has no file that can be used. HS_ERROR_REFUSED: no sandbox here. HS_ERROR_NO_MEMORY
// and HS_ERROR_INTERRUPTED are the tool's own. Every other error says how the reading of this module's files failed. On
// success the answer is the caller's to deinit. `trail`: empty, and then what was looked for and found; NULL = not
// wanted.
struct hs_error *symbol_service_ask(const struct module_files *files, const struct symbol_question *question,
				    const struct sandbox_limits *limits, uint64_t deadline_ns,
				    struct symbol_answer *ret, struct file_trail *trail) HS_MUST_CHECK;

#endif
