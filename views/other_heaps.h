// SPDX-License-Identifier: Apache-2.0
// Heaps beside malloc's, that the runtimes of languages keep in memory which they map themselves. Pure.
#ifndef HEAPSNAP_VIEWS_OTHER_HEAPS_H
#define HEAPSNAP_VIEWS_OTHER_HEAPS_H

#include "snapshot/heap_profile.h"

struct other_heap {
	const char *what; // is in it: "Python's small objects"
	const char *text; // as of other_heap_text
};

// Static; NULL = none is known.
const struct other_heap *other_heap_of(const struct heap_profile *profile);

// In a sentence, what of the process's memory is in such a heap, and what would show it, by the modules that are
// loaded; static. NULL = none is known.
const char *other_heap_text(const struct heap_profile *profile);

#endif
