// SPDX-License-Identifier: Apache-2.0
// The names of allocation functions, with the layouts of their arguments, and what else must be in a module for a name
// to be believed.
#ifndef HEAPSNAP_ATTACH_HOOK_ALLOCATOR_TABLE_H
#define HEAPSNAP_ATTACH_HOOK_ALLOCATOR_TABLE_H

#include <stddef.h>

// A row is believed when...
enum name_belief {
	BELIEF_RESERVED, // always: ISO C and POSIX reserve the name
	BELIEF_BESIDE,   // the module also has malloc and free
	BELIEF_FAMILY,   // it also has `needs`, each after the row's prefix
	BELIEF_OPERATOR, // C++ operators: see hook_candidates.c
	BELIEF_MARK,     // no allocation function: the name says something of its module
};

struct allocator_name {
	const char *name;
	const char *layout; // attach/hook/hook_layout.h; NULL for a mark
	enum name_belief belief;
	const char *prefix;    // what `needs` and `companion` have before them
	const char *needs[5];  // ends with NULL
	const char *companion; // layouts new and renew: the function that does the same and neither throws nor calls
			       // handlers. NULL = none. One that ends with "<>" takes the first two arguments in the
			       // other order
};

// Where several names are at one address, the first one in the table counts.
extern const struct allocator_name allocator_names[];
extern const size_t allocator_name_count;

#endif
