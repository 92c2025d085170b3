// SPDX-License-Identifier: Apache-2.0
// perf-PID.map: names of code that a program has made itself (JIT), in a file that it writes for perf(1)
// (tools/perf/Documentation/jit-interface.txt in Linux). A line each: start and size in hexadecimal, the name up to
// the end of the line. Pure.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_PERF_MAP_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_PERF_MAP_H

#include "base/error.h"
#include "base/range_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map {
	char *text; // of the caller; the ends of lines are 0 bytes
	size_t size;
	struct range_index index; // value: where in `text` the name is
};

enum { PERF_MAP_MAX = 256 << 20 }; // bytes of the file; a JIT that runs for months writes some

// Writes 0 bytes into `text`, which has one more byte than `size`, and borrows it. Lines that are none are left out.
// *ret is to be deinitialized. HS_ERROR_NO_MEMORY.
struct hs_error *perf_map_parse(char *text, size_t size, struct perf_map *ret) HS_MUST_CHECK;
void perf_map_deinit(struct perf_map *map);

// The name of the code at an address; NULL = none. Where lines overlap: of the one that starts last; of two that start
// alike, the shorter, else the later one, as code is made again in the place of old.
const char *perf_map_find(const struct perf_map *map, uint64_t address);

// A function of a script, as V8 names what it makes of it: "JS:*push file:///srv/queue.js:12:8", where the mark says by
// which compiler ("LazyCompile:", "Function:", "Script:", "Eval:" in older versions).
struct script_function {
	const char *name; // in the text given, not ended by 0, as is `file`
	size_t name_size; // 0 = it has none
	const char *file; // a path, or a module of node's own, "node:fs"
	size_t file_size;
	int64_t line; // where the function begins
};

// False when it is a name of another kind.
bool perf_map_script_function(const char *text, struct script_function *ret);

#endif
