// SPDX-License-Identifier: Apache-2.0
// Reading and writing of whole files and ranges, with EINTR and short counts handled.
#ifndef HEAPSNAP_BASE_IO_H
#define HEAPSNAP_BASE_IO_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Reads a whole file of unknown size (/proc files among them). *text_ret is owned by the caller and has a 0 byte
// after its *size_ret bytes. Fails with HS_ERROR_BAD_DATA when the file is longer than `limit` bytes.
struct hs_error *hs_read_file(const char *path, size_t limit, char **text_ret, size_t *size_ret) HS_MUST_CHECK;
// The same of a descriptor, from where it stands; `name` is for messages.
struct hs_error *hs_read_fd(int fd, const char *name, size_t limit, char **text_ret, size_t *size_ret) HS_MUST_CHECK;

// Reads exactly `size` bytes at `offset`; HS_ERROR_BAD_DATA when the file ends before.
struct hs_error *hs_pread_exact(int fd, void *buffer, size_t size, uint64_t offset) HS_MUST_CHECK;

// Writes all bytes.
struct hs_error *hs_write_all(int fd, const void *data, size_t size) HS_MUST_CHECK;
struct hs_error *hs_pwrite_all(int fd, const void *data, size_t size, uint64_t offset) HS_MUST_CHECK;

// A descriptor, the lowest number that is free, that is at its end for who reads and refuses who writes (EBADF): for
// the place of a standard stream. It needs no file, /dev/null neither, which an empty root has not. `flags` are those
// of pipe2. -1: none, and errno says why.
int hs_open_nothing(int flags);

// snprintf into fresh memory. *text_ret is owned by the caller.
struct hs_error *hs_format(char **text_ret, const char *format, ...) HS_PRINTF(2, 3) HS_MUST_CHECK;

#endif
