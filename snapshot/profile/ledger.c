// SPDX-License-Identifier: Apache-2.0
#include "snapshot/profile/ledger.h"

#include "attach/hook/hook_verdict.h"
#include "attach/region/region_access.h"
#include "base/array.h"
#include "base/io.h"
#include "inject/abi/payload_header.h"
#include "snapshot/profile/unseen_share.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *text;
} counter_lines[] = {
#define X(name, text) [COUNTER_##name] = { #name, text },
	HS_COUNTERS(X)
#undef X
};

static bool counter_is_loss(enum counter counter)
{
	switch (counter) {
	case COUNTER_lost_region_full:
	case COUNTER_lost_signal_reentry:
	case COUNTER_lost_address_range:
	case COUNTER_lost_downsampling:
	case COUNTER_abandoned:
	case COUNTER_left_to_operator:
	case COUNTER_whole_frees:
	case COUNTER_lost_temporaries:
		return true;
	default:
		return false;
	}
}

// Those that the Bloom filter does not exclude are counted in any case: a number that says nothing.
static bool counter_is_of_untracked_frees(enum counter counter)
{
	switch (counter) {
	case COUNTER_unknown_frees:
	case COUNTER_unknown_frees_own:
	case COUNTER_unknown_free_sizes:
	case COUNTER_unknown_free_bytes:
		return true;
	default:
		return false;
	}
}

static const struct {
	const char *name, *text;
} cut_lines[] = {
#define X(name, text) { "stack_cut_" #name, "stacks cut short: " text },
	HS_CUT_REASONS(X)
#undef X
};

// Takes ownership of `text`.
static struct hs_error *add_line(struct heap_profile *profile, const char *name, char *text, uint64_t value,
				 bool is_loss)
{
	char *copy = strdup(name);

	if (!copy || !text || ARRAY_RESERVE(profile->ledger, profile->ledger_count + 1, &profile->ledger_room)) {
		free(copy);
		free(text);
		return &hs_error_no_memory;
	}
	profile->ledger[profile->ledger_count++] = (struct ledger_line){ copy, text, value, is_loss, false };
	return NULL;
}

// Something that is so, with no number. Takes ownership of `text`.
static struct hs_error *add_fact(struct heap_profile *profile, const char *name, char *text, bool is_loss)
{
	struct hs_error *error = add_line(profile, name, text, 1, is_loss);

	if (!error)
		profile->ledger[profile->ledger_count - 1].is_fact = true;
	return error;
}

static struct hs_error *add(struct heap_profile *profile, const char *name, const char *text, uint64_t value,
			    bool is_loss)
{
	return add_line(profile, name, strdup(text), value, is_loss);
}

// Functions that make blocks and are not hooked: what is known of how much that is.
static struct hs_error *add_unseen(const struct table_view *view, const struct aggregate *aggregate,
				   struct heap_profile *profile)
{
	uint64_t makers = 0;
	char share[UNSEEN_SHARE_SIZE], *text;
	struct hs_error *error;

	for (uint32_t i = 0; i < table_header(view)->stable.hook_count; i++) {
		const struct hook_record *hook = table_hook(view, i);

		makers += hook && hook_makes_unseen((enum hook_kind)hook->kind, (enum hook_verdict)hook->verdict);
	}
	if (!makers)
		return NULL;
	error = hs_format(&text, "%s not hooked (below); %s",
			  makers == 1 ? "function that makes blocks is" : "functions that make blocks are",
			  unseen_share(region_counts_untracked(table_header(view)),
				       aggregate->counters[COUNTER_unknown_frees], aggregate->counters[COUNTER_frees],
				       share));
	return error ? error : add_line(profile, "unseen_functions", text, makers, true);
}

static struct hs_error *add_hooks(const struct table_view *view, struct heap_profile *profile)
{
	uint64_t applied = 0;
	struct hs_error *error;

	for (uint32_t i = 0; i < table_header(view)->stable.hook_count; i++) {
		const struct hook_record *hook = table_hook(view, i);

		applied += hook && hook->verdict == VERDICT_ok && hook->state == HOOK_APPLIED &&
			   hook_kind_is_function((enum hook_kind)hook->kind);
	}
	error = add(profile, "hooks", "allocation functions hooked", applied, false);
	for (uint32_t i = 0; i < table_header(view)->stable.hook_count && !error; i++) {
		const struct hook_record *hook = table_hook(view, i);
		const char *path = "?";
		char *text;

		if (!hook || hook->verdict == VERDICT_ok || hook->verdict == VERDICT_forwards)
			continue;
		if (hook->module < profile->module_count)
			path = profile->modules[hook->module].path;
		error = hs_format(&text, "not hooked: %.*s in %s: %s", (int)sizeof(hook->name), hook->name, path,
				  hook_verdict_text((enum hook_verdict)hook->verdict));
		if (!error)
			error = add_fact(profile, "hook_refused", text, true);
	}
	return error;
}

// Where not every allocation was recorded: what the figures are made of.
static struct hs_error *add_sampling(const struct table_view *view, const struct aggregate *aggregate,
				     struct heap_profile *profile)
{
	struct hs_error *error = NULL;

