// SPDX-License-Identifier: Apache-2.0
#include "attach/process/cgroup.h"

#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/heapsnap-groups-XXXXXX";
static char mount[sizeof(folder) + 6]; // in it, so that there is something above

static void test_path(void)
{
	static const struct {
		const char *text;
		const char *controller; // NULL = version 2
		const char *path;       // NULL = none
	} cases[] = {
		{ "0::/\n", NULL, "/" },
		{ "0::/user.slice/a b\n", NULL, "/user.slice/a b" },
		{ "0::/last", NULL, "/last" },
		{ "0::/\n", "memory", NULL },
		{ "4:memory:/docker/1\n0::/\n", "memory", "/docker/1" },
		{ "4:memory:/docker/1\n0::/two\n", NULL, "/two" },
		{ "5:cpu,memory,pids:/x\n", "memory", "/x" },
		{ "5:cpu,memory_not:/x\n4:memory:/y\n", "memory", "/y" },
		{ "5:name=memory:/x\n", "memory", NULL },
		{ "5:cpu:/memory:/x\n", "memory", NULL },
		{ "5:memory\n0::/\n", "memory", NULL },
		{ "5:memory:../x\n", "memory", NULL },
		{ "", "memory", NULL },
		{ "6:freezer:/f\n4:memory:/y\n0::/two\n", "freezer", "/f" },
		{ "", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = NULL;
		size_t size = 0;
		bool found = cgroup_path(cases[i].text, cases[i].controller, &path, &size);

		if (found != (cases[i].path != NULL) ||
		    (found && (strlen(cases[i].path) != size || strncmp(cases[i].path, path, size) != 0)))
			fprintf(stderr, "case %zu\n", i);
		CHECK_EQUAL(found, cases[i].path != NULL);
		CHECK(!found || (strlen(cases[i].path) == size && strncmp(cases[i].path, path, size) == 0));
	}
}

struct file {
	const char *path, *text;
};

static void make(const struct file *file)
{
	char path[256];
	FILE *stream;

	snprintf(path, sizeof(path), "mkdir -p $(dirname %s/%s)", mount, file->path);
	CHECK_EQUAL(system(path), 0);
	snprintf(path, sizeof(path), "%s/%s", mount, file->path);
	stream = fopen(path, "w");
	CHECK(stream && fputs(file->text, stream) >= 0);
	if (stream)
		fclose(stream);
}

static void test_frozen(void)
{
	static const struct {
		const char *groups; // /proc/PID/cgroup
		struct file files[4];
		const char *says; // behind the mount; "" = not frozen
	} cases[] = {
		{ "0::/a\n", { { "a/cgroup.freeze", "0\n" }, { "a/cgroup.events", "populated 1\nfrozen 0\n" } }, "" },
		{ "0::/a\n", { { "a/cgroup.freeze", "1\n" } }, "/a/cgroup.freeze: 1" },
		{ "0::/a/b/c\n",
		  { { "a/cgroup.freeze", "1\n" }, { "a/b/cgroup.freeze", "0\n" }, { "a/b/c/cgroup.freeze", "0\n" } },
		  "/a/cgroup.freeze: 1" },
		{ "0::/ab\n", { { "a/cgroup.freeze", "1\n" }, { "ab/cgroup.freeze", "0\n" } }, "" },
		// One above froze it, which cannot be seen from within a container.
		{ "0::/\n", { { "cgroup.events", "populated 1\nfrozen 1\n" } }, "/cgroup.events: frozen 1" },
		{ "0::/a\n", { { "a/cgroup.events", "unfrozen 1\nfrozen 10\n" } }, "" },
		// Another part of the tree, of which the tool sees another part: the path is as good as somebody
		// else's.
		{ "0::/../a\n", { { "../a/cgroup.freeze", "1\n" } }, "" },
		{ "6:freezer:/../f\n", { { "freezer/../f/freezer.state", "FROZEN\n" } }, "" },
		{ "0::/..a\n", { { "..a/cgroup.freeze", "0\n" } }, "" },
		// Both versions.
		{ "6:freezer:/f\n0::/\n",
		  { { "freezer/f/freezer.state", "THAWED\n" }, { "freezer/f/freezer.self_freezing", "0\n" } },
		  "" },
		{ "6:freezer:/f\n0::/\n",
		  { { "freezer/f/freezer.self_freezing", "1\n" } },
		  "/freezer/f/freezer.self_freezing: 1" },
		{ "6:freezer:/f/g\n0::/\n",
		  { { "freezer/f/freezer.self_freezing", "1\n" }, { "freezer/f/g/freezer.self_freezing", "0\n" } },
		  "/freezer/f/freezer.self_freezing: 1" },
		{ "6:freezer:/f\n",
		  { { "freezer/f/freezer.state", "FREEZING\n" } },
		  "/freezer/f/freezer.state: FREEZING" },
		{ "6:freezer:/f\n", { { "freezer/f/freezer.state", "FROZEN\n" } }, "/freezer/f/freezer.state: FROZEN" },
		{ "4:memory:/f\n0::/u\n", { { "unified/u/cgroup.freeze", "1\n" } }, "/unified/u/cgroup.freeze: 1" },
		{ "", { { "a", "" } }, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char frozen[FROZEN_TEXT_SIZE], expected[FROZEN_TEXT_SIZE], command[64];

		CHECK(mkdtemp(folder) != NULL);
		snprintf(mount, sizeof(mount), "%s/mount", folder);
		CHECK_EQUAL(mkdir(mount, 0700), 0);
		for (size_t j = 0; j < 4 && cases[i].files[j].path; j++)
			make(&cases[i].files[j]);
		cgroup_frozen_below(mount, cases[i].groups, frozen);
		snprintf(expected, sizeof(expected), "%s%s", *cases[i].says ? mount : "", cases[i].says);
		CHECK_STRING(frozen, expected);
		snprintf(command, sizeof(command), "rm -r %s", folder);
		CHECK_EQUAL(system(command), 0);
		memset(folder + strlen(folder) - 6, 'X', 6);
	}
}

int main(void)
{
	test_path();
	test_frozen();
	return CHECK_RESULT();
}
