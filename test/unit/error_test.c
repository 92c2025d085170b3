// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "base/log.h"
#include "check.h"

#include <errno.h>

static char logged[128];
static enum hs_log_level logged_level;

static void keep_message(enum hs_log_level level, const char *message)
{
	logged_level = level;
	snprintf(logged, sizeof(logged), "%s", message);
}

static void test_error(void)
{
	struct hs_error *error = hs_error_create(HS_ERROR_REFUSED, "process %d is a zombie", 7);

	CHECK_EQUAL(error->code, HS_ERROR_REFUSED);
	CHECK_EQUAL(error->error_number, 0);
	CHECK_STRING(error->message, "process 7 is a zombie");
	hs_error_destroy(error);

	error = hs_error_system(ENOENT, "cannot open %s", "x");
	CHECK_EQUAL(error->code, HS_ERROR_SYSTEM);
	CHECK_EQUAL(error->error_number, ENOENT);
	CHECK_STRING(error->message, "cannot open x: No such file or directory");

	error = hs_error_prefix(error, "module %u", 3u);
	CHECK_EQUAL(error->error_number, ENOENT);
	CHECK_STRING(error->message, "module 3: cannot open x: No such file or directory");

	struct hs_error *second = hs_error_with_errno(HS_ERROR_REMOTE, EPERM, "mmap");

	CHECK_EQUAL(second->code, HS_ERROR_REMOTE);
	error = hs_error_join(error, second);
	CHECK_EQUAL(error->code, HS_ERROR_SYSTEM);
	CHECK_EQUAL(error->error_number, ENOENT);
	CHECK_STRING(error->message, "module 3: cannot open x: No such file or directory; also: "
				     "mmap: Operation not permitted");
	hs_error_destroy(error);
	hs_error_destroy(NULL);
}

static void test_join_of_one(void)
{
	struct hs_error *error = hs_error_create(HS_ERROR_GONE, "gone");

	CHECK(!hs_error_join(NULL, NULL));
	CHECK(hs_error_join(error, NULL) == error);
	CHECK(hs_error_join(NULL, error) == error);
	hs_error_destroy(error);
}

static void test_no_memory(void)
{
	CHECK_EQUAL(hs_error_no_memory.code, HS_ERROR_NO_MEMORY);
	CHECK(hs_error_prefix(&hs_error_no_memory, "x") == &hs_error_no_memory);
	hs_error_destroy(&hs_error_no_memory);

	struct hs_error *joined = hs_error_join(&hs_error_no_memory, hs_error_create(HS_ERROR_GONE, "gone"));

	CHECK_EQUAL(joined->code, HS_ERROR_NO_MEMORY);
	CHECK(strstr(joined->message, "; also: gone") != NULL);
	hs_error_destroy(joined);
}

static void test_log(void)
{
	hs_warn("dropped");
	CHECK_STRING(logged, "");
	hs_log_set_sink(keep_message);
	hs_warn("two %d", 2);
	CHECK_EQUAL(logged_level, HS_LOG_WARNING);
	CHECK_STRING(logged, "two 2");
	hs_verbose("three");
	CHECK_EQUAL(logged_level, HS_LOG_VERBOSE);
	CHECK_STRING(logged, "three");
	hs_log_set_sink(NULL);
	hs_warn("dropped");
	CHECK_STRING(logged, "three");
}

static void test_shortage(void)
{
	const int shortages[] = { EMFILE, ENFILE, ENOMEM }, others[] = { 0, ENOENT, ESRCH, EACCES, EPERM, ENOSYS };

	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++)
		CHECK(hs_errno_is_shortage(shortages[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!hs_errno_is_shortage(others[i]));
}

int main(void)
{
	test_error();
	test_join_of_one();
	test_no_memory();
	test_log();
	test_shortage();
	return CHECK_RESULT();
}
