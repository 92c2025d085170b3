// SPDX-License-Identifier: Apache-2.0
// The ledger of a made-up region: every counter is there, every loss is marked as one.
#include "check.h"
#include "made_region.h"

#include "snapshot/profile/ledger.h"

struct made_ledger {
	struct made_region region;
	struct aggregate aggregate;
	struct heap_profile profile;
	uint64_t damaged;
};

static void begin(struct made_ledger *made)
{
	static const struct made_ledger empty;

	*made = empty;
	made_region_init(&made->region, 10);
}

static void build(struct made_ledger *made)
{
	struct table_view view = made_view(&made->region);

	view.damaged = made->damaged;
	CHECK(ledger_build(&view, &made->aggregate, &made->profile) == NULL);
}

static void end(struct made_ledger *made)
{
	heap_profile_deinit(&made->profile);
	made_region_deinit(&made->region);
}

// The only line of that name.
static const struct ledger_line *line(const struct made_ledger *made, const char *name)
{
	static const struct ledger_line none = { NULL, NULL, UINT64_MAX, false, false };
	const struct ledger_line *found = &none;
	int times = 0;

	for (size_t i = 0; i < made->profile.ledger_count; i++) {
		if (strcmp(made->profile.ledger[i].name, name) != 0)
			continue;
		found = &made->profile.ledger[i];
		times++;
	}
	CHECK(times <= 1);
	return found;
}

