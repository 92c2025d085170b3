// SPDX-License-Identifier: Apache-2.0
// The one way in which the program reads variables of the environment that tests set.
#ifndef HEAPSNAP_BASE_TEST_VARIABLE_H
#define HEAPSNAP_BASE_TEST_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Its text, or NULL: not set, or this process has more rights than its user, who then cannot make it fail, or stop, by the environment. Whether it has is
// decided by the first call and kept, also in children that give up rights later.
const char *hs_test_variable(const char *name);

// What that is judged by.
struct hs_own_rights {
	bool secure;             // AT_SECURE: a set-user-ID or set-group-ID file, or one with capabilities
	uid_t users[3];          // real, effective, saved
	gid_t groups[3];
	uint64_t capabilities;   // permitted; also those that were handed on (ambient)
	const char *invoker;     // user id in SUDO_UID, PKEXEC_UID or the like; NULL = none
};

// Pure.
bool hs_has_more_rights_than_user(const struct hs_own_rights *rights);

#endif
