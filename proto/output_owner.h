// SPDX-License-Identifier: Apache-2.0
// Whose a new file becomes: who has called heapsnap by sudo is to be able to read, move and remove what it writes.
#ifndef HEAPSNAP_PROTO_OUTPUT_OWNER_H
#define HEAPSNAP_PROTO_OUTPUT_OWNER_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct output_owner {
	bool is_known; // else the file stays the tool's user's
	uid_t user;
	gid_t group;
};

// Pure: of the texts of SUDO_UID and SUDO_GID, NULL = not set. They count only for real root, who is the only one to
// whom sudo can have given them: whoever else runs the tool with more rights than their own has set them themselves.
// What is no number, or root's, does not count.
struct output_owner output_owner_of(uid_t real_user, uid_t effective_user, const char *user, const char *group);

// This process's.
struct output_owner output_owner_read(void);

// Pure: whether that user may make files in the directory by its owner, group and mode. A file of theirs in any other
// would be one that they could change where they may not.
bool output_owner_may_write(const struct output_owner *owner, const struct stat *directory);

// Gives them an open file, where they are known and may make files in its directory. What cannot be done is left: the
// file is then root's.
void output_owner_give(const struct output_owner *owner, int directory_fd, int fd);

#endif
