// SPDX-License-Identifier: Apache-2.0
#include "views/diff.h"

#include "base/array.h"
#include "views/key_table.h"
#include "views/profile_merge.h"
#include "views/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// When a process was attached to is a difference of two clocks, one of which may be set meanwhile.
#define ATTACH_TOLERANCE_NS INT64_C(2000000000)

enum { OLD, NEW }; // sides

struct diff_facts diff_facts_of(const struct heap_profile *old, const struct heap_profile *new)
{
	const int64_t begin_apart = number_subtract(number_subtract(old->time_ns, old->duration_ns),
						    number_subtract(new->time_ns, new->duration_ns));
	const bool knows_pids = old->pid != 0 && new->pid != 0,
		   knows_begins = old->time_ns > 0 && old->duration_ns > 0 && new->time_ns > 0 && new->duration_ns > 0,
		   other_pid = knows_pids && old->pid != new->pid,
		   other_begin =
			   knows_begins && (begin_apart > ATTACH_TOLERANCE_NS || begin_apart < -ATTACH_TOLERANCE_NS);

	return (struct diff_facts){
		.of_one_attach = knows_pids && knows_begins && !other_pid && !other_begin,
		.of_two_attaches = other_pid || other_begin,
		.old_is_estimate = old->is_estimate,
		.new_is_estimate = new->is_estimate,
	};
}

static struct hs_error *add_sample(struct heap_profile *to, const struct profile_merge *merge, size_t stack,
				   size_t *frame_room, size_t *sample_room)
{
	const struct merged_stack *values = &merge->stacks[stack];
	const struct profile_values change = values_subtract(&values->of_side[NEW], &values->of_side[OLD]);
	size_t count;
	const uint32_t *frames = merged_frames(merge, stack, &count);
	struct hs_error *error;

	if (values_are_zero(&change))
		return NULL;
	if (to->frame_count + count > UINT32_MAX)
		return &hs_error_no_memory;
	error = ARRAY_RESERVE(to->frames, to->frame_count + count + 1, frame_room);
	if (!error)
		error = ARRAY_RESERVE(to->samples, to->sample_count + 1, sample_room);
	if (error)
		return error;
	if (count > 0)
		memcpy(to->frames + to->frame_count, frames, count * sizeof(*frames));
	to->samples[to->sample_count++] = (struct profile_sample){
		.first_frame = (uint32_t)to->frame_count,
		.frame_count = (uint32_t)count,
		.labels = values->labels,
		.values = change,
	};
	to->frame_count += count;
	return NULL;
}

static struct hs_error *add_samples(struct heap_profile *to, const struct profile_merge *merge)
{
	size_t frame_room = 0, sample_room = 0;
	struct hs_error *error = NULL;

	for (size_t i = 0; i < merge->stack_keys.count && !error; i++)
		error = add_sample(to, merge, i, &frame_room, &sample_room);
	return error;
}

// pre: there is room for one more line
static struct hs_error *copy_ledger_line(struct heap_profile *to, const struct ledger_line *line)
{
	struct ledger_line copy = *line;

	copy.name = strdup(line->name ? line->name : "");
	copy.text = strdup(line->text ? line->text : "");
	if (!copy.name || !copy.text) {
		free(copy.name);
		free(copy.text);
		return &hs_error_no_memory;
	}
	to->ledger[to->ledger_count++] = copy;
	return NULL;
}

// Facts with different texts are different ones; of counters the larger one, which says how much may be missing.
static struct hs_error *add_ledger(struct heap_profile *to, const struct heap_profile *from, struct key_table *keys)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < from->ledger_count && !error; i++) {
		const struct ledger_line *line = &from->ledger[i];
		uint32_t number = 0;
		bool is_new = false;

