// SPDX-License-Identifier: Apache-2.0
// The one way in which the program reads variables of the environment that tests set.
#ifndef HEAPSNAP_BASE_TEST_VARIABLE_H
#define HEAPSNAP_BASE_TEST_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Whether any is read: not by a process with more rights than its user, who then cannot make it fail, or stop, by the
// environment. Decided once, by this or the first hs_test_variable, and kept, also in children that give up rights
// later.
void hs_test_variables_decide(void);

// Its text, or NULL: not set, or none is read.
const char *hs_test_variable(const char *name);

// What that is judged by.
struct hs_own_rights {
	bool secure;    // AT_SECURE: a set-user-ID or set-group-ID file, or one with capabilities
	uid_t users[3]; // real, effective, saved
	gid_t groups[3];
	uint64_t capabilities;   // permitted; also those that were handed on (ambient)
	const char *invokers[2]; // user ids in SUDO_UID and PKEXEC_UID; NULL = not set
	const char *doas_user;   // user name in DOAS_USER, which has no number; NULL = not set
};

// This process's. False: the kernel does not tell its users and groups.
bool hs_own_rights_read(struct hs_own_rights *ret);

// Pure.
bool hs_has_more_rights_than_user(const struct hs_own_rights *rights);

#endif
