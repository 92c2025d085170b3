// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/live_total.h"

struct work {
	struct table_view *view;
	struct estimate total;
};

static void visit_block(uint64_t address, uint32_t ref, const struct block_record *record, void *context)
{
	struct work *work = context;

	(void)address;
	(void)ref;
	estimate_add(&work->total, record);
}

static void visit_slot(const struct shared_slot *slot, void *context)
{
	struct work *work = context;
	const struct block_record *pending = table_pending_record(work->view, slot);

	if (pending)
		estimate_add(&work->total, pending);
}

struct estimate live_total(struct table_view *view)
{
	struct work work = { .view = view };

	table_visit_blocks(view, visit_block, &work);
	table_visit_slots(view, visit_slot, &work);
	return work.total;
}
