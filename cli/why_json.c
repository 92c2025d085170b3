// SPDX-License-Identifier: Apache-2.0
#include "cli/why_json.h"

#include "base/json.h"
#include "cli/console.h"
#include "cli/detach.h"

static void put_place(struct json *json, const struct named_profile *named, const struct site *site)
{
	const struct code_place *place = site->path_length ? place_of(named, site->path[0]) : NULL;

	json_string(json, "function", place ? place->full_name : "[stack unknown]");
	json_string(json, "name", place ? place->name : "[stack unknown]");
	json_string(json, "file", place ? place->file : "");
	json_number(json, "line", place ? (uint64_t)place->line : 0);
	json_string(json, "via", site->via);
}

static void put_trend(struct json *json, const char *key, const struct trend *trend)
{
	json_open(json, key, '{');
	json_real(json, "first", trend->first);
	json_real(json, "last", trend->last);
	json_real(json, "rate", trend->rate);
	json_real(json, "rate_error", trend->error);
	json_real(json, "early_rate", trend->early);
	json_real(json, "late_rate", trend->late);
	json_bool(json, "rises", trend->rises);
	json_bool(json, "levels_off", trend->levels_off);
	json_close(json, '}');
}

static void put_verdict(struct json *json, const struct hs_watch_result *result)
{
	json_open(json, "verdict", '[');
	for (size_t i = 0; i < result->verdict.count; i++) {
		const struct finding *finding = &result->verdict.findings[i];

		json_open(json, NULL, '{');
		json_string(json, "kind", verdict_kind_name(finding->kind));
		json_string(json, "text", finding->text);
		json_real(json, "rate", finding->rate);
		json_open(json, "reasons", '[');
		for (size_t k = 0; k < finding->reason_count; k++)
			json_string(json, NULL, finding->reasons[k]);
		json_close(json, ']');
		if (finding->site) {
			json_open(json, "site", '{');
			put_place(json, &result->view.named, finding->site->site);
			json_close(json, '}');
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

// What is known of its cohorts by identity.
static void put_survival(struct json *json, const struct growth *growth, const struct growth_site *site)
{
	const struct survival *survival = &site->survival;

	json_string(json, "survival", survival_kind_name(survival->kind));
	json_real(json, "kept_rate", survival->kind == SURVIVAL_STAYS ? survival->rate : 0);
	json_real(json, "kept_rate_error", survival->kind == SURVIVAL_STAYS ? survival->error : 0);
	json_open(json, "cohorts", '[');
	for (size_t i = 0; i < growth->cuts && site->cohorts; i++) {
		const struct growth_cohort *cohort = &site->cohorts[i];

		json_open(json, NULL, '{');
		json_real(json, "from", cohort->from);
		json_real(json, "to", cohort->to);
		json_real(json, "alloc_bytes", cohort->allocated);
		json_real(json, "live_bytes_then", cohort->then);
		json_real(json, "live_bytes", cohort->bytes);
		json_real(json, "live_objects", cohort->blocks);
		json_real(json, "live_bytes_error", cohort->error);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_site(struct json *json, const struct growth *growth, const struct named_profile *named,
		     const struct growth_site *site)
{
	json_open(json, NULL, '{');
	put_place(json, named, site->site);
	json_open(json, "path", '[');
	for (uint32_t i = 0; i < site->site->path_length; i++) {
		const struct code_place *place = place_of(named, site->site->path[i]);

		json_open(json, NULL, '{');
		json_string(json, "function", place->full_name);
		json_string(json, "file", place->file);
		json_number(json, "line", (uint64_t)place->line);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_bool(json, "grows", site->grows);
	json_bool(json, "in_steps", site->in_steps);
	put_trend(json, "live_bytes", &site->live);
	json_real(json, "live_objects", site->blocks_last);
	json_real(json, "alloc_rate", site->alloc_rate);
	json_real(json, "alloc_objects_rate", site->alloc_blocks_rate);
	json_real(json, "temporary_rate", site->temporary_rate);
	json_real(json, "survived_bytes", site->survived);
	json_real(json, "survived_share", site->survived_share);
	put_survival(json, growth, site);
	json_close(json, '}');
}

static void put_cuts(struct json *json, const struct growth_series *series)
{
	json_open(json, "cuts", '[');
	for (size_t i = 0; i < series->count; i++) {
		const struct growth_cut *cut = &series->cuts[i];

		json_open(json, NULL, '{');
		json_real(json, "seconds", cut->seconds);
		json_number(json, "rss", cut->memory.rss);
		json_number(json, "anonymous", cut->memory.anonymous);
		json_number(json, "swapped", cut->memory.swapped);
		json_number(json, "malloc_heap", cut->heap_bytes);
		json_integer(json, "live_bytes", cut->live_bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

bool why_print_json(const struct options *options, const struct hs_watch_result *result)
{
	const struct growth *growth = &result->growth;
	static const char *const ends[] = { [HS_WATCH_COMPLETE] = "complete",
					    [HS_WATCH_INTERRUPTED] = "interrupted",
					    [HS_WATCH_PROCESS_ENDED] = "process-ended",
					    [HS_WATCH_PROCESS_LEFT] = "process-left" };
	const double explained = growth_explained(growth);
	struct json json;

	json_begin(&json, stdout);
	json_string(&json, "command", "why");
	json_number(&json, "pid", (uint64_t)result->profile.pid);
	json_real(&json, "seconds", growth->seconds);
	json_string(&json, "end", ends[result->end]);
	json_bool(&json, "interrupted", result->end == HS_WATCH_INTERRUPTED);
	json_bool(&json, "was_attached", result->was_attached);
	json_bool(&json, "estimate", growth->is_estimate);
	put_verdict(&json, result);
	put_trend(&json, "rss", &growth->rss);
	put_trend(&json, "anonymous", &growth->anonymous);
	put_trend(&json, "recorded", &growth->all.live);
	json_real(&json, "temporary_rate", growth->all.temporary_rate);
	if (explained < 0)
		json_null(&json, "explained_share");
	else
		json_real(&json, "explained_share", explained);
	put_cuts(&json, &result->series);
	json_open(&json, "sites", '[');
	for (size_t i = 0; i < growth->count; i++)
		put_site(&json, growth, &result->view.named, &growth->sites[i]);
	json_close(&json, ']');
	json_string(&json, "output", options->output ? options->output : "");
	json_number(&json, "bytes", result->output_bytes);
	json_string(&json, "page", options->page ? options->page : "");
	if (result->has_detached) {
		json_open(&json, "detach", '{');
		detach_put_json(&json, &result->detach);
		json_close(&json, '}');
	}
	return console_end_json(&json);
}
