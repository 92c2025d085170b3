// SPDX-License-Identifier: Apache-2.0
// Messages that are held: their order, what happens when there are too many or they are too long, and that held ones
// are not shown.
#include "base/log.h"
#include "base/message_queue.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

static char shown[2 * HS_MESSAGE_QUEUE_SIZE];
static size_t shown_size;
static unsigned shown_count, warnings;

static void show(enum hs_log_level level, const char *message)
{
	int size = snprintf(shown + shown_size, sizeof(shown) - shown_size, "%s\n", message);

	shown_size += (size_t)size;
	shown_count++;
	warnings += level == HS_LOG_WARNING;
}

static void forget(void)
{
	shown_size = shown_count = warnings = 0;
	shown[0] = 0;
}

static void check_order(void)
{
	forget();
	hs_verbose("before");
	hs_log_hold();
	hs_verbose("one %d", 1);
	hs_warn("two");
	hs_verbose("%s", "");
	CHECK(strcmp(shown, "before\n") == 0);
	hs_log_release();
	CHECK(strcmp(shown, "before\none 1\ntwo\n\n") == 0);
	CHECK_EQUAL(warnings, 1);
	hs_verbose("after");
	CHECK(strcmp(shown, "before\none 1\ntwo\n\nafter\n") == 0);
	forget();
	hs_log_hold();
	hs_log_release();
	CHECK_EQUAL(shown_count, 0);
}

// The last room is kept for warnings; the number of messages without room is said.
static void check_too_many(void)
{
	const unsigned many = HS_MESSAGE_QUEUE_SIZE / 16;
	char last[64];

	forget();
	hs_log_hold();
	for (unsigned i = 0; i < many; i++)
		hs_verbose("message number %u", i);
	hs_warn("a warning");
	hs_log_release();
	CHECK(shown_count > many / 2 && shown_count < many);
	CHECK_EQUAL(warnings, 2);
	CHECK(strstr(shown, "\na warning\n") != NULL);
	snprintf(last, sizeof(last), "\n%u messages were dropped (buffer full)\n", many - (shown_count - 2));
	CHECK(strstr(shown, last) != NULL);
	forget();
	hs_log_hold();
	hs_verbose("room again");
	hs_log_release();
	CHECK(strcmp(shown, "room again\n") == 0);
	forget();
	hs_log_hold();
	for (unsigned i = 0; i < many; i++)
		hs_warn("warning number %u", i);
	hs_log_release();
	CHECK(shown_count < many && shown_size < sizeof(shown));
}

static void check_too_long(void)
{
	static char text[3 * HS_MESSAGE_SIZE_MAX];

	memset(text, 'x', sizeof(text) - 1);
	forget();
	hs_log_hold();
	hs_verbose("%s", text);
	hs_verbose("next");
	hs_log_release();
	CHECK_EQUAL(shown_count, 2);
	CHECK(shown_size > HS_MESSAGE_SIZE_MAX - 8 && shown_size < HS_MESSAGE_SIZE_MAX + 8);
	CHECK(strcmp(shown + shown_size - strlen("x\nnext\n"), "x\nnext\n") == 0);
}

int main(void)
{
	hs_log_set_sink(show);
	check_order();
	check_too_many();
	check_too_long();
	return CHECK_RESULT();
}
