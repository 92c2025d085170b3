// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "snapshot/symbols/debuginfod_output.h"
#include "snapshot/symbols/debuginfod_place.h"

static const char passwd[] = "root:x:0:0:root:/r:/bin/bash\n"
			     "short:x:7\n"
			     "::::::\n"
			     "long:x:4294968296:1:name:/wrong:/bin/sh\n"
			     "nowhere:x:8:8::relative:/bin/sh\n"
			     "user:x:1000:1000:A Name,,,:/u/user:/bin/sh\n"
			     "last:x:1001:1001:A Name:/u/last";

static const struct {
	struct debuginfod_facts facts;
	const char *folder;
	int64_t other; // -1 = the tool's own user
} places[] = {
	{ { .home = "/u/a", .real_user = 5, .effective_user = 5 }, "/u/a/.cache/debuginfod_client", -1 },
	{ { .home = "/u/a", .cache_home = "/c", .real_user = 5, .effective_user = 5 }, "/c/debuginfod_client", -1 },
	{ { .home = "/u/a", .cache_home = "c" }, "/u/a/.cache/debuginfod_client", -1 },
	{ { .home = "/u/a", .cache_path = "/d" }, "/d", -1 },
	{ { .home = "/u/a", .cache_path = "" }, "/u/a/.cache/debuginfod_client", -1 },
	{ { .home = "/u/a", .cache_path = "d" }, "", -1 },
	{ { .home = "a" }, "", -1 },
	{ { .home = NULL }, "", -1 },
	// sudo
	{ { .home = "/r", .cache_home = "/c", .sudo_user = "1000", .sudo_group = "1", .passwd = passwd },
	  "/u/user/.cache/debuginfod_client",
	  1000 },
	{ { .home = "/r", .sudo_user = "1001", .sudo_group = "1", .passwd = passwd },
	  "/u/last/.cache/debuginfod_client",
	  1001 },
	{ { .home = "/r", .cache_path = "/d", .sudo_user = "1000", .sudo_group = "1" }, "/d", 1000 },
	{ { .home = "/r", .sudo_user = "8", .sudo_group = "1", .passwd = passwd }, "", 8 },
	{ { .home = "/r", .sudo_user = "7", .sudo_group = "1", .passwd = passwd }, "", 7 },
	{ { .home = "/r", .sudo_user = "99", .sudo_group = "1", .passwd = passwd }, "", 99 },
	{ { .home = "/r", .sudo_user = "99", .sudo_group = "1" }, "", 99 },
	// What is no sudo.
	{ { .home = "/r", .sudo_user = "0", .sudo_group = "0", .passwd = passwd }, "/r/.cache/debuginfod_client", -1 },
	{ { .home = "/r", .sudo_user = "1000", .passwd = passwd }, "/r/.cache/debuginfod_client", -1 },
	{ { .home = "/r", .sudo_user = "1000x", .sudo_group = "1", .passwd = passwd },
	  "/r/.cache/debuginfod_client",
	  -1 },
	{ { .home = "/r", .sudo_user = "4294967295", .sudo_group = "1", .passwd = passwd },
	  "/r/.cache/debuginfod_client",
	  -1 },
	{ { .home = "/u/a", .sudo_user = "1000", .sudo_group = "1", .passwd = passwd, .effective_user = 5 },
	  "/u/a/.cache/debuginfod_client",
	  -1 },
	{ { .home = "/u/a", .sudo_user = "1000", .sudo_group = "1", .passwd = passwd, .real_user = 5 },
	  "/u/a/.cache/debuginfod_client",
	  -1 },
};

static void test_places(void)
{
	static char long_home[PATH_MAX];
	struct debuginfod_place place;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		debuginfod_place_of(&places[i].facts, &place);
		CHECK_STRING(place.folder, places[i].folder);
		CHECK_EQUAL(place.is_of_other ? (int64_t)place.user : -1, places[i].other);
		CHECK_EQUAL(place.group, place.is_of_other);
	}
	memset(long_home, '/', sizeof(long_home) - 1);
	debuginfod_place_of(&(struct debuginfod_facts){ .home = long_home }, &place);
	CHECK_STRING(place.folder, "");
	debuginfod_place_of(&(struct debuginfod_facts){ .cache_path = long_home }, &place);
	CHECK_STRING(place.folder, long_home);
}

// As debuginfod-find 0.188 says it.
static const struct {
	const char *text;
	int64_t done, total; // -1 = none is said
	const char *reason;
} outputs[] = {
	{ "", -1, 0, "" },
	{ "\rDownloading /\rDownloading |", -1, 0, "Downloading |" },
	{ "\rDownloading /\rDownloading from http://127.0.0.1:80/ 300/1000", 300, 1000,
	  "Downloading from http://127.0.0.1:80/ 300/1000" },
	{ "\rDownloading from http://127.0.0.1:80/ 1/2\rDownloading from http://127.0.0.1:80/ 2/2\n/a/b\n", -1, 0,
	  "/a/b" },
	{ "\rDownloading from a 300", 300, 0, "Downloading from a 300" },
	{ "\rDownloading from a x300", -1, 0, "Downloading from a x300" },
	{ "\rDownloading from 300", 300, 0, "Downloading from 300" },
	{ "\rDownloading from a /300", -1, 0, "Downloading from a /300" },
	{ "\rDownloading from a 1111111111111111111", -1, 0, "Downloading from a 1111111111111111111" },
	{ "\rDownloading \\\nServer query failed: Connection refused\n", -1, 0,
	  "Server query failed: Connection refused" },
	{ "\n\r \n", -1, 0, "" },
	{ "300/1000", -1, 0, "300/1000" },
};

static void test_outputs(void)
{
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		struct debuginfod_output output = { .size = 0 };
		uint64_t done = 0, total = 0;
		const size_t size = strlen(outputs[i].text), half = size / 2;
		bool is;

		debuginfod_output_add(&output, outputs[i].text, half);
		debuginfod_output_add(&output, outputs[i].text + half, size - half);
		is = debuginfod_output_progress(&output, &done, &total);
		CHECK_EQUAL(is ? (int64_t)done : -1, outputs[i].done);
		CHECK_EQUAL(is ? (int64_t)total : 0, outputs[i].total);
		CHECK_STRING(debuginfod_output_reason(&output), outputs[i].reason);
	}
}

// However much is said: the end of it is kept.
static void test_endless(void)
{
	static char long_text[3 * DEBUGINFOD_OUTPUT_MAX];
	struct debuginfod_output output = { .size = 0 };

	memset(long_text, 'a', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = 0;
	for (size_t size = 1; size <= sizeof(long_text); size += 500) {
		debuginfod_output_add(&output, long_text, size);
		CHECK(output.size <= DEBUGINFOD_OUTPUT_MAX && strlen(output.text) == output.size);
	}
	debuginfod_output_add(&output, long_text, sizeof(long_text));
	debuginfod_output_add(&output, "\nthe end", 8);
	CHECK_EQUAL(output.size, DEBUGINFOD_OUTPUT_MAX);
	CHECK_STRING(debuginfod_output_reason(&output), "the end");
}

int main(void)
{
	test_places();
	test_outputs();
	test_endless();
	return CHECK_RESULT();
}
