// SPDX-License-Identifier: Apache-2.0
// The bound of the time in which a target stands still: of one stop, and of all stops of a command. The clock is the
// test's own, for a machine may give no processor for longer than the bound; so is the watchdog.
#include "attach/guard/freeze_watchdog.h"
#include "attach/guard/standstill.h"
#include "check.h"
#include "held_process.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BOUND_MS = 400, WAKE_MS = BOUND_MS * STANDSTILL_WAKE / 100, LEAST_MS = WAKE_MS / 8 };
#define MS UINT64_C(1000000)

static uint64_t now = 5000 * MS;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ (time_t)(now / (1000 * MS)), (long)(now % (1000 * MS)) };
	return 0;
}

static void pass(unsigned ms) { now += ms * MS; }

static bool is_there, is_armed;
static uint64_t armed_wake_at, armed_kill_at;

struct hs_error *freeze_watchdog_start(uint64_t least)
{
	CHECK_EQUAL(least, LEAST_MS * MS);
	is_there = true;
	pass(1000); // until it has had a processor, which is not the target's time
	return NULL;
}

void freeze_watchdog_arm(const struct process *process, uint64_t wake_at, uint64_t kill_at, uint64_t bound)
{
	CHECK(is_there && !is_armed);
	CHECK_EQUAL(process->pid, getpid());
	CHECK_EQUAL(bound, BOUND_MS * MS);
	is_armed = true;
	armed_wake_at = wake_at;
	armed_kill_at = kill_at;
}

void freeze_watchdog_disarm(void) { is_armed = false; }

void freeze_watchdog_stop(void) { is_there = false; }

// pre: so much of the command's time is spent
static void begin(unsigned spent_ms)
{
	struct hs_error *error = standstill_begin(held_process(getpid()));

	CHECK(!error);
	hs_error_destroy(error);
	CHECK(standstill_is_on() && is_armed);
	CHECK_EQUAL(armed_wake_at, now + (WAKE_MS - spent_ms) * MS);
	CHECK_EQUAL(armed_kill_at, now + (BOUND_MS - spent_ms) * MS);
}

static void end(void)
{
	standstill_end(true);
	CHECK(!standstill_is_on() && !is_armed);
}

// Ends with an error that says so, long before anything would be killed; without adding up it would go on for ever.
static void test_sum(void)
{
	enum { STOP_MS = 20, LAST_BEGIN_MS = WAKE_MS - LEAST_MS }; // spent at the last begin, at most
	struct hs_error *error;
	unsigned spent = 0;

	standstill_add_up();
	while (spent <= LAST_BEGIN_MS) {
		CHECK(!standstill_is_spent());
		begin(spent);
		pass(STOP_MS);
		spent += STOP_MS;
		error = standstill_check();
		CHECK(!error);
		hs_error_destroy(error);
		end();
		pass(1); // the target runs: that does not count
	}
	CHECK(standstill_is_spent());
	error = standstill_begin(held_process(getpid()));
	CHECK(error && error->code == HS_ERROR_TIMEOUT && strstr(error->message, "had been stopped for 0.26 s"));
	hs_error_destroy(error);
	CHECK(!standstill_is_on() && !is_armed);
	// The next command has its own.
	standstill_add_up();
	CHECK(!standstill_is_spent());
	begin(0);
	end();
	standstill_done();
	CHECK(!is_there);
}

// The last of several stops ends by itself when the sum is reached, though it is short.
static void test_last_of_several(void)
{
	const unsigned spent = BOUND_MS / 2;
	struct hs_error *error;

	standstill_add_up();
	begin(0);
	pass(spent);
	end();
	begin(spent);
	CHECK_EQUAL(standstill_deadline(UINT64_MAX), armed_wake_at); // waits end there
	pass(WAKE_MS - spent - 1);
	error = standstill_check();
	CHECK(!error);
	hs_error_destroy(error);
	pass(1);
	error = standstill_check();
	CHECK(error && error->code == HS_ERROR_TIMEOUT && strstr(error->message, "had been stopped for 0.28 s"));
	CHECK_EQUAL(standstill_deadline(UINT64_MAX), now + BOUND_MS / 25 * MS); // for rolling back, in moments
	hs_error_destroy(error);
	end();
	standstill_done();
}

int main(void)
{
	char bound[16];

	snprintf(bound, sizeof(bound), "%d", BOUND_MS);
	setenv("HEAPSNAP_MAX_FREEZE_MS", bound, 1);
	test_sum();
	test_last_of_several();
	return CHECK_RESULT();
}
