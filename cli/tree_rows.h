// SPDX-License-Identifier: Apache-2.0
// A call tree as rows. Calls that have but one way to go on stand in one row:
//
//         live     share  blocks  function
//     14.0 MiB   100.0 %     300  [all]
//     14.0 MiB   100.0 %     300    main > serve
//     10.0 MiB    71.4 %     200      Cache::put
//      4.0 MiB    28.6 %     100      log > format
#ifndef HEAPSNAP_CLI_TREE_ROWS_H
#define HEAPSNAP_CLI_TREE_ROWS_H

#include "cli/options.h"
#include "views/call_tree.h"

// HS_ERROR_NO_MEMORY.
struct hs_error *tree_rows_print(const struct options *options, const struct heap_profile *profile,
				 const struct call_tree *tree) HS_MUST_CHECK;

#endif
