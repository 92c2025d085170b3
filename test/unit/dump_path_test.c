// SPDX-License-Identifier: Apache-2.0
#include "lib/dump_path.h"

#include "check.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void test_names(void)
{
	static const struct {
		const char *folder, *name;
		uint32_t number;
		int64_t seconds;
		const char *path;
	} cases[] = {
		{ "out/", "redis-server", 1234, 1795784701, "out/redis-server.1234.20261127T130501Z.pb.gz" },
		{ "/", "a", 1, 0, "/a.1.19700101T000000Z.pb.gz" },
		{ "./", "python3.11", 2, 951827696, "./python3.11.2.20000229T123456Z.pb.gz" },
		{ "x/", "kworker/0:1", 3, 0, "x/kworker_0_1.3.19700101T000000Z.pb.gz" },
		{ "x/", "../../etc/passwd", 3, 0, "x/_._.._etc_passwd.3.19700101T000000Z.pb.gz" },
		{ "x/", "-rf *", 3, 0, "x/_rf__.3.19700101T000000Z.pb.gz" },
		{ "x/", "a\n\x1b[2J\xc3\xa4", 3, 0, "x/a___2J__.3.19700101T000000Z.pb.gz" },
		{ "x/", "", 2147483647, 0, "x/process.2147483647.19700101T000000Z.pb.gz" },
		{ "x/", "%s%n", 4294967295, -1, "x/_s_n.4294967295.19691231T235959Z.pb.gz" },
		{ "x/", "a", 1, INT64_MAX, "x/a.1.0.pb.gz" },
		{ "x/", "0123456789012345678901234567890123456789012345678901234567890123456789", 1, 0,
		  "x/0123456789012345678901234567890123456789012345678901234567890123.1.19700101T000000Z.pb.gz" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = NULL;

		CHECK(!dump_path_make(cases[i].folder, cases[i].name, cases[i].number, cases[i].seconds, 0,
				      PROFILE_BY_NAME, &path));
		CHECK_STRING(path, cases[i].path);
		free(path);
	}
}

static void test_snapshots(void)
{
	static const struct {
		unsigned snapshot;
		enum profile_format format;
		const char *path;
	} cases[] = {
		{ 0, PROFILE_PPROF, "x/a.1.19700101T000000Z.pb.gz" },
		{ 1, PROFILE_PPROF, "x/a.1.19700101T000000Z.1.pb.gz" },
		{ UINT32_MAX, PROFILE_SPEEDSCOPE, "x/a.1.19700101T000000Z.4294967295.speedscope.json" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = NULL;

		CHECK(!dump_path_make("x/", "a", 1, 0, cases[i].snapshot, cases[i].format, &path));
		CHECK_STRING(path, cases[i].path);
		free(path);
	}
}

static void test_formats(void)
{
	static const struct {
		enum profile_format format;
		const char *path;
	} cases[] = {
		{ PROFILE_PPROF, "x/a.1.19700101T000000Z.pb.gz" },
		{ PROFILE_PAGE, "x/a.1.19700101T000000Z.html" },
		{ PROFILE_COLLAPSED, "x/a.1.19700101T000000Z.collapsed" },
		{ PROFILE_JSON, "x/a.1.19700101T000000Z.json" },
		{ PROFILE_SPEEDSCOPE, "x/a.1.19700101T000000Z.speedscope.json" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = NULL;

		CHECK(!dump_path_make("x/", "a", 1, 0, 0, cases[i].format, &path));
		CHECK_STRING(path, cases[i].path);
		free(path);
	}
}

static void test_folders(void)
{
	CHECK(hs_output_is_folder("a/") && hs_output_is_folder("/") && hs_output_is_folder("a/b//"));
	CHECK(!hs_output_is_folder("a") && !hs_output_is_folder("") && !hs_output_is_folder("-") &&
	      !hs_output_is_folder("a/b"));
}

static void test_process(void)
{
	const struct process closed = { .pid = 42, .folder = -1, .pidfd = -1 };
	struct process own;
	char *path = NULL, expected[64];

	CHECK(!hs_dump_path("out.pb.gz", PROFILE_JSON, &closed, &path));
	CHECK_STRING(path, "out.pb.gz");
	free(path);
	CHECK(!hs_dump_path("out/", PROFILE_BY_NAME, &closed, &path));
	CHECK(strncmp(path, "out/process.42.2", 16) == 0);
	free(path);
	prctl(PR_SET_NAME, "of this test");
	CHECK(!process_open(getpid(), &own) && !hs_dump_path("out/", PROFILE_BY_NAME, &own, &path));
	snprintf(expected, sizeof(expected), "out/of_this_test.%d.2", (int)getpid());
	CHECK(strncmp(path, expected, strlen(expected)) == 0);
	free(path);
	process_close(&own);
}

int main(void)
{
	test_names();
	test_formats();
	test_snapshots();
	test_folders();
	test_process();
	return CHECK_RESULT();
}
