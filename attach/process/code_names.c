// SPDX-License-Identifier: Apache-2.0
#include "attach/process/code_names.h"

#include "attach/process/namespaces.h"
#include "base/cleanup.h"
#include "base/proc_status.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { WORD_DIGITS = 16 };

static const char beginning[] = "/memfd:" HS_CODE_NAME "-";

void code_names_read_key(const struct target_memory *memory, struct code_names *ret)
{
	static const uint64_t type = AT_RANDOM;
	uint64_t address;
	struct hs_error *error = process_auxv(memory->process, &type, 1, &address);

	*ret = (struct code_names){ 0 };
	if (!error && address)
		error = target_memory_read_resident(memory, address, &ret->key, sizeof(ret->key));
	ret->has_key = address && !error && (ret->key.words[0] || ret->key.words[1]);
	hs_error_destroy(error);
}

static void add_owner(struct code_names *names, uid_t uid) { names->owners[names->owner_count++] = uid; }

// Real, effective and saved user. A child that was forked while attached may have given up root since.
static void read_owners(const struct process *process, struct code_names *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	HS_CLEANUP_FREE char *map = NULL;
	struct hs_error *error = process_read_live_file(process, "status", &text, NULL);
	enum namespace_answer answers[NAMESPACE_COUNT];
	uid_t uids[3], root;

	hs_error_destroy(error);
	add_owner(ret, 0);
	if (text && proc_status_ids(text, "Uid:", uids))
		for (int i = 0; i < 3; i++)
			add_owner(ret, uids[i]);
	namespaces_read(process, answers);
	if (answers[NAMESPACE_user] != NAMESPACE_DIFFERS)
		return;
	// user_namespaces(7): the ids inside, outside as the tool sees them, and how many
	error = process_read_live_file(process, "uid_map", &map, NULL);
	if (!error && sscanf(map, " 0 %u", &root) == 1)
		add_owner(ret, root);
	hs_error_destroy(error);
}

void code_names_read(const struct target_memory *memory, struct code_names *ret)
{
	code_names_read_key(memory, ret);
	read_owners(memory->process, ret);
}

struct hs_error *code_names_make(const struct code_names *names, char ret[HS_CODE_NAME_SIZE], uint64_t *nonce_ret)
{
	uint64_t words[2];

	if (getrandom(words, sizeof(words), 0) != sizeof(words))
		return hs_error_system(errno, "cannot get random bytes");
	if (names->has_key)
		words[1] = keyed_proof(&names->key, &words[0], sizeof(words[0]));
	snprintf(ret, HS_CODE_NAME_SIZE, HS_CODE_NAME "-%016" PRIx64 "%016" PRIx64, words[0], words[1]);
	*nonce_ret = words[0];
	return NULL;
}

bool code_names_look_alike(const char *name)
{
	const char *digits = name + strlen(beginning);

	return strncmp(name, beginning, strlen(beginning)) == 0 &&
	       strspn(digits, "0123456789abcdef") == 2 * WORD_DIGITS && !digits[2 * WORD_DIGITS];
}

// The two numbers of a name that looks like ours.
static void parse_words(const char *name, uint64_t ret[2])
{
	const char *digits = name + strlen(beginning);
	char word[WORD_DIGITS + 1] = { 0 };

	for (int i = 0; i < 2; i++) {
		memcpy(word, digits + i * WORD_DIGITS, WORD_DIGITS);
		ret[i] = strtoull(word, NULL, 16);
	}
}

static bool is_named_by_region(const struct code_names *names, const uint64_t words[2])
{
	return names->nonce != 0 && words[0] == names->nonce;
}

bool code_names_of_region(const struct code_names *names, const char *name)
{
	uint64_t words[2];

	if (!code_names_look_alike(name))
		return false;
	parse_words(name, words);
	return is_named_by_region(names, words);
}

bool code_names_have(const struct code_names *names, const char *name)
{
	uint64_t words[2];

	if (!code_names_look_alike(name))
		return false;
	parse_words(name, words);
	return is_named_by_region(names, words) ||
	       (names->has_key && keyed_proof(&names->key, &words[0], sizeof(words[0])) == words[1]);
}

bool code_names_owner_fits(const struct code_names *names, const char *name, uid_t uid)
{
	if (code_names_of_region(names, name))
		return true;
	for (size_t i = 0; i < names->owner_count; i++)
		if (names->owners[i] == uid)
			return true;
	return false;
}
