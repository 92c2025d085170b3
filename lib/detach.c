// SPDX-License-Identifier: Apache-2.0
#include "lib/detach.h"

#include "attach/session/session.h"

_Static_assert(HS_DETACH_CHECKS_MAX == DETACH_CHECKS_MAX, "as many checks as detach makes");

static enum hs_detach_outcome outcome_of(const struct detach_report *report)
{
	switch (detach_reason_of(report)) {
	case DETACH_FINISHED:
		break;
	case DETACH_FOREIGN_HOOKS:
		return HS_DETACH_FOREIGN_HOOKS;
	case DETACH_THREADS_UNSEEN:
		return HS_DETACH_THREADS_UNSEEN;
	case DETACH_CALLS_LOST:
		return HS_DETACH_CALLS_LOST;
	case DETACH_CALLS_LEFT:
		return HS_DETACH_CALLS_LEFT;
	case DETACH_THREADS_INSIDE:
		return HS_DETACH_THREADS_INSIDE;
	}
	return report->only_leftovers ? HS_DETACH_CLEARED : HS_DETACH_DONE;
}

static bool is_verified(const struct detach_report *report)
{
	for (size_t i = 0; i < report->check_count; i++)
		if (report->checks[i].answer == DETACH_DOES_NOT_HOLD)
			return false;
	return report->finished;
}

static enum hs_detach_answer answer_of(enum detach_answer answer)
{
	switch (answer) {
	case DETACH_HOLDS:
		return HS_DETACH_HOLDS;
	case DETACH_NOT_COMPARABLE:
		return HS_DETACH_NOT_COMPARABLE;
	case DETACH_DOES_NOT_HOLD:
		break;
	}
	return HS_DETACH_DOES_NOT_HOLD;
}

struct hs_error *hs_detach(const struct process *process, unsigned wait_ms, struct hs_detach_result *ret)
{
	struct detach_report report;
	struct hs_error *error = session_detach(process, wait_ms, &report);

	if (error)
		return error;
	*ret = (struct hs_detach_result){
		.outcome = outcome_of(&report),
		.is_finished = report.finished,
		.is_verified = is_verified(&report),
		.threads = report.threads,
		.stopped_longest_ns = report.stopped_longest_ns,
		.took_ns = report.took_ns,
		.threads_inside = report.threads_inside,
		.threads_unseen = report.threads_unseen,
		.inside_is_stopped = report.inside_is_stopped,
		.calls_left = report.calls_left,
		.calls_unseen = report.calls_unseen,
		.calls_lost = report.calls_lost,
		.foreign_hooks = report.foreign_hooks,
		.check_count = report.check_count,
	};
	for (size_t i = 0; i < report.check_count; i++)
		ret->checks[i] = (struct hs_detach_check){ report.checks[i].text, answer_of(report.checks[i].answer) };
	return NULL;
}
