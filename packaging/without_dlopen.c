// SPDX-License-Identifier: Apache-2.0
// What the static program puts in place of the parts of its libraries that load shared libraries: a file that runs in
// an empty root must not look for any there, and code of whatever root it runs in must not come into it. Linked before
// the libraries, so that the linker does not take their objects.
//
// elfutils 0.188, libdwfl/debuginfod-client.c: loads libdebuginfod, to fetch debug information over the network, from
// within a constructor. The sandbox in which symbol files are read has no network anyway. glibc 2.36, iconv/gconv_dl.c:
// loads modules that convert between character sets, which stdio links in for wide streams. There are none in heapsnap.
#include <stddef.h>

typedef struct Dwfl Dwfl;
typedef struct debuginfod_client debuginfod_client;

debuginfod_client *dwfl_get_debuginfod_client(Dwfl *dwfl);
int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *build_id, size_t size);
int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *build_id, size_t size);
void __libdwfl_debuginfod_end(debuginfod_client *client);

debuginfod_client *dwfl_get_debuginfod_client(Dwfl *dwfl)
{
	(void)dwfl;
	return NULL;
}

// -1: no such file, as where libdebuginfod is not installed.
int __libdwfl_debuginfod_find_executable(Dwfl *dwfl, const unsigned char *build_id, size_t size)
{
	(void)dwfl, (void)build_id, (void)size;
	return -1;
}

int __libdwfl_debuginfod_find_debuginfo(Dwfl *dwfl, const unsigned char *build_id, size_t size)
{
	(void)dwfl, (void)build_id, (void)size;
	return -1;
}

void __libdwfl_debuginfod_end(debuginfod_client *client) { (void)client; }

struct __gconv_loaded_object;
struct __gconv_loaded_object *__gconv_find_shlib(const char *name);
void __gconv_release_shlib(struct __gconv_loaded_object *object);

// NULL: no such module, as where none is installed.
__attribute__((visibility("hidden"))) struct __gconv_loaded_object *__gconv_find_shlib(const char *name)
{
	(void)name;
	return NULL;
}

__attribute__((visibility("hidden"))) void __gconv_release_shlib(struct __gconv_loaded_object *object) { (void)object; }