		error = key_add_text(keys, line->name);
		if (!error)
			error = key_add_text(keys, line->is_fact ? line->text : "");
		if (!error)
			error = key_number(keys, &number, &is_new);
		if (!error)
			error = ARRAY_RESERVE(to->ledger, (size_t)number + 1, &to->ledger_room);
		if (!error && is_new)
			error = copy_ledger_line(to, line);
		if (error || is_new)
			continue;
		if (line->value > to->ledger[number].value)
			to->ledger[number].value = line->value;
		to->ledger[number].is_loss |= line->is_loss;
	}
	return error;
}

// No error is below the interval (profile_bytes_error): that of a difference not below that of its two sides.
static int64_t joined_interval(const struct heap_profile *old, const struct heap_profile *new)
{
	const double joined =
		ceil(hypot(old->is_estimate ? profile_interval(old) : 0, new->is_estimate ? profile_interval(new) : 0));

	return joined < (double)INT64_MAX ? (int64_t)joined : INT64_MAX;
}

// Which blocks alone the two are of: what is in one of them and not in the other may be so for that reason.
static struct hs_error *join_selections(const char *earlier, const char *later, char **ret)
{
	*ret = NULL;
	if (!earlier && !later)
		return NULL;
	if (earlier && later && strcmp(earlier, later) == 0)
		*ret = strdup(later);
	else if (asprintf(ret, "%s in the later profile, %s in the earlier one", later ? later : "of all kinds",
			  earlier ? earlier : "of all kinds") < 0)
		*ret = NULL;
	return *ret ? NULL : &hs_error_no_memory;
}

static struct hs_error *add_facts(struct heap_profile *to, const struct heap_profile *old,
				  const struct heap_profile *new)
{
	struct key_table keys = { 0 };
	struct hs_error *error = add_ledger(to, new, &keys);

	if (!error)
		error = add_ledger(to, old, &keys);
	key_table_deinit(&keys);
	if (!error)
		error = join_selections(old->selection, new->selection, &to->selection);
	to->time_ns = new->time_ns;
	if (old->time_ns > 0 && new->time_ns > old->time_ns)
		to->duration_ns = new->time_ns - old->time_ns;
	to->period = new->period;
	to->is_stopped = new->is_stopped;
	to->is_difference = true;
	to->is_estimate = old->is_estimate || new->is_estimate;
	to->has_temporaries = old->has_temporaries && new->has_temporaries;
	to->interval_most = to->is_estimate ? joined_interval(old, new) : 0;
	to->stopped_ns = new->stopped_ns;
	to->stopped_because = new->stopped_because;
	to->copies = new->copies;
	to->log_records = new->log_records;
	to->pid = new->pid;
	to->total = values_subtract(&new->total, &old->total);
	to->program = strdup(new->program ? new->program : "");
	to->name = new->name ? strdup(new->name) : NULL;
	return error ? error : to->program && (to->name || !new->name) ? NULL : &hs_error_no_memory;
}

struct hs_error *profile_diff_make_by(const struct heap_profile *old, const struct heap_profile *new, unsigned labels,
				      struct profile_diff *ret)
{
	const bool other_process = old->pid != 0 && new->pid != 0 && old->pid != new->pid;
	struct profile_merge merge = { .labels = labels };
	struct hs_error *error = profile_merge_add(&merge, new, NEW, 0);

	*ret = (struct profile_diff){ .facts = diff_facts_of(old, new) };
	if (!error)
		error = profile_merge_add(&merge, old, OLD, other_process);
	if (!error)
		error = add_samples(&merge.profile, &merge);
	if (!error)
		error = add_facts(&merge.profile, old, new);
	if (!error) {
		ret->profile = merge.profile;
		merge.profile = (struct heap_profile){ 0 };
	}
	profile_merge_deinit(&merge);
	return error;
}

struct hs_error *profile_diff_make(const struct heap_profile *old, const struct heap_profile *new,
				   struct profile_diff *ret)
{
	return profile_diff_make_by(old, new, 0, ret);
}

void profile_diff_deinit(struct profile_diff *diff)
{
	heap_profile_deinit(&diff->profile);
	*diff = (struct profile_diff){ 0 };
}
