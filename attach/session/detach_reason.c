// SPDX-License-Identifier: Apache-2.0
#include "attach/session/session.h"

enum detach_reason detach_reason_of(const struct detach_report *report)
{
	if (report->finished)
		return DETACH_FINISHED;
	if (report->foreign_hooks > 0)
		return DETACH_FOREIGN_HOOKS;
	if (report->threads_unseen > 0)
		return DETACH_THREADS_UNSEEN;
	if (report->calls_lost)
		return DETACH_CALLS_LOST;
	if (report->calls_left > 0 && report->threads_inside == 0)
		return DETACH_CALLS_LEFT;
	return DETACH_THREADS_INSIDE;
}
