// SPDX-License-Identifier: Apache-2.0
// A folder for what can be made again: of one user, who alone may enter it. Files in it are whole or not there, whoever
// writes at the same time.
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_CACHE_FOLDER_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cache_folder {
	int fd; // -1 = there is none
};

// Where the folder's parent is, by the environment of a user; NULL = nowhere. `room` is of `buffer`, for its text.
// Pure. Relative paths do not count (XDG Base Directory Specification).
const char *cache_base(const char *cache_home, const char *home, char *buffer, size_t room);

// Opens $XDG_CACHE_HOME/heapsnap, or $HOME/.cache/heapsnap, and makes it, when the folder above is this user's; for
// root also /var/cache/heapsnap, where the environment names another user's folder, as sudo may leave it. No other
// folder is used, nor, for root, one that a link leads to (Linux 5.6): a file in it would be root's in another user's
// home, or one that another user can change. Of a tool whose real user is not its effective one there is none: it has
// the environment of somebody else.
struct cache_folder cache_folder_open(void);
// The same in a folder that is given.
struct cache_folder cache_folder_open_in(const char *base);
void cache_folder_close(struct cache_folder *folder);

// A file's content, owned by the caller; NULL = there is none that is this user's and has at most `limit` bytes. `name`
// has no slash. That it was read is remembered, for cache_folder_write.
uint8_t *cache_folder_read(const struct cache_folder *folder, const char *name, size_t limit, size_t *size_ret);

// Writes a file, or replaces it. Then the files that were not read for longest go, until all have at most `most` bytes.
// What cannot be written is left out. `name`: no dot at its beginning.
void cache_folder_write(const struct cache_folder *folder, const char *name, const uint8_t *data, size_t size,
			uint64_t most);

#endif
