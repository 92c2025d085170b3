// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/inline_fast_path.h"

#include "attach/arch/thread_pointer_code.h"
#include "attach/hook/payload_image.h"

#include <string.h>

// Puts `word` in the place of `mark`, wherever that stands.
static void fill_in(struct hook_island *island, const void *mark, const void *word, size_t size)
{
	for (size_t i = 0; i + size <= sizeof(island->inline_fast_path); i++)
		if (memcmp(island->inline_fast_path + i, mark, size) == 0)
			memcpy(island->inline_fast_path + i, word, size);
}

void inline_fast_path_fill(const struct hook_goals *goals, struct hook_island *island)
{
	const uint64_t state_mark = HS_FAST_PATH_STATE;
	const uint32_t trust_mark = HS_FAST_PATH_TRUST;
	uint32_t trust = (uint32_t)(offsetof(struct payload_state, hook_trust) + island->hook_index);
	const struct payload_header *image = (const struct payload_header *)payload_image;
	uint32_t head = image->island_head[island->kind];

	// Where a function returns, its last instructions come first; they lead on to the stub.
	island->begin = island->kind == HOOK_exit_point ? HS_ISLAND_TRAMPOLINE_OFFSET : HS_ISLAND_STUB_OFFSET;
	if (!head)
		return;
	island->begin = image->island_begin[island->kind];
	memcpy(island->inline_fast_path, payload_image + head + HS_ISLAND_FAST_PATH_OFFSET,
	       sizeof(island->inline_fast_path));
	if (thread_pointer_code_is_allowed())
		thread_pointer_code_replace_in_fast_path(island->inline_fast_path, sizeof(island->inline_fast_path));
	fill_in(island, &state_mark, &goals->state, sizeof(state_mark));
	fill_in(island, &trust_mark, &trust, sizeof(trust_mark));
}
