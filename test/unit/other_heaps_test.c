// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "views/other_heaps.h"

static const struct {
	const char *module, *expected; // how the text begins; NULL = there is none
} cases[] = {
	{ "/usr/bin/python3.11", "Python keeps" },
	{ "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "Python keeps" },
	{ "/usr/bin/node", "V8 keeps" },
	{ "/usr/lib/x86_64-linux-gnu/libnode.so.108", "V8 keeps" },
	{ "/usr/lib/jvm/lib/server/libjvm.so", "The JVM keeps" },
	{ "/usr/bin/node_exporter", NULL }, // a Go program
	{ "/usr/bin/node-red-service", NULL },
	{ "/opt/nodes/bin/server", NULL },
	{ "/usr/lib/libpythonic.so", NULL },
	{ "", NULL },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[100];
		struct profile_module modules[] = { { .path = (char[]){ "/lib/libc.so.6" } }, { .path = path } };
		const struct heap_profile profile = { .modules = modules, .module_count = 2 };
		const char *text;

		snprintf(path, sizeof(path), "%s", cases[i].module);
		text = other_heap_text(&profile);
		CHECK_EQUAL(text != NULL, cases[i].expected != NULL);
		if (text && cases[i].expected)
			CHECK(strncmp(text, cases[i].expected, strlen(cases[i].expected)) == 0);
	}
	return CHECK_RESULT();
}
