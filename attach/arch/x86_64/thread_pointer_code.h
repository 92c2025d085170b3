// SPDX-License-Identifier: Apache-2.0
// How the payload reads the thread pointer. As built it loads the word at %fs:0, which a libc keeps there; a thread
// whose fs base is 0, or leads nowhere, would die of that. Where the kernel lets programs read the fs base itself, the
// load becomes RDFSBASE, of the same length.
#ifndef HEAPSNAP_ATTACH_ARCH_THREAD_POINTER_CODE_H
#define HEAPSNAP_ATTACH_ARCH_THREAD_POINTER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// In messages: how the thread pointer is read without reading memory, and who has it.
#define ARCH_SAFE_THREAD_POINTER "RDFSBASE (Linux 5.9, FSGSBASE)"

// Whether programs may run RDFSBASE here (Linux 5.9 and later, on processors that have it).
bool thread_pointer_code_is_allowed(void);

// mov %fs:0, %register → rdfsbase %register, with prefixes that mean nothing in front. False = there is another
// instruction. `code`: 9 bytes
#define THREAD_POINTER_CODE_SIZE 9u
bool thread_pointer_code_replace(uint8_t *code);

// In all places that the image's header lists. False = one of them is none.
bool thread_pointer_code_replace_in_image(uint8_t *image, size_t size);

// Wherever it stands in a piece of code that has it once at most: an inline fast path.
void thread_pointer_code_replace_in_fast_path(uint8_t *code, size_t size);

#endif
