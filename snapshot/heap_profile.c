// SPDX-License-Identifier: Apache-2.0
#include "snapshot/heap_profile.h"

#include <stdlib.h>

void heap_profile_deinit(struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->mapping_count; i++) {
		free(profile->mappings[i].file);
		free(profile->mappings[i].build_id);
	}
	for (size_t i = 0; i < profile->module_count; i++)
		free(profile->modules[i].path);
	for (size_t i = 0; i < profile->function_count; i++) {
		free(profile->functions[i].name);
		free(profile->functions[i].system_name);
		free(profile->functions[i].file);
	}
	for (size_t i = 0; i < profile->ledger_count; i++) {
		free(profile->ledger[i].name);
		free(profile->ledger[i].text);
	}
	free(profile->mappings);
	free(profile->modules);
	free(profile->functions);
	free(profile->lines);
	free(profile->locations);
	free(profile->frames);
	free(profile->samples);
	free(profile->ledger);
	free(profile->program);
	*profile = (struct heap_profile){ 0 };
}
