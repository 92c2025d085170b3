// SPDX-License-Identifier: Apache-2.0
// What the payload knows of its target. In the target, the tool writes it into the image before the image is mapped;
// here it is a variable behind this function.
#ifndef HEAPSNAP_TEST_PAYLOAD_CONFIG_H
#define HEAPSNAP_TEST_PAYLOAD_CONFIG_H

#include "inject/abi/payload_header.h"

#define HS_TEST_IMAGE_SIZE 65536u // where the config names code at all

void payload_configure(const struct payload_config *config);
// The image's size, bytes; 0 unless told.
void payload_configure_image(uint32_t size);

#endif
