// SPDX-License-Identifier: Apache-2.0
// Where debuginfod's client keeps what it has fetched, and which user that is (debuginfod-find(1)).
#ifndef HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUGINFOD_PLACE_H
#define HEAPSNAP_SNAPSHOT_SYMBOLS_DEBUGINFOD_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct debuginfod_place {
	char folder[PATH_MAX]; // below it BUILDID/debuginfo; "" = it cannot be told
	bool is_of_other;      // than the tool's user: of the one who has run sudo
	uid_t user;            // then
	gid_t group;
};

// What that is judged by. Texts of the environment, NULL = not set.
struct debuginfod_facts {
	const char *cache_path, *cache_home, *home; // DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, HOME
	const char *sudo_user, *sudo_group;         // SUDO_UID, SUDO_GID: they count for real root alone
	uid_t real_user, effective_user;
	const char *passwd; // as /etc/passwd; read for sudo_user alone
};

// Pure. DEBUGINFOD_CACHE_PATH, or debuginfod_client in the cache folder of the user; of whoever has run sudo that is
// .cache in the home that passwd says, since what root was left of the environment may be anybody's.
void debuginfod_place_of(const struct debuginfod_facts *facts, struct debuginfod_place *ret);
// Of this process.
void debuginfod_place_read(struct debuginfod_place *ret);

#endif
