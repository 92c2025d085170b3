// SPDX-License-Identifier: Apache-2.0
#include "attach/session/transaction.h"

#include "attach/guard/standstill.h"
#include "attach/guard/tool_guard.h"
#include "attach/process/fault_reason.h"

struct hs_error *transaction_begin(const struct process *process, enum work work, struct transaction *ret)
{
	struct hs_error *error;

	*ret = (struct transaction){ .process = process };
	error = work_lock_take(process, work, &ret->lock);
	if (error)
		return error;
	standstill_add_up();
	error = target_examine(process, &ret->target);
	return error ? transaction_end(ret, error) : NULL;
}

struct hs_error *transaction_will_stop(const struct transaction *transaction)
{
	struct hs_error *error = target_refuse_frozen(&transaction->target);

	if (error)
		return error;
	if (transaction->target.threads.seccomp_mode)
		error = tool_guard_begin();
	work_lock_follow(&transaction->lock);
	return error;
}

struct hs_error *transaction_end(struct transaction *transaction, struct hs_error *error)
{
	standstill_done();
	error = fault_explain(error, transaction->process);
	target_info_deinit(&transaction->target);
	work_lock_release(&transaction->lock);
	return error;
}