static void test_counters(void)
{
	static const char *const losses[] = { "lost_region_full",    "lost_signal_reentry", "lost_address_range",
					      "lost_downsampling",   "lost_no_slot",        "lost_no_thread_pointer",
					      "lost_shared_pointer", "left_to_operator",    "modules_lost",
					      "table_damaged",       "abandoned",           "whole_frees",
					      "lost_temporaries" };
	struct made_ledger made;

	begin(&made);
	for (size_t i = 0; i < COUNTER_COUNT; i++)
		made.aggregate.counters[i] = 100 + i;
	made.aggregate.pending = 3;
	made.region.header->lost_no_slot = 4;
	made.region.header->lost_no_thread_pointer = 8;
	made.region.header->lost_shared_pointer = 9;
	made.region.header->modules_lost = 5;
	made.region.header->thread_count = 6;
	made.damaged = 7;
	made_pages(&made.region, 4);
	build(&made);
#define X(name, words)                                                                                                 \
	CHECK_EQUAL(line(&made, #name)->value, 100 + COUNTER_##name);                                                  \
	CHECK_STRING(line(&made, #name)->text, words);
	HS_COUNTERS(X)
#undef X
	CHECK_EQUAL(line(&made, "pending_reallocations")->value, 3);
	CHECK_EQUAL(line(&made, "lost_no_slot")->value, 4);
	CHECK_EQUAL(line(&made, "lost_no_thread_pointer")->value, 8);
	CHECK_EQUAL(line(&made, "lost_shared_pointer")->value, 9);
	CHECK_EQUAL(line(&made, "modules_lost")->value, 5);
	CHECK_EQUAL(line(&made, "threads")->value, 6);
	CHECK_EQUAL(line(&made, "table_damaged")->value, 7);
	CHECK_EQUAL(line(&made, "region_bytes")->value, 5 * 4096);
	CHECK_EQUAL(line(&made, "region_limit")->value, 10 * 4096);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		CHECK(line(&made, losses[i])->is_loss);
	CHECK(!line(&made, "frees")->is_loss);
	CHECK(!line(&made, "unknown_frees")->is_loss);
	CHECK(!line(&made, "pending_reallocations")->is_loss);
	end(&made);
}

// Functions that make blocks and are not hooked: how much that is, frees tell, if there were any and all blocks are
// recorded.
static void test_unseen(void)
{
	static const struct {
		uint32_t always_exact, removals_exchange;
		uint64_t unknown, frees;
		const char *share; // NULL = none is said
	} cases[] = { { 1, 0, 0, 0, NULL },
		      { 0, 0, 1, 3, NULL },
		      { 1, 1, 1, 3, NULL }, // under a budget: the others were not counted
		      { 1, 0, 1, 3, "25.0 % of 4 frees so far were" },
		      { 1, 0, 0, 3, "0.0 % of 3 frees so far were" },
		      { 1, 0, 1, 0, "100.0 % of 1 free so far was" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made_ledger made;
		struct hook_record *hook;

		begin(&made);
		hook = made_hook(&made.region, "memalign");
		hook->kind = HOOK_memalign;
		hook->state = HOOK_REFUSED;
		hook->verdict = VERDICT_too_short;
		made.region.header->always_exact = cases[i].always_exact;
		made.region.header->removals_exchange = cases[i].removals_exchange;
		made.aggregate.counters[COUNTER_unknown_frees] = cases[i].unknown;
		made.aggregate.counters[COUNTER_frees] = cases[i].frees;
		build(&made);
		CHECK_EQUAL(line(&made, "unseen_functions")->value, 1);
		CHECK(line(&made, "unseen_functions")->is_loss && !line(&made, "unseen_functions")->is_fact);
		if (cases[i].share)
			CHECK(strstr(line(&made, "unseen_functions")->text, cases[i].share) != NULL);
		else
			CHECK(!strchr(line(&made, "unseen_functions")->text, '%'));
		end(&made);
	}
}

static void test_sampling(void)
{
	struct made_ledger made;

	begin(&made);
	build(&made);
	CHECK(!line(&made, "unknown_not_counted")->name && !line(&made, "live_records")->name); // exact: as ever
	end(&made);

	// Under a budget that allows all there are no samples, but hooks ask the Bloom filter all the same.
	begin(&made);
	made.region.header->removals_exchange = 1;
	made.aggregate.counters[COUNTER_unknown_frees] = 19;
	made.aggregate.counters[COUNTER_unknown_free_bytes] = 190;
	made.aggregate.counters[COUNTER_frees] = 7;
	build(&made);
	CHECK_EQUAL(line(&made, "unknown_not_counted")->value, 1);
	CHECK_EQUAL(line(&made, "unknown_frees")->value, 0);
	CHECK_EQUAL(line(&made, "unknown_free_bytes")->value, 0);
	CHECK_EQUAL(line(&made, "frees")->value, 7);
	CHECK(!line(&made, "live_records")->name);
	end(&made);

	begin(&made);
	made.region.header->always_exact = 0;
	made.aggregate.live.records = 70;
	made.aggregate.sampled = 60;
	made.aggregate.interval_low = 512;
	made.aggregate.interval_high = 4096;
	build(&made);
	CHECK_EQUAL(line(&made, "unknown_not_counted")->value, 1);
	CHECK(!line(&made, "unknown_not_counted")->is_loss && line(&made, "unknown_not_counted")->is_fact);
	CHECK(!line(&made, "live_records")->is_fact);
	CHECK_EQUAL(line(&made, "live_records")->value, 70);
	CHECK_EQUAL(line(&made, "live_samples")->value, 60);
	CHECK_EQUAL(line(&made, "interval_low")->value, 512);
	CHECK_EQUAL(line(&made, "interval_high")->value, 4096);
	end(&made);

	begin(&made);
	made.region.header->always_exact = 0;
	build(&made);
	CHECK_EQUAL(line(&made, "live_records")->value, 0);
	CHECK(!line(&made, "interval_low")->name); // none met
	end(&made);
}

static void test_cuts(void)
{
	struct made_ledger made;

	begin(&made);
	made.aggregate.cut_counters[CUT_loader_busy] = 9;
	build(&made);
	CHECK_EQUAL(line(&made, "stack_cut_loader_busy")->value, 9);
	CHECK(line(&made, "stack_cut_loader_busy")->is_loss);
	CHECK(!line(&made, "stack_cut_depth_limit")->name); // silent while nothing is cut for that reason
	end(&made);
}

static void test_hooks(void)
{
	struct made_ledger made;
	struct hook_record *hook;
	int refused = 0;

	begin(&made);
	made.profile.modules = calloc(2, sizeof(*made.profile.modules));
	made.profile.module_count = 2;
	made.profile.modules[0].path = strdup("/bin/program");
	made.profile.modules[1].path = strdup("/lib/libc.so.6");
	made.profile.modules[1].unloaded = true;
	made_hook(&made.region, "malloc");
	made_hook(&made.region, "free");
	made_hook(&made.region, "_dl_debug_state")->kind = HOOK_loader_event;
	made_hook(&made.region, "realloc")->state = HOOK_REMOVED;
	hook = made_hook(&made.region, "valloc");
	hook->verdict = VERDICT_too_short, hook->state = HOOK_REFUSED, hook->module = 1;
	hook = made_hook(&made.region, "strange");
	hook->verdict = 0xffffffff, hook->module = 0xffff;
	hook = made_hook(&made.region, "next");
	hook->verdict = VERDICT_COUNT;
	hook = made_hook(&made.region, "");
	hook->verdict = VERDICT_changed;
	memset(hook->name, 'x', sizeof(hook->name));                  // not terminated
	made_hook(&made.region, "cfree")->verdict = VERDICT_forwards; // nothing is missing
	made_hook(&made.region, "exit point of operator new")->kind =
		HOOK_exit_point; // of a function that is counted itself
	made_hook(&made.region, "_dl_debug_state")->kind = HOOK_loader_event;
	build(&made);
	CHECK_EQUAL(line(&made, "hooks")->value, 2);
	CHECK_EQUAL(line(&made, "modules")->value, 2);
	CHECK_EQUAL(line(&made, "modules_unloaded")->value, 1);
	for (size_t i = 0; i < made.profile.ledger_count; i++) {
		static const char *const texts[] = {
			"not hooked: valloc in /lib/libc.so.6: the function is shorter than the jump",
			"not hooked: strange in ?: unknown reason",
			"not hooked: next in /bin/program: unknown reason",
			"not hooked: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx in /bin/program: its code differs from its file (already patched?)",
		};

		if (strcmp(made.profile.ledger[i].name, "hook_refused") != 0)
			continue;
		CHECK(made.profile.ledger[i].is_loss && made.profile.ledger[i].is_fact &&
		      made.profile.ledger[i].value == 1);
		if (refused < 4)
			CHECK_STRING(made.profile.ledger[i].text, texts[refused]);
		refused++;
	}
	CHECK_EQUAL(refused, 4);
	end(&made);
}

// Counts that the header's check would not let pass.
static void test_hostile_counts(void)
{
	struct made_ledger made;

	begin(&made);
	made.region.header->next_page = 0;
	made.region.header->stable.hook_count = 3 * HS_HOOKS_MAX;
	build(&made);
	CHECK_EQUAL(line(&made, "region_bytes")->value, 0);
	CHECK_EQUAL(line(&made, "hooks")->value, 0);
	end(&made);
}

int main(void)
{
	test_counters();
	test_unseen();
	test_sampling();
	test_cuts();
	test_hooks();
	test_hostile_counts();
	return CHECK_RESULT();
}
