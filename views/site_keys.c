// SPDX-License-Identifier: Apache-2.0
#include "views/site_keys.h"

#include <stdlib.h>

struct hs_error *site_keys_places(struct site_keys *keys, const struct named_profile *named, enum site_match match,
				  uint32_t **ret)
{
	uint32_t *numbers = calloc(named->place_count + 1, sizeof(*numbers));
	struct hs_error *error = numbers ? NULL : &hs_error_no_memory;

	for (size_t i = 0; i < named->place_count && !error; i++) {
		const struct code_place *place = &named->places[i];
		bool is_new;

		error = key_add_text(&keys->places, place->full_name);
		if (!error && match == MATCH_LINES)
			error = key_add_text(&keys->places, place->file);
		if (!error && match == MATCH_LINES)
			error = key_add_number(&keys->places, (uint64_t)place->line);
		if (!error)
			error = key_number(&keys->places, &numbers[i], &is_new);
	}
	if (error) {
		free(numbers);
		numbers = NULL;
	}
	*ret = numbers;
	return error;
}

struct hs_error *site_keys_number(struct site_keys *keys, const struct site *site, const uint32_t *places,
				  uint32_t *ret, bool *new_ret)
{
	struct hs_error *error = NULL;

	for (uint32_t i = 0; i < site->path_length && !error; i++)
		error = key_add_number(&keys->paths, places[site->path[i]]);
	return error ? error : key_number(&keys->paths, ret, new_ret);
}

void site_keys_deinit(struct site_keys *keys)
{
	key_table_deinit(&keys->places);
	key_table_deinit(&keys->paths);
}
