// SPDX-License-Identifier: Apache-2.0
// How much memory a process has (snapshot/process_memory.h): by a text, and of this process.
#include "check.h"
#include "held_process.h"
#include "snapshot/process_memory.h"

#include <stdlib.h>
#include <unistd.h>

static void test_texts(void)
{
	static const char whole[] =
		"Name:\tx\nVmHWM:\t 2000 kB\nVmRSS:\t   1234 kB\nRssAnon:\t    1000 kB\nRssFile:\t  234 kB\nVmSwap:\t 7 kB\n";
	static const char *const without[] = {
		"", "Name:\tkthreadd\nThreads:\t1\n", "VmRSS:\t1 kB\nVmSwap:\t0 kB\n", // before Linux 4.5
		"VmRSS:\t99999999999999999999 kB\nRssAnon:\t1 kB\nVmSwap:\t0 kB\n",    // no number of bytes
	};
	struct profile_memory memory = process_memory_parse(whole);

	CHECK(memory.is_known);
	CHECK_EQUAL(memory.rss, 1234 << 10);
	CHECK_EQUAL(memory.anonymous, 1000 << 10);
	CHECK_EQUAL(memory.swapped, 7 << 10);
	CHECK_EQUAL(memory.peak, 2000 << 10);
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		memory = process_memory_parse(without[i]);
		CHECK(!memory.is_known && memory.rss == 0 && memory.anonymous == 0);
	}
}

static void test_own(void)
{
	enum { SIZE = 64 << 20 };
	const struct profile_memory before = process_memory_read(held_process(getpid()));
	char *block = malloc(SIZE);
	struct profile_memory after;

	if (!block)
		return;
	for (size_t i = 0; i < SIZE; i += 4096)
		((volatile char *)block)[i] = 1;
	after = process_memory_read(held_process(getpid()));
	free(block);
	CHECK(before.is_known && after.is_known && before.rss >= before.anonymous);
	CHECK(after.anonymous >= before.anonymous + SIZE / 2 &&
	      after.peak >= after.anonymous); // the kernel counts per thread, some pages behind
	CHECK(!process_memory_read(&PROCESS_CLOSED).is_known);
}

int main(void)
{
	test_texts();
	test_own();
	return CHECK_RESULT();
}
