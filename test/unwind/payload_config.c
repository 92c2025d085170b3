// SPDX-License-Identifier: Apache-2.0
// A file of its own, because inject/payload.h declares the variable constant.
#include "payload_config.h"

struct payload_header payload_header __attribute__((visibility("hidden")));

void payload_configure(const struct payload_config *config)
{
	payload_header.config = *config;
	payload_header.image_size = config->code ? HS_TEST_IMAGE_SIZE : 0;
}

void payload_configure_image(uint32_t size) { payload_header.image_size = size; }
