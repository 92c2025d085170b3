// SPDX-License-Identifier: Apache-2.0
#include "attach/process/memory_group.h"

#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char mount[] = "/tmp/heapsnap-groups-XXXXXX";

static void write_number(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", mount, folder, name);
	file = fopen(path, "w");
	CHECK(file != NULL);
	if (!file)
		return;
	fputs(text, file);
	fclose(file);
}

static void make_folder(const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", mount, folder);
	CHECK_EQUAL(mkdir(path, 0755), 0);
}

static void expect(const char *text, unsigned version, uint64_t limit, uint64_t room)
{
	struct memory_group group;

	memory_group_read_below(mount, text, &group);
	if (group.version != version || group.limit != limit)
		fprintf(stderr, "for %s", text);
	CHECK_EQUAL(group.version, version);
	CHECK_EQUAL(group.limit, limit);
	CHECK_EQUAL(memory_group_room(&group), room);
}

static void test_read(void)
{
	make_folder("a");
	make_folder("a/b");
	make_folder("a/b/c");
	expect("0::/a/b/c\n", 0, UINT64_MAX, UINT64_MAX); // no files
	write_number("a/b/c", "memory.max", "max\n");
	write_number("a/b/c", "memory.current", "10\n");
	expect("0::/a/b/c\n", 0, UINT64_MAX, UINT64_MAX);
	write_number("a/b", "memory.max", "1000\n"); // of a group above
	write_number("a/b", "memory.current", "300\n");
	expect("0::/a/b/c\n", 2, 1000, 700);
	write_number("a", "memory.max", "2000\n"); // a higher limit that leaves less
	write_number("a", "memory.current", "1900\n");
	expect("0::/a/b/c\n", 2, 2000, 100);
	write_number("a", "memory.current", "2100\n"); // over it already
	expect("0::/a/b/c\n", 2, 2000, 0);
	write_number("a", "memory.stat",
		     "anon 5\nfile 900\nactive_file 99\ninactive_file 700\ntotal_inactive_file 3\n");
	expect("0::/a/b/c\n", 2, 2000, 600);                              // old page cache goes first
	write_number("a", "memory.stat", "anon 5\ninactive_file 2200\n"); // read at another time than what is used
	expect("0::/a/b/c\n", 2, 1000, 700);
	write_number("a", "memory.stat", "anon 5\n");
	expect("0::/a/b/c\n", 2, 2000, 0);
	expect("0::/../elsewhere\n", 0, UINT64_MAX, UINT64_MAX);

	make_folder("memory");
	make_folder("memory/d");
	write_number("memory", "memory.limit_in_bytes", "9223372036854771712\n"); // no limit
	write_number("memory", "memory.usage_in_bytes", "5000\n");
	write_number("memory/d", "memory.limit_in_bytes", "4096\n");
	write_number("memory/d", "memory.usage_in_bytes", "1024\n");
	expect("4:memory:/d\n", 1, 4096, 3072);
	write_number("memory/d", "memory.stat", "cache 7\ninactive_file 100\ntotal_inactive_file 24\n");
	expect("4:memory:/d\n", 1, 4096, 3096); // of the groups below as well
	write_number("memory/d", "memory.stat", "cache 7\n");
	expect("4:memory:/\n", 0, UINT64_MAX, UINT64_MAX);
	expect("4:memory:/d\n0::/a/b\n", 2, 2000, 0);
	write_number("a", "memory.current", "0\n");
	write_number("a/b", "memory.max", "9000\n");
	expect("4:memory:/d\n0::/a/b\n", 2, 2000, 2000); // whichever leaves least
	write_number("memory/d", "memory.usage_in_bytes", "4000\n");
	expect("4:memory:/d\n0::/a/b\n", 1, 4096, 96);
}

int main(void)
{
	char command[64];

	CHECK(mkdtemp(mount) != NULL);
	test_read();
	snprintf(command, sizeof(command), "rm -r %s", mount);
	CHECK_EQUAL(system(command), 0);
	return CHECK_RESULT();
}
