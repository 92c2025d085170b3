// SPDX-License-Identifier: Apache-2.0
#include "lib/own_rules.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <stdlib.h>

enum { FILE_MOST = 1 << 20 };

// NULL = neither variable is set, or empty.
static struct hs_error *rules_path(char **ret)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	*ret = NULL;
	if (config && *config)
		return hs_format(ret, "%s/heapsnap/rules", config);
	return home && *home ? hs_format(ret, "%s/.config/heapsnap/rules", home) : NULL;
}

static struct hs_error *add_file(struct frame_rules *rules)
{
	HS_CLEANUP_FREE char *path = NULL, *text = NULL;
	struct hs_error *error = rules_path(&path);
	size_t size;

	if (error || !path)
		return error;
	error = hs_read_file(path, FILE_MOST, &text, &size);
	if (error && (error->error_number == ENOENT || error->error_number == ENOTDIR ||
		      error->error_number == EACCES)) { // of another user's folder, which HOME may be
		hs_error_destroy(error);
		return NULL;
	}
	return error ? error : frame_rules_add_text(rules, text, path);
}

struct hs_error *hs_own_rules(const struct hs_own_rule *given, size_t count, struct frame_rules **ret)
{
	struct hs_error *error = frame_rules_create(ret);

	if (error)
		return error;
	error = add_file(*ret);
	for (size_t i = 0; i < count && !error; i++)
		error = frame_rules_add(*ret, given[i].kind, given[i].regex,
					given[i].kind == FRAME_RULE_OWN ? "--own" : "--library");
	if (error) {
		frame_rules_destroy(*ret);
		*ret = NULL;
	}
	return error;
}
