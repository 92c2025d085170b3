// SPDX-License-Identifier: Apache-2.0
// The copies of files that plans were made from, kept from one plan to the next: a target that loads and unloads
// libraries all the time is planned again while it stands still, when no file is read (refused_reads.h), from what was
// read for the plans before.
#ifndef HEAPSNAP_ATTACH_ELF_FILE_CACHE_H
#define HEAPSNAP_ATTACH_ELF_FILE_CACHE_H

#include "attach/elf/file_copy.h"
#include "base/proc_maps.h"

// From here on copies are kept, until file_cache_end.
void file_cache_begin(void);
void file_cache_end(void);

// Keeps a copy of the file that is mapped there, in the place of an older one. Another user of it: see
// file_copy_release.
void file_cache_keep(const struct proc_map *map, struct file_copy *copy);
// NULL = there is none. The caller becomes another user of it.
struct file_copy *file_cache_find(const struct proc_map *map);

#endif
