// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/file_trail.h"

#include "base/array.h"
#include "base/byte_cursor.h"
#include "base/clock.h"
#include "snapshot/symbols/symbol_messages.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

// Longer than any file system's clock stands still.
#define SETTLED_NS UINT64_C(2000000000)

enum trail_item { TRAIL_MODULE = 1, TRAIL_DEBUG, TRAIL_FILE };

struct file_identity {
	uint64_t device, inode, size, modified_ns, changed_ns;
};

static struct hs_error *append(struct file_trail *trail, const void *data, size_t size)
{
	if (trail->is_useless || size > FILE_TRAIL_MAX - trail->size) {
		trail->is_useless = true;
		return NULL;
	}
	if (ARRAY_RESERVE(trail->bytes, trail->size + size + 1, &trail->room))
		return &hs_error_no_memory;
	if (size)
		memcpy(trail->bytes + trail->size, data, size);
	trail->size += size;
	return NULL;
}

struct hs_error *file_trail_add_module(struct file_trail *trail)
{
	const uint32_t item = TRAIL_MODULE;

	return append(trail, &item, sizeof(item));
}

struct hs_error *file_trail_add_debug(struct file_trail *trail, const uint8_t *build_id, size_t build_id_size,
				      const char *link)
{
	const uint32_t head[] = { TRAIL_DEBUG, (uint32_t)build_id_size, link ? (uint32_t)strlen(link) : 0 };
	struct hs_error *error = append(trail, head, sizeof(head));

	if (!error)
		error = append(trail, build_id, build_id_size);
	return error || !link ? error : append(trail, link, strlen(link));
}

static uint64_t time_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

static bool identify(int fd, struct file_identity *ret)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return false;
	*ret = (struct file_identity){ status.st_dev, status.st_ino, (uint64_t)status.st_size, time_of(&status.st_mtim),
				       time_of(&status.st_ctim) };
	return true;
}

static bool can_be_told(int fd, const struct file_identity *identity)
{
	const uint64_t now = hs_wall_ns();
	struct statfs system;

	return identity->changed_ns < now && now - identity->changed_ns > SETTLED_NS && fstatfs(fd, &system) == 0 &&
	       system.f_type != FUSE_SUPER_MAGIC;
}

struct hs_error *file_trail_add_file(struct file_trail *trail, int fd, bool is_mapped, bool is_taken)
{
	const uint32_t head[] = { TRAIL_FILE, is_mapped, is_taken };
	struct file_identity identity;
	struct hs_error *error = append(trail, head, sizeof(head));

	if (!identify(fd, &identity) || !can_be_told(fd, &identity)) {
		trail->is_useless = true;
		return error;
	}
	return error ? error : append(trail, &identity, sizeof(identity));
}

void file_trail_deinit(struct file_trail *trail)
{
	free(trail->bytes);
	*trail = (struct file_trail){ 0 };
}

struct replay {
	struct byte_cursor left;
	bool has_differed;
};

// The next item when it is of this kind; else it stays.
static bool take_kind(struct byte_cursor *cursor, enum trail_item kind)
{
	struct byte_cursor before = *cursor;
	uint32_t item;

	if (byte_cursor_u32(cursor, &item) && item == kind)
		return true;
	*cursor = before;
	return false;
}

// For module_files: says of a file what was said before; after a difference no other one is wanted.
static bool offer_again(int fd, bool is_mapped, void *context)
{
	struct replay *replay = context;
	struct file_identity now, before;
	uint32_t mapped, taken;

	if (!take_kind(&replay->left, TRAIL_FILE) || !byte_cursor_u32(&replay->left, &mapped) ||
	    !byte_cursor_u32(&replay->left, &taken) || !byte_cursor_bytes(&replay->left, &before, sizeof(before)) ||
	    mapped != is_mapped || !identify(fd, &now) || !can_be_told(fd, &now) ||
	    memcmp(&now, &before, sizeof(now)) != 0) {
		replay->has_differed = true;
		return true;
	}
	return taken;
}

static int find_debug(struct replay *replay, const struct module_files *files, const struct profile_module *module)
{
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	char link[SYMBOL_LINK_MAX + 1];
	uint32_t build_id_size, link_size;

	if (!byte_cursor_u32(&replay->left, &build_id_size) || !byte_cursor_u32(&replay->left, &link_size) ||
	    build_id_size > sizeof(build_id) || link_size > SYMBOL_LINK_MAX ||
	    !byte_cursor_bytes(&replay->left, build_id, build_id_size) ||
	    !byte_cursor_bytes(&replay->left, link, link_size)) {
		replay->has_differed = true;
		return -1;
	}
	link[link_size] = 0;
	return module_files_find_debug(files, build_id, build_id_size, module->path, link_size ? link : NULL,
				       offer_again, replay);
}

bool file_trail_is_met(const uint8_t *trail, size_t size, const struct module_files *files,
		       const struct profile_module *module)
{
	struct replay replay = { .left = byte_cursor_make(trail, size) };

	while (byte_cursor_left(&replay.left) > 0 && !replay.has_differed) {
		int fd = -1;

		// A file that is left over was offered then, and is not now.
		if (take_kind(&replay.left, TRAIL_MODULE))
			fd = module_files_find(files, module, offer_again, &replay);
		else if (take_kind(&replay.left, TRAIL_DEBUG))
			fd = find_debug(&replay, files, module);
		else
			return false;
		if (fd >= 0)
			close(fd);
	}
	return size > 0 && !replay.has_differed;
}