	if (!region_counts_untracked(table_header(view)))
		error = add_fact(profile, "unknown_not_counted",
				 strdup(table_header(view)->always_exact
						? "untracked frees are not counted (attach --exact does)"
						: "sampling: untracked frees and reallocations are not counted"),
				 false);
	if (error || (table_header(view)->always_exact && !aggregate->sampled))
		return error;
	if (!error)
		error = add(profile, "live_records", "live blocks recorded", aggregate->live.records, false);
	if (!error)
		error = add(profile, "live_samples", "live blocks recorded as samples", aggregate->sampled, false);
	if (!error && table_header(view)->was_stopped)
		error = add_fact(profile, "was_stopped",
				 strdup("recording was stopped for a time: what was allocated then is missing"), true);
	if (!error && aggregate->sampled)
		error = add(profile, "interval_low", "smallest mean sampling interval (bytes)", aggregate->interval_low,
			    false);
	if (!error && aggregate->sampled)
		error = add(profile, "interval_high", "largest mean sampling interval of a live block (bytes)",
			    aggregate->interval_high, false);
	if (!error && table_header(view)->interval_most)
		error = add(
			profile, "interval_most",
			"largest mean sampling interval since attach (bytes): any site may have about as many live bytes that no sample shows",
			table_header(view)->interval_most, false);
	return error;
}

static bool holds_go(const struct table_view *view)
{
	bool found = false;

	for (uint32_t i = 0; i < table_header(view)->module_count; i++) {
		const struct module_record *module = table_module(view, i);

		found |= module && module->flags & MODULE_GO;
	}
	return found;
}

struct hs_error *ledger_build(const struct table_view *view, const struct aggregate *aggregate,
			      struct heap_profile *profile)
{
	const struct region_header *header = table_header(view);
	uint64_t modules = 0, unloaded = 0;
	struct hs_error *error = NULL;

	for (size_t i = 0; i < COUNTER_COUNT && !error; i++) {
		const bool is_counted =
			region_counts_untracked(header) || !counter_is_of_untracked_frees((enum counter)i);

		error = add(profile, counter_lines[i].name, counter_lines[i].text,
			    is_counted ? aggregate->counters[i] : 0, counter_is_loss((enum counter)i));
	}
	for (size_t i = 0; i < CUT_REASON_COUNT && !error; i++)
		if (aggregate->cut_counters[i])
			error = add(profile, cut_lines[i].name, cut_lines[i].text, aggregate->cut_counters[i], true);
	if (!error)
		error = add(
			profile, "lost_no_slot",
			"allocations lost: no room to follow their thread (attach with more --max-memory; dump --stop frees the slots of ended threads)",
			header->lost_no_slot, true);
	if (!error)
		error = add(profile, "lost_no_thread_pointer", "allocations lost: by threads without a thread pointer",
			    header->lost_no_thread_pointer, true);
	if (!error)
		error = add(profile, "lost_shared_pointer",
			    "allocations lost: by threads that share one thread pointer", header->lost_shared_pointer,
			    true);
	if (!error)
		error = add(profile, "modules_lost",
			    "libraries loaded since attach that could not be read or listed (most at one time)",
			    header->modules_lost, true);
	if (!error)
		error = add(profile, "table_damaged", "dangling references in the table", view->damaged, true);
	if (!error)
		error = add(profile, "pending_reallocations", "live blocks that were being reallocated",
			    aggregate->pending, false);
	if (!error)
		error = add_sampling(view, aggregate, profile);
	if (!error)
		error = add(profile, "threads", "threads seen since attach", header->thread_count, false);
	for (size_t i = 0; i < profile->module_count; i++) {
		modules++;
		unloaded += profile->modules[i].unloaded;
	}
	if (!error)
		error = add(profile, "modules", "modules seen since attach", modules, false);
	if (!error)
		error = add(profile, "modules_unloaded", "modules unloaded again", unloaded, false);
	if (!error && holds_go(view))
		error = add_fact(profile, "go_heap",
				 strdup("the program or a library is written in Go: its own allocations are not seen"),
				 true);
	if (!error)
		error = add(profile, "region_bytes", "region in use (bytes)",
			    table_pages_count(&view->pages) * HS_PAGE_SIZE, false);
	if (!error)
		error = add(profile, "region_limit", "region limit (bytes)",
			    (header->max_pages - header->first_page) * HS_PAGE_SIZE, false);
	if (!error)
		error = add_unseen(view, aggregate, profile);
	return error ? error : add_hooks(view, profile);
}

struct hs_error *ledger_add_symbols_lost(struct heap_profile *profile, const char *path, const char *reason)
{
	char *text;
	struct hs_error *error = hs_format(&text, "no symbols of %s: the process that read its files %s",
					   *path ? path : "the program", reason);

	return error ? error : add_fact(profile, "symbols_lost", text, true);
}

struct hs_error *ledger_add_symbols_missing(struct heap_profile *profile, char *text)
{
	return add_fact(profile, "symbols_missing", text, false);
}
