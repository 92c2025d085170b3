// SPDX-License-Identifier: Apache-2.0
// Where the file of a module may be: the mapped file itself, the path as the target sees it, the path as we see it; and
// where its separate debug file may be. The caller decides by content whether a file is the right one.
//
// The names come from the target and may lead to a FIFO or device, or to what is no business of a reader of symbols:
// only plain files are opened, and only those that begin as ELF files are offered.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_MODULE_FILES_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_MODULE_FILES_H

#include "base/proc_maps.h"
#include "base/process.h"
#include "snapshot/heap_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_files {
	const struct process *process;
	int root_fd;                   // /proc/PID/root; -1 = not to be had
	struct proc_maps maps;         // empty when not to be had
	char *fetched;                 // the folder of debuginfod's client (debuginfod_place.h), owned; NULL = none
	struct debuginfod *debuginfod; // asked for debug files that are nowhere; borrowed; NULL = none is
};

// What cannot be opened, because the process is gone or there is no privilege, is done without.
void module_files_open(const struct process *process, struct module_files *ret);
void module_files_close(struct module_files *files);
// Whether a path means the same file to the process as to the tool, as far as the roots of their file systems say.
bool module_files_has_our_root(const struct module_files *files);

// `fd` is open for reading and stays the caller's. is_mapped: it is the very file that the target has mapped.
typedef bool module_file_accept(int fd, bool is_mapped, void *context);

// Offers one candidate after the other until one is accepted. Returns its descriptor, owned by the caller, or -1.
int module_files_find(const struct module_files *files, const struct profile_module *module, module_file_accept *accept,
		      void *context);

// The same for a separate debug file. `build_id` may have size 0 and `link` (a file name, from .gnu_debuglink or
// .gnu_debugaltlink) be NULL; `beside` is the path of the file that has the link. What debuginfod's client has fetched
// is looked at last, and fetched where `debuginfod` says so.
int module_files_find_debug(const struct module_files *files, const uint8_t *build_id, size_t build_id_size,
			    const char *beside, const char *link, module_file_accept *accept, void *context);

// The file in which the process names the code that it makes itself, /tmp/perf-PID.map, with the PID that it has for
// itself; -1 = there is none, or one that is not the process's own: a plain file of its user. The caller closes it.
int module_files_open_perf_map(const struct module_files *files);

#endif
