// SPDX-License-Identifier: Apache-2.0
// What a dump prints (cli/dump.c), of results made by hand.
#include "captured.h"
#include "check.h"

#include "../../cli/dump.c"

static void test_way(void)
{
	const struct options options = { .quiet = false };
	struct hs_dump_result result = { .profile = { .stopped_because = "asked for" },
					 .stopped_ns = 12340000,
					 .copy_ns = 2000000 };

	capture_begin();
	print_copying(&options, &result);
	capture_end();
	CHECK_STRING(captured_output(), "threads stopped for 12.3 ms: asked for\n");
	result.profile = (struct heap_profile){ .copies = 2, .log_records = 5 };
	capture_begin();
	print_copying(&options, &result);
	capture_end();
	CHECK_STRING(captured_output(),
		     "no pause; copied concurrently in 2.0 ms, with 5 log records; the log of a first copy got full\n");
}

// What there is one of has no plural. Without a file none is told of.
static void test_counts(void)
{
	const struct options to_file = { .output = "out" }, to_stream = { .output = "-" }, to_none = { .limit = 1 };
	struct hs_dump_result none = { .file_bytes = 5, .total_ns = 2000000 },
			      one = { .profile = { .sample_count = 1, .log_records = 1 } };

	none.view.named.profile = &none.profile;
	one.view.named.profile = &one.profile;
	capture_begin();
	CHECK(!print_summary(&to_file, &none));
	capture_end();
	CHECK(strstr(captured_output(), "with 0 log records\nout: 5 B, from 0 stacks; 2.0 ms in all\n"));
	capture_begin();
	CHECK(!print_summary(&to_stream, &one));
	capture_end();
	CHECK(strstr(captured_output(), "with 1 log record\nwrote 0 B, from 1 stack;"));
	capture_begin();
	CHECK(!print_summary(&to_none, &one));
	capture_end();
	CHECK(strstr(captured_output(), "with 1 log record\n") && !strstr(captured_output(), "stack"));
}

int main(void)
{
	test_way();
	test_counts();
	return CHECK_RESULT();
}
