// SPDX-License-Identifier: Apache-2.0
// Rows of sites, fitted to a width.
//
//   20.2 MiB ±5.0 %   47.6k blocks  shop::Cache::put  leak.cpp:18   via std::string, unordered_map
//         < shop::Server::handle < main
#ifndef HEAPSNAP_CLI_SITE_ROWS_H
#define HEAPSNAP_CLI_SITE_ROWS_H

#include "base/error.h"
#include "cli/options.h"
#include "cli/table.h"
#include "views/sites.h"

// What a row is called; borrows of both.
struct table_text site_row_text(const struct named_profile *named, const struct site *site);

// The callers of a site, in a line of its own; nothing where there are none. HS_ERROR_NO_MEMORY.
struct hs_error *site_path_print(const struct options *options, const struct named_profile *named,
				 const struct site *site) HS_MUST_CHECK;

// The first `limit` sites that hold anything (the first one in any case), in their order, and how much is in others; of
// what options->view.order is of, live or allocated since attach. HS_ERROR_NO_MEMORY.
struct hs_error *site_rows_print(const struct options *options, const struct named_profile *named,
				 const struct site_list *sites, size_t limit) HS_MUST_CHECK;

#endif
