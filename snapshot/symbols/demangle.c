// SPDX-License-Identifier: Apache-2.0
// The only file that knows libiberty.
#include "snapshot/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

// A name from a file of the target can be made to grow without end when it is demangled.
enum { LONGEST_NAME = 8192, LONGEST_RESULT = 16383 };

// _Z: Itanium C++ ABI and Rust's older way; _R: Rust's newer one (RFC 2603). Everything else is a plain C name,
// though libiberty would take some of them for types ("i" for int).
bool is_mangled(const char *name) { return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0; }

char *demangle(const char *name)
{
	if (!is_mangled(name) || strlen(name) > LONGEST_NAME)
		return NULL;

	// DMGL_AUTO: C++ as in the Itanium ABI, and both ways of Rust. Parameters tell overloads apart.
	char *result = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);

	if (result && strlen(result) > LONGEST_RESULT) {
		free(result);
		result = NULL;
	}

	// "f(int) [clone .constprop.0] [clone .cold]": parts that the compiler made of one function of the source.
	char *clone = result ? strstr(result, " [clone ") : NULL;

	if (clone)
		*clone = 0;
	return result;
}
