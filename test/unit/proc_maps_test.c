// SPDX-License-Identifier: Apache-2.0
#include "base/proc_maps.h"
#include "check.h"
#include "held_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_parse(void)
{
	static const char text[] =
		"00400000-00401000 r-xp 00002000 fd:01 1234                               /usr/bin/a b\n"
		"00401000-00403000 rw-s 00000000 00:05 9                                  /memfd:x (deleted)\n"
		"7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
		"7f0000001000-7f0000002000 rwxp 00000000 00:00 0                          [heap]\n"
		"7f0000002000-7f0000003000 r--p 00000000 08:01 18446744073709551615       /tmp/a\\012b\\c\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
	struct proc_maps maps;
	struct hs_error *error = proc_maps_parse(text, sizeof(text) - 1, &maps);

	CHECK(!error);
	if (error) {
		hs_error_destroy(error);
		return;
	}
	CHECK_EQUAL(maps.count, 6);
	CHECK_EQUAL(maps.items[0].start, 0x400000);
	CHECK_EQUAL(maps.items[0].end, 0x401000);
	CHECK_EQUAL(maps.items[0].offset, 0x2000);
	CHECK_EQUAL(maps.items[0].inode, 1234);
	CHECK_EQUAL(maps.items[0].device_major, 0xfd);
	CHECK_EQUAL(maps.items[0].device_minor, 1);
	CHECK(maps.items[0].readable && !maps.items[0].writable && maps.items[0].executable && !maps.items[0].shared);
	CHECK(!maps.items[0].deleted);
	CHECK_STRING(maps.items[0].name, "/usr/bin/a b");
	CHECK(maps.items[1].deleted && maps.items[1].shared && maps.items[1].writable);
	CHECK_STRING(maps.items[1].name, "/memfd:x");
	CHECK_STRING(maps.items[2].name, "");
	CHECK(!maps.items[2].readable && !maps.items[2].executable);
	CHECK_STRING(maps.items[3].name, "[heap]");
	CHECK_STRING(maps.items[4].name, "/tmp/a\nb\\c");
	CHECK_EQUAL(maps.items[4].inode, UINT64_MAX);
	CHECK_STRING(maps.items[5].name, "[vsyscall]");

	CHECK(proc_maps_find(&maps, 0x3fffff) == NULL);
	CHECK(proc_maps_find(&maps, 0x400000) == &maps.items[0]);
	CHECK(proc_maps_find(&maps, 0x401000) == &maps.items[1]);
	CHECK(proc_maps_find(&maps, 0x402fff) == &maps.items[1]);
	CHECK(proc_maps_find(&maps, 0x403000) == NULL);
	CHECK(proc_maps_find(&maps, 0xffffffffff600fff) == &maps.items[5]);
	CHECK(proc_maps_find(&maps, UINT64_MAX) == NULL);
	proc_maps_deinit(&maps);
	CHECK(maps.count == 0 && !maps.items);
}

static void test_parse_bad(void)
{
	static const char *const texts[] = {
		"\n",
		"00400000-00401000",
		"00401000-00400000 r-xp 00000000 00:00 0 \n",
		"00400000-00400000 r-xp 00000000 00:00 0 \n",
		"0040000g-00401000 r-xp 00000000 00:00 0 \n",
		"10000000000000000-20000000000000000 r-xp 00000000 00:00 0 \n",
		"00400000-10000000000401000 r-xp 00000000 00:00 0 \n",
		"00400000-00401000 r-xp 00000000 00:00 18446744073709551617\n",
		"00400000-00401000 q-xp 00000000 00:00 0 \n",
		"00400000-00401000 r-x- 00000000 00:00 0 \n",
		"00400000-00401000 r-xp 00000000 00:00 x\n",
		"00400000-00401000 r-xp 00000000 100000000:00 0\n",
		"00400000-00401000 r-xp 00000000 00:00 0x\n",
		"00400000-00402000 r-xp 00000000 00:00 0\n00401000-00403000 r-xp 00000000 00:00 0\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct proc_maps maps = { 0 };
		struct hs_error *error = proc_maps_parse(texts[i], strlen(texts[i]), &maps);

		CHECK(error && error->code == HS_ERROR_BAD_DATA);
		if (!error)
			fprintf(stderr, "accepted: %s", texts[i]);
		hs_error_destroy(error);
		proc_maps_deinit(&maps);
	}
}

static void test_parse_edges(void)
{
	static const char no_newline[] = "00400000-00401000 r-xp 00000000 00:00 0";
	struct proc_maps maps;
	struct hs_error *error = proc_maps_parse("", 0, &maps);

	CHECK(!error);
	CHECK_EQUAL(maps.count, 0);
	CHECK(proc_maps_find(&maps, 0) == NULL);
	CHECK_EQUAL(proc_maps_find_hole(&maps, 0, 0x10000, 0x1000, 0, false), 0x1000);
	proc_maps_deinit(&maps);

	error = proc_maps_parse(no_newline, sizeof(no_newline) - 1, &maps);
	CHECK(!error);
	CHECK_EQUAL(maps.count, 1);
	CHECK_STRING(maps.items[0].name, "");
	proc_maps_deinit(&maps);
}

