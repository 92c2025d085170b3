// SPDX-License-Identifier: Apache-2.0
#include "proto/output_owner.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

// Digits alone, up to the greatest number of a user. UINT32_MAX means nobody to fchown(2).
static bool read_number(const char *text, uint32_t *ret)
{
	uint64_t value = 0;

	if (!text || !*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value >= UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)value;
	return true;
}

struct output_owner output_owner_of(uid_t real_user, uid_t effective_user, const char *user, const char *group)
{
	struct output_owner owner = { .is_known = false };
	uint32_t user_number, group_number;

	if (real_user != 0 || effective_user != 0 || !read_number(user, &user_number) ||
	    !read_number(group, &group_number) || user_number == 0)
		return owner;
	return (struct output_owner){ true, user_number, group_number };
}

struct output_owner output_owner_read(void)
{
	return output_owner_of(getuid(), geteuid(), getenv("SUDO_UID"), getenv("SUDO_GID"));
}

bool output_owner_may_write(const struct output_owner *owner, const struct stat *directory)
{
	const mode_t both = S_IWOTH | S_IXOTH; // to make a name in it

	if (directory->st_uid == owner->user)
		return (directory->st_mode >> 6 & both) == both;
	if (directory->st_gid == owner->group)
		return (directory->st_mode >> 3 & both) == both;
	return (directory->st_mode & both) == both;
}

void output_owner_give(const struct output_owner *owner, int directory_fd, int fd)
{
	struct stat directory;

	if (!owner->is_known || fstat(directory_fd, &directory) < 0 || !output_owner_may_write(owner, &directory))
		return;
	if (fchown(fd, owner->user, owner->group) < 0)
		return; // a file system without owners, or one that another machine keeps root out of
}
