// SPDX-License-Identifier: Apache-2.0
// What `top` shows, of what a look has found.
#ifndef HEAPSNAP_CLI_TOP_ROWS_H
#define HEAPSNAP_CLI_TOP_ROWS_H

#include "cli/top_model.h"
#include "cli/top_screen.h"
#include "views/call_tree.h"
#include "views/growth.h"
#include "views/named_profile.h"

// Zeroed = empty.
struct top_rows {
	struct top_data data;       // its arrays are those below
	struct top_row *rows;       // owned, as all of these
	uint32_t *shown;            //
	struct top_caller *callers; //
	struct call_tree tree;      // that the callers' texts are of
};

// The sites of the last look, of which the texts are borrowed. *rows is emptied before. HS_ERROR_NO_MEMORY.
struct hs_error *top_rows_make(const struct named_profile *named, const struct growth *growth,
			       struct top_rows *rows) HS_MUST_CHECK;
// The callers of the site of that number; none where it is not there any more. HS_ERROR_NO_MEMORY.
struct hs_error *top_rows_callers(const struct named_profile *named, const struct growth *growth, uint32_t number,
				  struct top_rows *rows) HS_MUST_CHECK;
void top_rows_deinit(struct top_rows *rows);

// What is said of the whole process; the program's name is borrowed, messages are not filled.
struct top_facts top_facts_of(const struct named_profile *named, const struct growth *growth);

#endif
