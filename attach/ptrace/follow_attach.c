// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/follow_attach.h"

#include "attach/guard/tool_guard.h"
#include "attach/process/descriptor_sharers.h"
#include "attach/process/memory_sharers.h"
#include "attach/process/thread_facts.h"

static struct hs_error *check_filters(const struct thread_facts *facts)
{
	if (!facts->seccomp_mode || tool_guard_has_begun())
		return NULL;
	return hs_error_create(HS_ERROR_REFUSED_FOR_GOOD,
			       "it has a seccomp filter that the command had not at its start");
}

struct hs_error *follow_attach_check_filters(const struct process *process)
{
	struct thread_facts facts;
	struct hs_error *error = thread_facts_read(process, &facts);

	return error ? error : check_filters(&facts);
}

struct hs_error *follow_attach_check(const struct process *process)
{
	struct thread_facts facts;
	struct hs_error *error = thread_facts_read(process, &facts);

	if (!error)
		error = check_filters(&facts);
	if (!error && facts.uninterruptible)
		error = hs_error_create(HS_ERROR_REFUSED, "a thread of it is in an uninterruptible wait");
	if (!error)
		error = memory_sharers_wait(process, 0);
	return error ? error : descriptor_sharers_wait(process, 0);
}
