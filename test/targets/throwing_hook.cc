// SPDX-License-Identifier: Apache-2.0
// The only part of pointed_malloc that throws: what its malloc calls.
#include <cstddef>

extern "C" void (*volatile allocation_hook)(size_t size);
extern "C" void *own_malloc(size_t size) __asm__("malloc"); // not by its name: the headers say that it does not throw

struct limit {
};

static bool is_armed;
static void *volatile kept;

static void hook(size_t size)
{
	(void)size;
	if (!is_armed)
		return;
	is_armed = false;
	throw limit(); // which is allocated by malloc as well
}

extern "C" int throw_through_malloc()
{
	int caught = 0;

	allocation_hook = hook;
	is_armed = true;
	try {
		kept = own_malloc(10);
	} catch (const limit &) {
		caught = 1;
	}
	allocation_hook = nullptr;
	return caught;
}
