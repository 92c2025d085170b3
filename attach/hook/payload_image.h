// SPDX-License-Identifier: Apache-2.0
// The payload image, linked into the program (attach/hook/payload_image.S): one file to copy, nothing else needed at
// run time.
#ifndef HEAPSNAP_ATTACH_HOOK_PAYLOAD_IMAGE_H
#define HEAPSNAP_ATTACH_HOOK_PAYLOAD_IMAGE_H

#include <stdint.h>

// [payload_image, payload_image_end): a struct payload_header first, a multiple of the page size long, page aligned.
extern const uint8_t payload_image[];
extern const uint8_t payload_image_end[];

#endif
