// SPDX-License-Identifier: Apache-2.0
// What lib/ makes of what attach/ has found out. The transactions stand before those of the library.
#include "attach/session/attached_list.h"
#include "attach/session/session.h"
#include "base/process.h"
#include "check.h"
#include "held_process.h"
#include "inject/abi/region.h"
#include "lib/aftermath.h"
#include "lib/detach.h"
#include "lib/find_process.h"
#include "lib/sampling_convert.h"
#include "lib/status.h"
#include "lib/user_allocators.h"

#include <sys/prctl.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct process process_42 = { .pid = 42, .folder = -1, .pidfd = -1 };
static struct detach_report detached;
static struct attached_process examined;
static struct hs_error *examine_error;

struct hs_error *session_detach(const struct process *process, unsigned wait_ms, struct detach_report *report)
{
	(void)process;
	(void)wait_ms;
	*report = detached;
	return NULL;
}

struct hs_error *attached_examine(const struct process *process, struct attached_process *ret)
{
	(void)process;
	*ret = examined;
	return examine_error;
}

struct hs_error *attached_list(struct attached_process **list_ret, size_t *count_ret, size_t *hidden_ret)
{
	(void)list_ret;
	(void)count_ret;
	(void)hidden_ret;
	return &hs_error_no_memory;
}

// The first reason that holds is the one that is told.
static void test_outcomes(void)
{
	static const struct {
		struct detach_report report;
		enum hs_detach_outcome outcome;
	} cases[] = {
		{ { .finished = true }, HS_DETACH_DONE },
		{ { .finished = true, .only_leftovers = true }, HS_DETACH_CLEARED },
		{ { .foreign_hooks = 1, .threads_unseen = 1, .calls_lost = true }, HS_DETACH_FOREIGN_HOOKS },
		{ { .threads_unseen = 1, .threads_inside = 1, .calls_lost = true }, HS_DETACH_THREADS_UNSEEN },
		{ { .calls_lost = true, .calls_left = 2, .threads_inside = 1 }, HS_DETACH_CALLS_LOST },
		{ { .calls_left = 2, .calls_unseen = 1 }, HS_DETACH_CALLS_LEFT },
		{ { .calls_left = 2, .threads_inside = 1 }, HS_DETACH_THREADS_INSIDE },
		{ { .threads_inside = 1, .only_leftovers = true }, HS_DETACH_THREADS_INSIDE },
	};
	struct hs_detach_result result;

	for (size_t i = 0; i < COUNT(cases); i++) {
		detached = cases[i].report;
		CHECK(!hs_detach(&process_42, 0, &result));
		CHECK_EQUAL(result.outcome, cases[i].outcome);
		CHECK_EQUAL(result.is_finished, cases[i].report.finished);
		CHECK_EQUAL(result.is_verified, cases[i].report.finished);
		CHECK_EQUAL(result.calls_unseen, cases[i].report.calls_unseen);
	}
	detached = (struct detach_report){ .finished = true,
					   .checks = { { "held", DETACH_HOLDS },
						       { "not", DETACH_DOES_NOT_HOLD },
						       { "changed", DETACH_NOT_COMPARABLE } } };
	detached.check_count = 3;
	CHECK(!hs_detach(&process_42, 0, &result));
	CHECK(result.is_finished && !result.is_verified && result.check_count == 3);
	CHECK_STRING(result.checks[1].text, "not");
	CHECK_EQUAL(result.checks[0].answer, HS_DETACH_HOLDS);
	CHECK_EQUAL(result.checks[1].answer, HS_DETACH_DOES_NOT_HOLD);
	CHECK_EQUAL(result.checks[2].answer, HS_DETACH_NOT_COMPARABLE);
	detached.checks[1].answer = DETACH_NOT_COMPARABLE;
	CHECK(!hs_detach(&process_42, 0, &result));
	CHECK(result.is_verified);
}

static void test_states(void)
{
	static const struct {
		struct attached_process process;
		enum hs_state state;
	} cases[] = {
		{ { .state = REGION_ATTACHED }, HS_STATE_ATTACHED },
		{ { .state = REGION_ATTACHING }, HS_STATE_ATTACH_UNFINISHED },
		{ { .state = REGION_DETACHING }, HS_STATE_DETACH_UNFINISHED },
		{ { .has_leftovers = true }, HS_STATE_LEFTOVERS },
		{ { .has_idle_hooks = true }, HS_STATE_IDLE_HOOKS },
		{ { .has_leftovers = true, .has_idle_hooks = true }, HS_STATE_LEFTOVERS },
		{ { .reason = "no right" }, HS_STATE_UNREADABLE },
		{ { .state = 77 }, HS_STATE_UNREADABLE },
	};
	struct hs_status status;

	for (size_t i = 0; i < COUNT(cases); i++) {
		examined = cases[i].process;
		CHECK(!hs_status_read(&process_42, &status, NULL));
		CHECK_EQUAL(status.state, cases[i].state);
		CHECK_STRING(status.reason, cases[i].process.reason);
	}
}

