// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/debuginfod_place.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <stdint.h>
#include <string.h>

enum { PASSWD_LIMIT = 4 << 20 };

static bool number_of(const char *text, uint32_t *ret)
{
	uint64_t number = 0;

	if (!text || !*text || strlen(text) > 10 || text[strspn(text, "0123456789")])
		return false;
	for (; *text; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	*ret = (uint32_t)number;
	return number < UINT32_MAX; // which means no user
}

// The home of a user (passwd(5): name:password:number:group:comment:home:shell). Its length; 0 = none is said.
static size_t find_home(const char *passwd, uid_t user, const char **ret)
{
	for (const char *line = passwd; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *fields[6] = { line };
		size_t lengths[6] = { strcspn(line, ":\n") };
		size_t count = 1;
		char text[11] = "";
		uint32_t number;

		for (; count < 6 && fields[count - 1][lengths[count - 1]] == ':'; count++) {
			fields[count] = fields[count - 1] + lengths[count - 1] + 1;
			lengths[count] = strcspn(fields[count], ":\n");
		}
		if (count < 6 || lengths[2] >= sizeof(text))
			continue;
		memcpy(text, fields[2], lengths[2]);
		text[lengths[2]] = 0;
		if (!number_of(text, &number) || number != user || *fields[5] != '/')
			continue;
		*ret = fields[5];
		return lengths[5];
	}
	return 0;
}

static void set_folder(struct debuginfod_place *ret, const char *base, size_t base_length, const char *rest)
{
	const int length =
		snprintf(ret->folder, sizeof(ret->folder), "%.*s%s/debuginfod_client", (int)base_length, base, rest);

	if (length < 0 || (size_t)length >= sizeof(ret->folder))
		ret->folder[0] = 0;
}

void debuginfod_place_of(const struct debuginfod_facts *facts, struct debuginfod_place *ret)
{
	uint32_t user = 0, group = 0;
	const char *home;
	size_t length;

	*ret = (struct debuginfod_place){ 0 };
	if (facts->real_user == 0 && facts->effective_user == 0 && number_of(facts->sudo_user, &user) && user != 0 &&
	    number_of(facts->sudo_group, &group)) {
		ret->is_of_other = true;
		ret->user = user;
		ret->group = group;
	}
	if (facts->cache_path && *facts->cache_path) {
		length = strlen(facts->cache_path);
		if (*facts->cache_path == '/' && length < sizeof(ret->folder))
			memcpy(ret->folder, facts->cache_path, length + 1);
	} else if (ret->is_of_other) {
		length = facts->passwd ? find_home(facts->passwd, user, &home) : 0;
		if (length > 0 && length < PATH_MAX)
			set_folder(ret, home, length, "/.cache");
	} else if (facts->cache_home && *facts->cache_home == '/') {
		set_folder(ret, facts->cache_home, strnlen(facts->cache_home, PATH_MAX), "");
	} else if (facts->home && *facts->home == '/') {
		set_folder(ret, facts->home, strnlen(facts->home, PATH_MAX), "/.cache");
	}
}

void debuginfod_place_read(struct debuginfod_place *ret)
{
	struct debuginfod_facts facts = {
		.cache_path = getenv("DEBUGINFOD_CACHE_PATH"),
		.cache_home = getenv("XDG_CACHE_HOME"),
		.home = getenv("HOME"),
		.sudo_user = getenv("SUDO_UID"),
		.sudo_group = getenv("SUDO_GID"),
		.real_user = getuid(),
		.effective_user = geteuid(),
	};
	HS_CLEANUP_FREE char *passwd = NULL;

	if (facts.real_user == 0 && facts.sudo_user) {
		size_t size;

		// Without it the folder cannot be told, which is said.
		hs_error_destroy(hs_read_file("/etc/passwd", PASSWD_LIMIT, &passwd, &size));
		facts.passwd = passwd;
	}
	debuginfod_place_of(&facts, ret);
}
