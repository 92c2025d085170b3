// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/hook_layout.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum word_use { ABSENT, OPTIONAL, REQUIRED };

struct verb {
	const char *name;
	enum hook_kind kind;
	uint8_t flags;
	enum word_use size, count, block, where, extra;
};

static const struct verb verbs[] = {
	{ "alloc", HOOK_allocate, 0, REQUIRED, OPTIONAL, ABSENT, OPTIONAL, ABSENT },
	{ "string", HOOK_allocate, HS_LAYOUT_STRING, ABSENT, ABSENT, ABSENT, OPTIONAL, ABSENT },
	{ "realloc", HOOK_reallocate, 0, REQUIRED, OPTIONAL, OPTIONAL, OPTIONAL, ABSENT },
	{ "reallocf", HOOK_reallocate, HS_LAYOUT_FREES, REQUIRED, OPTIONAL, REQUIRED, ABSENT, ABSENT },
	{ "resize", HOOK_resize, 0, REQUIRED, ABSENT, REQUIRED, ABSENT, OPTIONAL },
	{ "free", HOOK_release, 0, OPTIONAL, OPTIONAL, REQUIRED, ABSENT, ABSENT },
	{ "chain", HOOK_release, HS_LAYOUT_CHAIN, OPTIONAL, ABSENT, REQUIRED, ABSENT, OPTIONAL },
	{ "freeall", HOOK_release, HS_LAYOUT_ALL, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT },
	{ "new", HOOK_allocate, HS_LAYOUT_COMPANION, REQUIRED, OPTIONAL, ABSENT, ABSENT, ABSENT },
	{ "renew", HOOK_reallocate, HS_LAYOUT_COMPANION, REQUIRED, OPTIONAL, REQUIRED, ABSENT, ABSENT },
};

static const struct {
	const char *name;
	size_t offset; // in struct hook_layout
	size_t use;    // in struct verb
} words[] = {
	{ "size", offsetof(struct hook_layout, size), offsetof(struct verb, size) },
	{ "count", offsetof(struct hook_layout, count), offsetof(struct verb, count) },
	{ "block", offsetof(struct hook_layout, block), offsetof(struct verb, block) },
	{ "*block", offsetof(struct hook_layout, where), offsetof(struct verb, where) },
	{ "extra", offsetof(struct hook_layout, extra), offsetof(struct verb, extra) },
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

// Layouts that have a kind of their own.
static const struct {
	struct hook_signature generic;
	unsigned arguments;
	enum hook_kind kind;
} quick[] = {
	{ { HOOK_allocate, { .size = 1 } }, 1, HOOK_malloc },
	{ { HOOK_allocate, { .count = 1, .size = 2 } }, 2, HOOK_calloc },
	{ { HOOK_allocate, { .size = 2 } }, 2, HOOK_memalign },
	{ { HOOK_allocate, { .where = 1, .size = 3 } }, 3, HOOK_posix_memalign },
	{ { HOOK_reallocate, { .block = 1, .size = 2 } }, 2, HOOK_realloc },
	{ { HOOK_reallocate, { .block = 1, .count = 2, .size = 3 } }, 3, HOOK_reallocarray },
	{ { HOOK_release, { .block = 1 } }, 1, HOOK_free },
	{ { HOOK_allocate, { .size = 1, .flags = HS_LAYOUT_COMPANION } }, 1, HOOK_new },
	{ { HOOK_allocate, { .size = 1, .flags = HS_LAYOUT_COMPANION } }, 2, HOOK_new },
};

static struct hs_error *wrong(const char *text, const char *what)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "%s in the layout \"%s\"", what, text);
}

static const char *skip_spaces(const char *text) { return text + strspn(text, " "); }

// The word that begins at *text, which is moved behind it and the spaces that follow.
static size_t take_word(const char **text)
{
	size_t size = strspn(*text, "abcdefghijklmnopqrstuvwxyz*_");

	*text = skip_spaces(*text + size);
	return size;
}