static void test_read_own(void)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(held_process(getpid()), &maps);

	CHECK(!error);
	if (error) {
		hs_error_destroy(error);
		return;
	}

	const struct proc_map *map = proc_maps_find(&maps, (uintptr_t)&test_read_own);

	CHECK(map && map->executable && strstr(map->name, "proc_maps_test"));
	proc_maps_deinit(&maps);

	error = proc_maps_read(held_process(0x7fffffff), &maps);
	CHECK(error && error->code == HS_ERROR_GONE);
	hs_error_destroy(error);
}

static void test_holes(void)
{
	static struct proc_map items[] = {
		{ .start = 0x10000, .end = 0x20000 },
		{ .start = 0x20000, .end = 0x21000 },
		{ .start = 0x30000, .end = 0x40000 },
	};
	static const struct proc_maps maps = { items, 3, NULL };
	static const struct {
		uint64_t low, high, size, gap;
		bool from_top;
		uint64_t expected;
	} cases[] = {
		{ 0, 0x100000, 0x1000, 0, false, 0x1000 },
		{ 0, 0x100000, 0x1000, 0, true, 0xff000 },
		{ 0x10000, 0x40000, 0x1000, 0, false, 0x21000 },
		{ 0x10000, 0x40000, 0x1000, 0, true, 0x2f000 },
		{ 0x10000, 0x40000, 0xf000, 0, true, 0x21000 }, // fits exactly
		{ 0x10000, 0x40000, 0xf001, 0, true, 0 },
		{ 0x10000, 0x40000, 0xf000, 0x1000, true, 0 },
		{ 0x10000, 0x40000, 0xd000, 0x1000, false, 0x22000 },
		{ 0x10000, 0x40000, 0xd000, 0x1000, true, 0x22000 },
		{ 0x10000, 0x40000, 1, 0x123, false, 0x22000 }, // pages only
		{ 0x10000, 0x40000, 1, 0, true, 0x2f000 },
		{ 0x22001, 0x40000, 0x1000, 0, false, 0x23000 },
		{ 0x10000, 0x20000, 0x1000, 0, false, 0 },
		{ 0x40000, 0x41000, 0x1000, 0, true, 0x40000 },
		{ 0x40000, 0x41000, 0x1000, 1, true, 0 },
		{ 0x41000, 0x41000, 0x1000, 0, false, 0 },
		{ 0, UINT64_MAX, UINT64_MAX, 0, false, 0 },
		{ 0, 0x100000, 0x1000, UINT64_MAX, false, 0 },
		{ 0, 0x100000, 0, 0, false, 0 },
		{ UINT64_MAX - 1, UINT64_MAX, 1, 0, false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t address = proc_maps_find_hole(&maps, cases[i].low, cases[i].high, cases[i].size, cases[i].gap,
						       cases[i].from_top);

		CHECK_EQUAL(address, cases[i].expected);
		if (address != cases[i].expected)
			fprintf(stderr, "in case %zu\n", i);
	}
}

// For a child that may not be looked at: the tool's side has no rights of root.
static void give_up_rights(void)
{
	if (geteuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
		_exit(1);
}

// What another process, without the rights of root, finds of a child that forbids it to look.
static void test_memory_unknown(void)
{
	int status = -1;
	pid_t looker;

	fflush(stdout);
	looker = fork();
	if (looker == 0) {
		int ready[2];
		char byte;
		pid_t child;
		enum process_memory before, after;

		give_up_rights();
		prctl(PR_SET_DUMPABLE, 1); // which a change of the user takes away
		before = proc_maps_memory(held_process(getpid()));
		if (pipe(ready) != 0)
			_exit(2);
		child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_DUMPABLE, 0);
			if (write(ready[1], "", 1) != 1)
				_exit(3);
			for (;;)
				pause();
		}
		if (read(ready[0], &byte, 1) != 1)
			_exit(4);
		after = proc_maps_memory(held_process(child));
		kill(child, SIGKILL);
		_exit(before == MEMORY_THERE && after == MEMORY_UNKNOWN ? 0 : 5);
	}
	CHECK_EQUAL(waitpid(looker, &status, 0), looker);
	CHECK_EQUAL(status, 0);
}

static void test_memory(void)
{
	pid_t child;
	siginfo_t info;

	CHECK_EQUAL(proc_maps_memory(held_process(getpid())), MEMORY_THERE);
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(0);
	CHECK_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQUAL(proc_maps_memory(held_process(child)), MEMORY_GONE); // a zombie
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
	CHECK_EQUAL(proc_maps_memory(held_process(child)), MEMORY_GONE);
	test_memory_unknown();
}

int main(void)
{
	test_parse();
	test_parse_bad();
	test_parse_edges();
	test_read_own();
	test_holes();
	test_memory();
	return CHECK_RESULT();
}