// "Nothing of heapsnap is in it" is only said where nothing can come any more.
// What "gone" means is looked up once more.
static void test_explanation(void)
{
	struct hs_error *error =
		hs_aftermath_explain(held_process(getpid()), hs_error_create(HS_ERROR_GONE, "process is gone"));

	CHECK(error->code == HS_ERROR_GONE && strstr(error->message, "has executed another program"));
	hs_error_destroy(error);
	error = hs_aftermath_explain(&process_42, hs_error_create(HS_ERROR_GONE, "process 42 is gone"));
	CHECK_STRING(error->message, "process 42 is gone");
	hs_error_destroy(error);
	error = hs_aftermath_explain(held_process(getpid()), hs_error_create(HS_ERROR_REFUSED, "no"));
	CHECK_STRING(error->message, "no");
	hs_error_destroy(error);
}

static void test_aftermath(void)
{
	struct hs_error *error;
	struct hs_status status;
	bool is_free;

	examine_error = hs_error_create(HS_ERROR_NOT_FOUND, "not attached");
	examined = (struct attached_process){ .pid = 42 };
	CHECK(!hs_aftermath_look(&process_42, &status, &is_free) && is_free);
	examine_error = hs_error_create(HS_ERROR_NOT_FOUND, "a thread may come");
	examined.late.tid = 43;
	error = hs_aftermath_look(&process_42, &status, &is_free);
	CHECK(error && !is_free);
	hs_error_destroy(error);
	examine_error = hs_error_create(HS_ERROR_REFUSED, "no right");
	examined.late.tid = 0;
	error = hs_aftermath_look(&process_42, &status, &is_free);
	CHECK(error && !is_free);
	hs_error_destroy(error);
	examine_error = NULL;
	examined.state = REGION_ATTACHED;
	CHECK(!hs_aftermath_look(&process_42, &status, &is_free) && !is_free && status.state == HS_STATE_ATTACHED);
}

// There and back again.
static void test_sampling(void)
{
	static const enum sampling_mode modes[] = { SAMPLING_exact, SAMPLING_interval, SAMPLING_words, SAMPLING_budget,
						    SAMPLING_stopped };
	static const enum hs_sampling_mode names[] = { HS_SAMPLING_EXACT, HS_SAMPLING_INTERVAL, HS_SAMPLING_WORDS,
						       HS_SAMPLING_BUDGET, HS_SAMPLING_STOPPED };

	for (size_t i = 0; i < COUNT(modes); i++) {
		const struct sampling_settings before = { modes[i], 4096, 30000, modes[(i + 1) % COUNT(modes)], 77 };
		const struct hs_sampling sampling = sampling_from_region(&before);
		const struct sampling_settings after = sampling_to_region(&sampling);

		CHECK_EQUAL(sampling.mode, names[i]);
		CHECK_EQUAL(after.mode, before.mode);
		CHECK_EQUAL(after.before, before.before);
		CHECK_EQUAL(after.interval, 4096);
		CHECK_EQUAL(after.budget, 30000);
		CHECK_EQUAL(after.first_us, 77);
	}
}

static void test_allocators(void)
{
	struct hs_error *error = hs_user_allocator_check("pool_alloc");

	CHECK(error && error->code == HS_ERROR_BAD_DATA);
	hs_error_destroy(error);
	CHECK(!hs_user_allocator_check("pool_alloc=alloc(_,size)"));
}

// Who types a program's name is told which processes have it, also where the kernel has cut it.
static void test_find_process(void)
{
	char own[32], name[32];
	struct hs_error *error;
	struct process process;

	snprintf(own, sizeof(own), "%d", (int)getpid());
	error = hs_find_process(own, &process);
	CHECK(!error && process.pid == getpid() && process_is_there(&process));
	hs_error_destroy(error);
	process_close(&process);
	error = hs_find_process("2147483647", &process);
	CHECK(!error && process.pid == 2147483647 && !process_is_there(&process));
	hs_error_destroy(error);
	snprintf(own, sizeof(own), "that name: %d", (int)getpid());
	// of no other run of this test: the number is in what the kernel leaves of it
	snprintf(name, sizeof(name), "hs%d_found_by_its_name", (int)getpid());
	prctl(PR_SET_NAME, name);
	error = hs_find_process(name, &process);
	CHECK(error && strstr(error->message, own));
	hs_error_destroy(error);
	snprintf(name, sizeof(name), "hs%d", (int)getpid()); // its beginning
	error = hs_find_process(name, &process);
	CHECK(error && error->code == HS_ERROR_NOT_FOUND && !strstr(error->message, "that name"));
	hs_error_destroy(error);
	error = hs_find_process("", &process);
	CHECK(error && !strstr(error->message, "that name"));
	hs_error_destroy(error);
}

int main(void)
{
	test_find_process();
	test_outcomes();
	test_states();
	test_explanation();
	test_aftermath();
	test_sampling();
	test_allocators();
	return CHECK_RESULT();
}
