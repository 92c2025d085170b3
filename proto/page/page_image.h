// SPDX-License-Identifier: Apache-2.0
// The page around its data, linked into the program (page_image.S). Both are empty where npm was missing at build time.
#ifndef HEAPSNAP_PROTO_PAGE_PAGE_IMAGE_H
#define HEAPSNAP_PROTO_PAGE_PAGE_IMAGE_H

// [page_head, page_head_end): up to where the data belongs; [page_tail, page_tail_end): what comes after it.
extern const char page_head[], page_head_end[];
extern const char page_tail[], page_tail_end[];

#endif
