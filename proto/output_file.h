// SPDX-License-Identifier: Apache-2.0
// Output files that are there whole or not at all.
#ifndef HEAPSNAP_PROTO_OUTPUT_FILE_H
#define HEAPSNAP_PROTO_OUTPUT_FILE_H

#include "base/error.h"
#include "proto/output_owner.h"
#include "proto/output_place.h"

#include <stddef.h>

// A new file beside `path` (same directory, mode 0600; without a name until commit, or where the file system cannot do
// that, of an unpredictable name, O_EXCL). `path` "-" means standard output, and so do /dev/stdout, /dev/fd/1 and
// /proc/self/fd/1: as files they would be replaced.
struct output_file {
	char *path;      // final name as the user gave it; owned; NULL = nothing is open
	char *temporary; // name inside the directory; owned; NULL for standard output, and while the file has none
	struct output_place place; // directory_fd -1 for standard output
	struct output_owner owner;
	int fd;
};

// Fails early: a missing or unwritable directory, or one behind a link that others may have put there
// (proto/output_place.h); a path that is a directory, a device or the like, a mount point, or a file or link that is
// not the user's own; a file or directory whose flags forbid it (chattr +i, +a); a name that no file can have; a
// terminal as standard output; a file that is no profile (proto/known_profile.h): HS_ERROR_REFUSED, or HS_ERROR_SYSTEM.
// Nothing is left behind on failure; on success *ret is owned by the caller until commit or discard. To be called
// before the target is touched.
struct hs_error *output_file_create(const char *path, struct output_file *ret) HS_MUST_CHECK;

// Closes and removes the temporary file. Safe after commit and on a zeroed struct.
void output_file_discard(struct output_file *file);

// Writes `size` bytes as they are. HS_ERROR_SYSTEM; after a failure only discard is left to do.
struct hs_error *output_file_write(struct output_file *file, const void *data, size_t size) HS_MUST_CHECK;

// Gives the file to who has called sudo (proto/output_owner.h), syncs it and gives it its name, over a profile of the
// user's own or of that one's; a symbolic link of the user's own there is replaced, not followed. What is there is
// looked at again, and what comes to be there where nothing was stays. On failure the temporary file is gone. The
// output_file is closed in any case. HS_ERROR_SYSTEM; HS_ERROR_REFUSED: what is there now may not be replaced.
struct hs_error *output_file_commit(struct output_file *file) HS_MUST_CHECK;

#endif
