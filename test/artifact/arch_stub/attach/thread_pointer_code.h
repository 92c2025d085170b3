// SPDX-License-Identifier: Apache-2.0
// As of aarch64: nothing is put in the place of MRS.
#ifndef HEAPSNAP_ATTACH_ARCH_THREAD_POINTER_CODE_H
#define HEAPSNAP_ATTACH_ARCH_THREAD_POINTER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_SAFE_THREAD_POINTER "MRS"
bool thread_pointer_code_is_allowed(void);
bool thread_pointer_code_replace_in_image(uint8_t *image, size_t size);
void thread_pointer_code_replace_in_fast_path(uint8_t *code, size_t size);

#endif
