// SPDX-License-Identifier: Apache-2.0
#include "views/other_heaps.h"

#include <ctype.h>
#include <string.h>

// By the beginning of a module's name. What comes after it is a version ("python3.11", "libnode.so.108"), no letter.
static const struct {
	const char *name;
	struct other_heap heap;
} heaps[] = {
// https://docs.python.org/3/c-api/memory.html#the-pymalloc-allocator
#define PYTHON                                                                                                         \
	{                                                                                                              \
		"Python's small objects",                                                                              \
			"Python keeps objects of up to 512 bytes in memory that it maps itself: they are not seen "    \
			"one by one, unless the program is started with PYTHONMALLOC=malloc."                          \
	}
	{ "python", PYTHON },
	{ "libpython", PYTHON },
#undef PYTHON
#define V8(more)                                                                                                       \
	{                                                                                                              \
		"JavaScript's objects", "V8 keeps JavaScript's objects in memory that it maps itself" more             \
	}
	{ "node", V8(": node's own heap snapshots show these.") },
	{ "libnode", V8(": node's own heap snapshots show these.") },
	{ "libv8", V8(".") },
#undef V8
	{ "libjvm",
	  { "Java's objects",
	    "The JVM keeps Java's objects in memory that it maps itself: jcmd PID GC.heap_info tells of these." } },
	{ "libcoreclr",
	  { ".NET's objects", ".NET keeps its objects in memory that it maps itself: dotnet-gcdump shows these." } },
};

static bool has_name(const struct profile_module *module, const char *name)
{
	const char *slash = strrchr(module->path, '/'), *base = slash ? slash + 1 : module->path;
	const size_t length = strlen(name);

	return strncmp(base, name, length) == 0 && !isalpha((unsigned char)base[length]) && base[length] != '_' &&
	       base[length] != '-';
}

const struct other_heap *other_heap_of(const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->module_count; i++)
		for (size_t k = 0; k < sizeof(heaps) / sizeof(heaps[0]); k++)
			if (has_name(&profile->modules[i], heaps[k].name))
				return &heaps[k].heap;
	return NULL;
}

const char *other_heap_text(const struct heap_profile *profile)
{
	const struct other_heap *heap = other_heap_of(profile);

	return heap ? heap->text : NULL;
}
