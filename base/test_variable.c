// SPDX-License-Identifier: Apache-2.0
#include "base/test_variable.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

bool hs_has_more_rights_than_user(const struct hs_own_rights *rights)
{
	for (int i = 1; i < 3; i++)
		if (rights->users[i] != rights->users[0] || rights->groups[i] != rights->groups[0])
			return true;
	if (rights->secure || (rights->users[0] != 0 && rights->capabilities != 0))
		return true;
	// Whoever became this user by a program that says who it was.
	for (size_t i = 0; i < sizeof(rights->invokers) / sizeof(rights->invokers[0]); i++)
		if (rights->invokers[i] && strtoull(rights->invokers[i], NULL, 10) != rights->users[0])
			return true;
	return rights->doas_user && strcmp(rights->doas_user, "root") != 0;
}

// A kernel that does not tell counts as all of them.
static uint64_t permitted_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) != 0)
		return UINT64_MAX;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

bool hs_own_rights_read(struct hs_own_rights *ret)
{
	*ret = (struct hs_own_rights){
		.secure = getauxval(AT_SECURE) != 0,
		.capabilities = permitted_capabilities(),
		.invokers = { getenv("SUDO_UID"), getenv("PKEXEC_UID") },
		.doas_user = getenv("DOAS_USER"),
	};
	return getresuid(&ret->users[0], &ret->users[1], &ret->users[2]) == 0 &&
	       getresgid(&ret->groups[0], &ret->groups[1], &ret->groups[2]) == 0;
}

static enum { UNKNOWN, HONOURED, IGNORED } state;

void hs_test_variables_decide(void)
{
	struct hs_own_rights rights;

	if (state == UNKNOWN)
		state = !hs_own_rights_read(&rights) || hs_has_more_rights_than_user(&rights) ? IGNORED : HONOURED;
}

const char *hs_test_variable(const char *name)
{
	hs_test_variables_decide();
	return state == HONOURED ? getenv(name) : NULL;
}