static bool is_word(const char *text, size_t size, const char *word)
{
	return strlen(word) == size && memcmp(text, word, size) == 0;
}

static const struct verb *find_verb(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (is_word(text, size, verbs[i].name))
			return &verbs[i];
	return NULL;
}

static uint8_t *field(struct hook_layout *layout, size_t word) { return (uint8_t *)layout + words[word].offset; }

static enum word_use use(const struct verb *verb, size_t word)
{
	return *(const enum word_use *)(const void *)((const char *)verb + words[word].use);
}

static struct hs_error *take_argument(const char *text, const char **rest, const struct verb *verb, uint8_t number,
				      struct hook_layout *layout)
{
	const char *begin = *rest;
	size_t size = take_word(rest);

	if (is_word(begin, size, "_"))
		return NULL;
	for (size_t i = 0; i < WORDS; i++) {
		if (!is_word(begin, size, words[i].name))
			continue;
		if (use(verb, i) == ABSENT)
			return wrong(text, "an argument that this verb does not have");
		if (*field(layout, i))
			return wrong(text, "the same argument twice");
		*field(layout, i) = number;
		return NULL;
	}
	return wrong(text, "an argument other than size, count, block, *block, extra and _");
}

static void choose_quick(unsigned arguments, struct hook_signature *signature)
{
	for (size_t i = 0; i < sizeof(quick) / sizeof(quick[0]); i++) {
		if (quick[i].arguments == arguments && quick[i].generic.kind == signature->kind &&
		    memcmp(&quick[i].generic.layout, &signature->layout, sizeof(signature->layout)) == 0) {
			signature->kind = quick[i].kind;
			return;
		}
	}
}

static struct hs_error *parse(const char *text, struct hook_signature *ret, unsigned *arguments_ret)
{
	const char *rest = skip_spaces(text);
	const char *begin = rest;
	const struct verb *verb = find_verb(begin, take_word(&rest));
	struct hs_error *error = NULL;
	uint8_t number = 0;

	if (!verb)
		return wrong(text,
			     "no verb (alloc, string, realloc, reallocf, resize, free, chain, freeall, new, renew)");
	*ret = (struct hook_signature){ .kind = verb->kind, .layout.flags = verb->flags };
	do {
		if (*rest != (number ? ',' : '('))
			return wrong(text, number ? "a missing )" : "a missing (");
		rest = skip_spaces(rest + 1);
		if (++number > HS_LAYOUT_ARGUMENTS)
			return wrong(text, "more than six arguments");
		error = take_argument(text, &rest, verb, number, &ret->layout);
	} while (!error && *rest != ')');
	if (!error && *skip_spaces(rest + 1))
		error = wrong(text, "something behind the )");
	for (size_t i = 0; i < WORDS && !error; i++)
		if (use(verb, i) == REQUIRED && !*field(&ret->layout, i))
			error = hs_error_create(HS_ERROR_BAD_DATA, "no argument %s in the layout \"%s\"", words[i].name,
						text);
	if (!error && verb->kind == HOOK_reallocate && !ret->layout.block == !ret->layout.where)
		error = wrong(text, "not one of block and *block");
	if (!error && ret->layout.count && !ret->layout.size)
		error = wrong(text, "a count without a size");
	*arguments_ret = number;
	return error;
}

struct hs_error *hook_signature_parse(const char *text, bool generic, struct hook_signature *ret)
{
	unsigned arguments = 0;
	struct hs_error *error = parse(text, ret, &arguments);

	if (!error && !generic)
		choose_quick(arguments, ret);
	return error;
}

enum hook_kind hook_kind_generic(enum hook_kind kind)
{
	for (size_t i = 0; i < sizeof(quick) / sizeof(quick[0]); i++)
		if (quick[i].kind == kind)
			return quick[i].generic.kind;
	return kind;
}
