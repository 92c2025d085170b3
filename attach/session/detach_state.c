// SPDX-License-Identifier: Apache-2.0
#include "attach/session/detach_state.h"

#include "attach/ptrace/gadgets.h"
#include "attach/region/code_proof.h"
#include "attach/region/region_stable.h"
#include "attach/region/state_pages.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

void detach_state_deinit(struct detach_state *state)
{
	free(state->hooks);
	hs_error_destroy(state->obstacle);
	file_pages_deinit(&state->files);
	looked_at_deinit(&state->looked_at);
	left_calls_deinit(&state->left_calls);
	leftover_descriptors_deinit(&state->left);
	region_close(&state->region);
}

bool detach_state_is_code(const struct detach_state *state, const struct proc_maps *maps, size_t part)
{
	const struct code_proof proof = {
		.memory = &state->region.memory,
		.names = &state->names,
		.image = state->code[0],
		// as the region was found: every detach, finished or not, says that it has begun
		.may_be_unwritten = state->has_region && state->region.header.stable.state == REGION_ATTACHING,
	};

	return code_is_ours(&proof, maps, &state->code[part]);
}

bool detach_state_has_state_pages(const struct detach_state *state, const struct proc_maps *maps)
{
	const struct address_range *image = &state->code[0];

	return state->state_size > 0 && detach_state_is_code(state, maps, 0) &&
	       state_pages_are_at(maps, image->address + image->size, state->state_size);
}

static void init_names(const struct detach_known *known, struct detach_state *state)
{
	if (known)
		state->names = known->names;
	else
		code_names_read(&state->region.memory, &state->names);
}

static struct hs_error *init_from_region(const struct process *process, const struct proc_maps *maps,
					 const struct detach_known *known, struct detach_state *state)
{
	const struct stable_header *header = &state->region.header.stable;
	struct hs_error *error = region_open_any(process, maps, &state->region);

	if (error)
		return error;
	state->has_region = true;
	state->may_have_descriptors = header->state != REGION_ATTACHED;
	init_names(known, state);
	state->names.nonce = header->code_nonce;
	state->state_size = header->state_size;
	state->hook_count = header->hook_count;
	state->code[state->code_count++] = region_image(header);
	for (uint32_t i = 0; i < header->island_count; i++)
		state->code[state->code_count++] = region_island_area(header, i);
	state->state_is_there = detach_state_has_state_pages(state, maps);
	error = region_read_hooks(&state->region, &state->hooks);
	if (error)
		detach_state_deinit(state);
	return error;
}

// The image's own state pages are zero in a forked child, and in a process in which no hook was written: nothing is to
// be switched off.
static struct hs_error *init_from_code(const struct process *process, const struct proc_maps *maps,
				       const struct detach_known *known, struct detach_state *state)
{
	struct inherited inherited;
	struct hs_error *error = target_memory_open(process, &state->region.memory);

	if (error)
		return error;
	state->region.process = process;
	init_names(known, state);
	error = inherited_read(maps, &state->region.memory, &state->names, &inherited);
	if (error) {
		detach_state_deinit(state);
		return error;
	}
	memcpy(state->code, inherited.code, sizeof(state->code));
	state->code_count = inherited.code_count;
	state->state_size = inherited.state_size;
	state->bare_region = inherited.bare_region;
	state->may_have_descriptors = true;
	state->hooks = HS_STEAL_POINTER(inherited.hooks);
	state->hook_count = (uint32_t)inherited.hook_count;
	return NULL;
}

// Of those that are known, which it takes, such as are there still; NULL = all are looked through.
static struct hs_error *init_descriptors(struct detach_state *state, struct detach_known *known)
{
	struct hs_error *error = NULL;

	if (known) {
		state->left = known->left;
		known->left = (struct leftover_descriptors){ 0 };
		leftover_descriptors_prove(state->process, &state->names, &state->left);
	} else {
		error = leftover_descriptors_list(state->process, &state->names, &state->left);
	}
	state->may_have_descriptors |= state->left.count > 0;
	return error;
}

// `known`: NULL = the target does not stand still.
static struct hs_error *state_init(const struct process *process, struct late_call late, struct detach_known *known,
				   struct detach_state *state, bool *found_ret)
{
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);
	bool some;

	*state = (struct detach_state){ .process = process, .late = late, .region.fd = -1, .region.memory.fd = -1 };
	*found_ret = false;
	if (error)
		return error;
	error = init_from_region(process, &maps, known, state);
	if (error && error->code == HS_ERROR_NOT_FOUND) {
		hs_error_destroy(error);
		error = init_from_code(process, &maps, known, state);
	}
	proc_maps_deinit(&maps);
	if (error)
		return error;
	error = init_descriptors(state, known);
	some = !error && (state->has_region || state->code_count > 0 || state->left.count > 0 ||
			  entry_patch_is_left(&state->region.memory, known ? known->files : NULL));
	*found_ret = some || (!error && late.tid);
	state->only_late = *found_ret && !some && !late.is_certain;
	if (!*found_ret)
		detach_state_deinit(state);
	return error;
}

struct hs_error *detach_state_read(const struct process *process, struct detach_state *state, bool *found_ret)
{
	struct late_call late;
	struct proc_maps maps;
	struct hs_error *error;

	late_threads_wait(process, &late);
	error = state_init(process, late, NULL, state, found_ret);
	if (error || !*found_ret)
		return error;
	error = proc_maps_read(process, &maps);
	if (error) {
		detach_state_deinit(state);
		return error;
	}
	file_pages_read(&maps, &state->region.memory, NULL, state->hooks, state->hook_count, &state->files);
	gadgets_prepare(&maps, &state->region.memory, &state->files);
	proc_maps_deinit(&maps);
	return NULL;
}

struct hs_error *detach_state_read_again(const struct process *process, struct detach_known *known,
					 struct detach_state *state, bool *found_ret)
{
	return state_init(process, known->late, known, state, found_ret);
}
