// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/standstill.h"

#include "attach/guard/freeze_watchdog.h"
#include "attach/guard/memory_lock.h"
#include "attach/guard/refused_reads.h"
#include "attach/guard/task_compare.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/test_variable.h"

#include <signal.h>
#include <stdlib.h>

static struct {
	bool is_on;
	bool stays_armed; // until the tool ends
	bool is_locked;
	uint64_t began, wake_at; // CLOCK_MONOTONIC, ns
	uint64_t bound;          // ns
	bool adds_up;
	uint64_t spent; // ns, of the command's standstills that have ended
	sigset_t mask;
} standstill;

static uint64_t read_bound(void)
{
	const char *text = hs_test_variable("HEAPSNAP_MAX_FREEZE_MS");
	unsigned long ms = text ? strtoul(text, NULL, 10) : 0;

	return (ms > 0 && ms < STANDSTILL_BOUND_MS ? ms : STANDSTILL_BOUND_MS) * UINT64_C(1000000);
}

static uint64_t time_to_wake(void) { return standstill.bound / 100 * STANDSTILL_WAKE; }

// Less than this is not worth a stop: the rest of the time is for rolling back.
static uint64_t least_time(void) { return time_to_wake() / 8; }

static struct hs_error *too_long(void)
{
	const uint64_t stopped = standstill.is_on ? time_to_wake() : standstill.spent;

	return hs_error_create(
		HS_ERROR_TIMEOUT,
		"gave up: the process had been stopped for %.3g s (limit %.3g s); is the machine short of processors "
		"or memory? Try again later",
		(double)stopped / 1e9, (double)standstill.bound / 1e9);
}

static void block_terminal_stops(void)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stops, &standstill.mask);
}

void standstill_add_up(void)
{
	standstill.adds_up = true;
	standstill.spent = 0;
}

struct hs_error *standstill_begin(const struct process *process)
{
	struct hs_error *error;
	uint64_t now;

	if (!standstill.bound)
		standstill.bound = read_bound();
	if (standstill_is_spent())
		return too_long();
	error = freeze_watchdog_start(least_time());
	if (!error)
		error = task_compare_begin();
	if (error)
		return error;
	if (!standstill.is_locked)
		memory_lock();
	standstill.is_locked = true;
	standstill.is_on = true;
	refused_reads_begin();
	hs_log_hold();
	if (standstill.stays_armed)
		return NULL;
	block_terminal_stops();
	now = hs_monotonic_ns();
	standstill.began = now;
	standstill.wake_at = now + time_to_wake() - standstill.spent;
	freeze_watchdog_arm(process, standstill.wake_at, now + standstill.bound - standstill.spent, standstill.bound);
	return NULL;
}

void standstill_end(bool all_released)
{
	standstill.is_on = false;
	task_compare_end();
	refused_reads_end();
	if (!all_released)
		standstill.stays_armed = true;
	if (!standstill.stays_armed) {
		freeze_watchdog_disarm();
		standstill.spent += standstill.adds_up ? hs_monotonic_ns() - standstill.began : 0;
		sigprocmask(SIG_SETMASK, &standstill.mask, NULL); // a stop that has come meanwhile takes effect here
	}
	hs_log_release();
}

void standstill_done(void)
{
	if (standstill.stays_armed)
		return;
	task_compare_done();
	freeze_watchdog_stop();
	if (standstill.is_locked)
		memory_unlock();
	standstill.is_locked = false;
}

struct hs_error *standstill_check(void)
{
	if (!standstill.is_on || hs_monotonic_ns() < standstill.wake_at)
		return NULL;
	return too_long();
}

bool standstill_is_spent(void) { return standstill.bound && standstill.spent + least_time() > time_to_wake(); }

uint64_t standstill_deadline(uint64_t deadline)
{
	uint64_t now, most;

	if (!standstill.is_on)
		return deadline;
	now = hs_monotonic_ns();
	most = now < standstill.wake_at ? standstill.wake_at : now + standstill.bound / 25;
	return deadline < most ? deadline : most;
}

bool standstill_is_on(void) { return standstill.is_on; }

void stop_times_add(struct stop_times *times, uint64_t stopped_ns)
{
	times->all_ns += stopped_ns;
	if (stopped_ns > times->longest_ns)
		times->longest_ns = stopped_ns;
}
