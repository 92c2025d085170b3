// SPDX-License-Identifier: Apache-2.0
// The data of a page: blocks of JSON in elements that a browser does not run.
//
//   <script type="application/json" class="data">{"strings":[…]}</script>
//
// Each block is an object with one key, and of a bounded number of rows, so that a browser parses them one after the
// other and is not held up by any. In this order:
//
//   head     what was looked at: an object; how many strings, places, nodes and sites will come
//   strings  every text, once; others name it by its number
//   places   columns name, full, file, module, why, via (numbers of strings), line, class (enum frame_class);
//            after the profile's places one more, for stacks that are unknown
//   nodes    columns up (number of the node minus its parent's), place, and the values of page_tree.h, of the stacks
//            that end there; the root, number 0, has none
//   sites    columns place (-1 = unknown), node (where the largest stack ends), via (number of a string), own, stacks,
//            the values, and error, the live bytes' standard error
//
// There are as many values as totals in the head.
//
// Names come from files that a target chose. They are made printable (base/printable.h), and no character of them can
// mean anything in HTML (base/json.h, in_markup).
#ifndef HEAPSNAP_PROTO_PAGE_PAGE_DATA_H
#define HEAPSNAP_PROTO_PAGE_PAGE_DATA_H

#include "base/error.h"
#include "proto/page/page.h"

#include <stdio.h>

// Writes all blocks. HS_ERROR_NO_MEMORY. Whether the stream has failed is for the caller to see.
struct hs_error *page_data_write(const struct named_profile *named, const struct site_list *sites,
				 const struct page_options *options, FILE *file) HS_MUST_CHECK;

#endif
