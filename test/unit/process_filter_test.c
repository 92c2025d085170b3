// SPDX-License-Identifier: Apache-2.0
// Which processes are meant, by texts as /proc has them: not every machine that tests has each kind of group.
#include "lib/process_filter.h"

#include "check.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ID    "4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c9b2d0011"
#define OTHER "4f5e1a7c9b2e4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c9b2d0011"

static void report(size_t i, bool is, bool expected, const char *what)
{
	if (is != expected)
		fprintf(stderr, "case %zu: %s\n", i, what);
	CHECK_EQUAL(is, expected);
}

static void test_names(void)
{
	static const struct {
		const char *regex, *name, *command_line;
		bool matches;
	} cases[] = {
		{ "redis", "redis-server", "redis-server *:6379", true },
		{ "^redis-server$", "redis-server", "/usr/bin/redis-server *:6379", true },
		{ "^redis$", "redis-server", "redis-server *:6379", false },
		{ "6380", "redis-server", "redis-server *:6379", false },
		{ ":6379$", "redis-server", "redis-server *:6379", true },
		{ "app[.]py", "python3", "/usr/bin/python3 app.py --port 80", true },
		{ "python3 (app|web)\\.py", "python3", "/usr/bin/python3 web.py", true },
		{ "^python3 web", "MainThread", "/usr/bin/python3 web.py", false },
		{ "x|MainThread", "MainThread", "", true },
		{ "Redis", "redis-server", "redis-server", false }, // letters count
		{ "\xff", "a\xff", "", true },
		{ "server.", "redis-server", "", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct process_filter filter;

		CHECK(!process_filter_init(&filter, &(struct hs_process_filter){ .name = cases[i].regex }));
		report(i, process_filter_has_name(&filter, cases[i].name, cases[i].command_line), cases[i].matches,
		       cases[i].regex);
		process_filter_deinit(&filter);
	}
}

// Longer than 60 lines: a line for each kind of path.
static void test_groups(void)
{
	static const struct {
		const char *path, *text;
		bool matches;
	} cases[] = {
		{ "/system.slice/redis.service", "0::/system.slice/redis.service\n", true },
		{ "system.slice/redis.service", "0::/system.slice/redis.service\n", true },
		{ "/system.slice/redis.service/", "0::/system.slice/redis.service\n", true },
		{ "//system.slice///redis.service//", "0::/system.slice/redis.service\n", true },
		{ "/sys/fs/cgroup/system.slice/redis.service", "0::/system.slice/redis.service\n", true },
		{ "/system.slice", "0::/system.slice/redis.service\n", true },
		{ "/system.slice", "0::/system.slice/redis.service", true },
		{ "/system.slice/redis", "0::/system.slice/redis.service\n", false },
		{ "/redis.service", "0::/system.slice/redis.service\n", false },
		{ "/system.slice/redis.service/below", "0::/system.slice/redis.service\n", false },
		{ "/", "0::/system.slice/redis.service\n", true },
		{ "/", "0::/\n", true },
		{ "/sys/fs/cgroup", "0::/\n", true },
		{ "/sys/fs/cgroup/", "0::/a\n", true },
		{ "/a", "0::/\n", false },
		{ "/sys/fs/cgroups/a", "0::/a\n", false },
		{ "/sys/fs/cgroups/a", "0::/sys/fs/cgroups/a/b\n", true },
		{ "/a b", "0::/a b/c\n", true },
		{ "/a:b", "0::/a:b\n", true },
		{ "/../x", "0::/../x\n", true },
		// Version 1: a line for each hierarchy.
		{ "/docker/1", "4:memory:/docker/1\n3:cpu,cpuacct:/\n0::/\n", true },
		{ "/docker/1", "4:memory:/docker/2\n3:cpu,cpuacct:/docker/1\n0::/\n", true },
		{ "/docker/1", "4:memory:/docker/12\n0::/docker\n", false },
		{ "/sys/fs/cgroup/memory/docker/1", "4:memory:/docker/1\n0::/\n", true },
		{ "/sys/fs/cgroup/cpu/docker/1", "3:cpu,cpuacct:/docker/1\n0::/\n", true },
		{ "/sys/fs/cgroup/cpuacct/docker/1", "3:cpu,cpuacct:/docker/1\n0::/\n", true },
		{ "/sys/fs/cgroup/cpu,cpuacct/docker/1", "3:cpu,cpuacct:/docker/1/2\n0::/\n", true },
		{ "/sys/fs/cgroup/cp/docker/1", "3:cpu,cpuacct:/docker/1\n0::/\n", false },
		{ "/sys/fs/cgroup/memory/docker/1", "4:memory:/\n3:cpu,cpuacct:/docker/1\n0::/\n", false },
		{ "/sys/fs/cgroup/systemd/a", "1:name=systemd:/a\n0::/\n", true },
		{ "/sys/fs/cgroup/unified/a", "4:memory:/b\n0::/a\n", true },
		{ "/sys/fs/cgroup/unified/a", "4:memory:/a\n0::/b\n", false },
		{ "/sys/fs/cgroup/memory", "4:memory:/a\n0::/b\n", true }, // the hierarchy's uppermost
		{ "/sys/fs/cgroup/memory", "0::/memory/b\n", true },
		{ "/memory/docker/1", "4:memory:/docker/1\n0::/\n", false },
		// What no kernel writes.
		{ "/", "", false },
		{ "/", "\n\n", false },
		{ "/", "4:memory\n", false },
		{ "/a", "4:memory\n0::/a\n", true },
		{ "/a", "4::\n::\n:\n::/a\n", true },
		{ "/", "0::relative\n", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct process_filter filter;

		CHECK(!process_filter_init(&filter, &(struct hs_process_filter){ .cgroup = cases[i].path }));
		report(i, process_filter_has_cgroup(&filter, cases[i].text), cases[i].matches, cases[i].path);
		process_filter_deinit(&filter);
	}
}

static void test_containers(void)
{
	static const struct {
		const char *id, *text;
		bool matches;
	} cases[] = {
		{ ID, "0::/system.slice/docker-" ID ".scope\n", true },
		{ "4f5e1a7c9b2d", "0::/system.slice/docker-" ID ".scope\n", true },
		{ "4F5E1A7C9B2D", "0::/system.slice/docker-" ID ".scope\n", true },
		{ "4f5e1a7c9b2d", "0::/system.slice/docker-" OTHER ".scope\n", false },
		{ "docker://4f5e1a7c9b2d4", "0::/system.slice/docker-" ID ".scope\n", true },
		{ "containerd://" ID, "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n", true },
		{ ID, "0::/machine.slice/libpod-" ID ".scope/container\n", true },
		{ ID, "0::/machine.slice/libpod-payload-" ID "\n", true },
		{ ID, "0::/machine.slice/libpod-conmon-" ID ".scope\n", false }, // its monitor
		{ ID, "0::/conmon-x/" ID "\n", true },
		{ ID, "4:memory:/docker/" ID "\n0::/\n", true },
		{ ID, "4:memory:/docker/" ID "/init.scope\n0::/\n", true },
		{ ID, "0::/kubepods/burstable/pod0a1b2c3d-0000-4000-8000-4f5e1a7c9b2d/" ID, true },
		{ ID, "0::/system.slice/kubepods-besteffort-pod1_2.slice:cri-containerd:" ID "\n", true },
		{ ID, "0::/crio-" ID ".scope\n", true },
		{ ID, "0::/lxc.payload." ID "\n", true },
		{ ID, "0::/docker/" OTHER "/docker/" ID "\n", true },
		{ "4f5e1a7c9b2d", "0::/pod0a1b2c3d-0000-4000-8000-4f5e1a7c9b2d/" OTHER "\n", false }, // a pod's UUID
		{ "4f5e1a7c9b2d", "0::/docker/4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c\n", true },            // 32 digits
		{ ID, "0::/docker/4f5e1a7c9b2d4f5e1a7c9b2d4f5e1a7c\n", false },
		{ "4f5e1a7c9b2d", "0::/docker/x" ID "\n", false },
		{ "4f5e1a7c9b2d", "0::/docker/" ID "x\n", false },
		{ "4f5e1a7c9b2d", "0::/docker/0" ID "\n", false },
		{ "1a7c9b2d4f5e", "0::/docker/" ID "\n", false }, // not its beginning
		{ "4f5e1a7c9b2d", "4:" ID ":/\n0::/\n", false },
		{ "4f5e1a7c9b2d", ID, false },
		{ "4f5e1a7c9b2d", "", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct process_filter filter;

		CHECK(!process_filter_init(&filter, &(struct hs_process_filter){ .container = cases[i].id }));
		report(i, process_filter_has_container(&filter, cases[i].text), cases[i].matches, cases[i].text);
		process_filter_deinit(&filter);
	}
}

static void test_wrong(void)
{
	static const struct {
		struct hs_process_filter filter;
		const char *words; // NULL = good
	} cases[] = {
		{ { .name = "a" }, NULL },
		{ { .name = "" }, "--name expects a regular expression, got ''" },
		{ { .name = "a(" }, "--name expects a regular expression, got 'a(': Unmatched" },
		{ { .name = "[" }, "--name expects" },
		{ { .cgroup = "" }, "--cgroup expects the path of a control group" },
		{ { .cgroup = "/" }, NULL },
		{ { .container = "" }, "--container expects the id" },
		{ { .container = "4f5e1a7c9b2" }, "at least its first 12 hexadecimal digits, got '4f5e1a7c9b2'" },
		{ { .container = ID "0" }, "--container expects the id" },
		{ { .container = "web" }, "--container expects the id" },
		{ { .container = "4f5e1a7c9b2g" }, "--container expects the id" },
		{ { .container = "docker://" }, "--container expects the id" },
		{ { .user = "" }, "--user expects the name or the number" },
		{ { .user = "a:b" }, "--user expects the name or the number" },
		{ { .user = "a" }, NULL },
		{ { .name = "x", .cgroup = "/", .container = ID, .user = "0" }, NULL },
	};

	CHECK(!hs_process_filter_is_given(&(struct hs_process_filter){ .name = NULL }));
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct hs_error *error = hs_process_filter_check(&cases[i].filter);

		CHECK(hs_process_filter_is_given(&cases[i].filter));
		if (!cases[i].words)
			CHECK(!error);
		else
			CHECK(error && error->code == HS_ERROR_BAD_DATA && strstr(error->message, cases[i].words));
		hs_error_destroy(error);
	}
}

static void test_command_lines(void)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *text;
	} cases[] = {
		{ "", 0, "" },
		{ "a", 1, "a" },
		{ "a\0b c\0", 6, "a b c" },
		{ "redis *:1\0\0\0\0   \0", 16, "redis *:1" },
		{ "\0\0", 2, "" },
		{ "\0a", 2, " a" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = malloc(cases[i].size + 1);

		memcpy(text, cases[i].bytes, cases[i].size);
		process_command_line(text, cases[i].size);
		CHECK_STRING(text, cases[i].text);
		free(text);
	}
}

static void test_users(void)
{
	static const char passwd[] =
		"root:x:0:0:root:/:/bin/sh\n\nredis-x:x:12:12::/:/bin/sh\nredis:x:105:111::/:/bin/sh\n"
		"+::::::\nbad:x\nworse:x::1:\nbig:x:4294967295:1::/:\nmore:x:12x:1::/:\n"
		"7:x:8:1::/:\ntwice:x:y:1:::\ntwice:x:3:1:::\nlast::9:9";
	static const struct {
		const char *name;
		int64_t number; // -1 = none
	} cases[] = {
		{ "root", 0 },  { "redis", 105 }, { "redis-x", 12 }, { "redi", -1 }, { "", -1 },
		{ "x", -1 },    { "bad", -1 },    { "worse", -1 },   { "big", -1 },  { "more", -1 },
		{ "twice", 3 }, { "last", 9 },    { "7", 8 },
	};
	static const struct {
		const char *text;
		int64_t number;
	} numbers[] = {
		{ "0", 0 },
		{ "1000", 1000 },
		{ "4294967294", 4294967294 },
		{ "4294967295", -1 },
		{ "18446744073709551617", -1 },
		{ "", -1 },
		{ "-1", -1 },
		{ "+1", -1 },
		{ " 1", -1 },
		{ "1 ", -1 },
		{ "0x1", -1 },
		{ "root", -1 },
	};
	uid_t user = 77;

	for (size_t i = 0; i < COUNT(cases); i++) {
		report(i, user_number_of_name(passwd, cases[i].name, &user), cases[i].number >= 0, cases[i].name);
		CHECK(cases[i].number < 0 || cases[i].number == user);
	}
	for (size_t i = 0; i < COUNT(numbers); i++) {
		report(i, user_number(numbers[i].text, &user), numbers[i].number >= 0, numbers[i].text);
		CHECK(numbers[i].number < 0 || numbers[i].number == user);
	}
}

int main(void)
{
	test_names();
	test_groups();
	test_containers();
	test_wrong();
	test_command_lines();
	test_users();
	return CHECK_RESULT();
}
