// SPDX-License-Identifier: Apache-2.0
#include "views/qualified_name.h"

#include <string.h>

bool name_is(struct name_text text, const char *word)
{
	return strlen(word) == text.size && memcmp(text.at, word, text.size) == 0;
}

bool name_begins(struct name_text text, const char *beginning)
{
	size_t size = strlen(beginning);

	return text.size >= size && memcmp(text.at, beginning, size) == 0;
}

struct name_text name_trim(struct name_text text)
{
	while (text.size && text.at[0] == ' ')
		text = name_after(text, 1);
	while (text.size && text.at[text.size - 1] == ' ')
		text.size--;
	return text;
}

bool name_is_word_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '_' || byte == '$' || byte == '.' || byte == '@' || byte == '~' || (unsigned char)byte > 127;
}

static size_t word_size(struct name_text text)
{
	size_t size = 0;

	while (size < text.size && name_is_word_byte(text.at[size]))
		size++;
	return size;
}

// "operator" and the sign after it, with the space that keeps "operator< <int>" apart; 0 = it is something else.
static size_t operator_size(struct name_text text)
{
	static const char *const signs[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>", "<=", ">=", "==",  "!=", "&&",
		"||", "++", "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "<",   ">",  "+",
		"-",  "*",  "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  ",",  "\"\""
	};
	size_t size = strlen("operator");

	if (!name_begins(text, "operator"))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (!name_begins(name_after(text, size), signs[i]))
			continue;
		size += strlen(signs[i]);
		if (signs[i][0] == '"') { // operator"" _km
			size += size < text.size && text.at[size] == ' ';
			return size + word_size(name_after(text, size));
		}
		if (size + 1 < text.size && text.at[size] == ' ' && text.at[size + 1] == '<')
			size++;
		return size;
	}
	return 0;
}

static bool is_opening(char byte) { return byte == '<' || byte == '(' || byte == '[' || byte == '{'; }
static bool is_closing(char byte) { return byte == '>' || byte == ')' || byte == ']' || byte == '}'; }

// What is no bracket though it looks like one: the signs of operators, arrows, Rust's constant characters; else 0.
static size_t not_a_bracket(struct name_text text)
{
	if (text.at[0] == 'o')
		return operator_size(text);
	if (name_begins(text, "->") || name_begins(text, "=>"))
		return 2;
	if (text.size > 2 && text.at[0] == '\'' && text.at[2] == '\'')
		return 3;
	return 0;
}

// Closes the innermost open bracket. A < or > within round brackets is a comparison when nothing else fits.
static bool close_bracket(char byte, const char *open, size_t *depth)
{
	static const char pairs[] = "<>()[]{}";

	if (byte == '>' && open[*depth - 1] != '<')
		return true;
	while (byte != '>' && *depth && open[*depth - 1] == '<')
		(*depth)--;
	if (!*depth || strchr(pairs, open[*depth - 1])[1] != byte)
		return false;
	(*depth)--;
	return true;
}

size_t name_bracket(struct name_text text)
{
	char open[NAME_BRACKETS_MAX];
	size_t depth = 0, at = 0, sign_end = 0;

	while (at < text.size) {
		size_t size = not_a_bracket(name_after(text, at));
		char byte = text.at[at];

		if (size) {
			sign_end = at += size;
			continue;
		}
		// libiberty writes the condition 1 < 2 as "(1)<(2)", and puts more brackets only around a >.
		if (is_opening(byte) && !(byte == '<' && at && at != sign_end && text.at[at - 1] == ')')) {
			if (depth == NAME_BRACKETS_MAX)
				return 0;
			open[depth++] = byte;
		} else if (is_closing(byte) && !close_bracket(byte, open, &depth)) {
			return 0;
		}
		at++;
		if (!depth)
			return at;
		if (name_is_word_byte(byte)) // so that "my_operator<" is none
			at += word_size(name_after(text, at));
	}
	return 0;
}

size_t name_step(struct name_text text)
{
	size_t size = not_a_bracket(text);

	if (size)
		return size;
	if (is_opening(text.at[0]))
		return name_bracket(text);
	size = word_size(text);
	return size ? size : 1;
}

bool name_next_item(struct name_text *list, struct name_text *item_ret)
{
	size_t at = 0;

	if (!list->size)
		return false;
	while (at < list->size && list->at[at] != ',') {
		bool is_less = list->at[at] == '<' && at && list->at[at - 1] == ')'; // as in name_bracket
		size_t size = is_less ? 1 : name_step(name_after(*list, at));

		if (!size)
			return false;
		at += size;
	}
	*item_ret = name_trim(name_of(list->at, at));
	*list = name_after(*list, at < list->size ? at + 1 : at);
	return true;
}

bool name_is_inline_namespace(struct name_text word)
{
	static const char *const names[] = { "__cxx11", "__1", "__2", "__ndk1", "__cxx1998", "__debug", "_V2" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (name_is(word, names[i]))
			return true;
	}
	return name_begins(word, "lts_2");
}

struct name_text name_without_clone(struct name_text word)
{
	static const char *const marks[] = { ".isra.", ".constprop.", ".part.",      ".lto_priv.",
					     ".llvm.", ".cold",       ".localalias", ".__uniq." };

	for (size_t at = 1; at < word.size; at++) {
		for (size_t i = 0; word.at[at] == '.' && i < sizeof(marks) / sizeof(marks[0]); i++) {
			if (name_begins(name_after(word, at), marks[i]))
				return name_of(word.at, at);
		}
	}
	return word;
}

bool name_is_lambda(struct name_text word) { return name_begins(word, "{lambda(") || name_begins(word, "'lambda"); }

// "::h0123456789abcdef" and nothing else.
static bool is_rust_hash(const struct name_part *part)
{
	if (part->word.size != 17 || part->word.at[0] != 'h' || part->has_arguments || part->has_parameters)
		return false;
	for (size_t i = 1; i < 17; i++) {
		if (!strchr("0123456789abcdef", part->word.at[i]))
			return false;
	}
	return true;
}

enum place {
	PLACE_BEGINNING, // of a part
	PLACE_WORD,      // after a part's word or template arguments
	PLACE_PARAMETERS // after parameters
};

struct scanner {
	struct name_text text;
	size_t at;
	enum place place;
	bool is_type; // a * or & was seen: this can only be a return type
	bool is_end;  // what follows is the suffix
	struct qualified_name *name;
};

static struct name_text rest_of(const struct scanner *scanner) { return name_after(scanner->text, scanner->at); }
static char byte_at(const struct scanner *scanner, size_t further)
{
	size_t at = scanner->at + further;

	return at < scanner->text.size ? scanner->text.at[at] : 0;
}

// The last part; NULL = none has begun.
static struct name_part *last_part(const struct scanner *scanner)
{
	return scanner->name->count ? &scanner->name->parts[scanner->name->count - 1] : NULL;
}

// What stands before the space that is next is the return type.
static bool begin_again(struct scanner *scanner)
{
	scanner->name->count = 0;
	scanner->place = PLACE_BEGINNING;
	scanner->is_type = false;
	scanner->name->return_type = name_of(scanner->text.at, scanner->at);
	scanner->at++;
	return true;
}

static bool add_part(struct scanner *scanner, size_t size)
{
	if (!size || scanner->name->count == NAME_PARTS_MAX)
		return false;
	scanner->name->parts[scanner->name->count++] =
		(struct name_part){ .word = name_of(scanner->text.at + scanner->at, size) };
	scanner->at += size;
	scanner->place = PLACE_WORD;
	return true;
}

static bool add_arguments(struct scanner *scanner, struct name_part *part)
{
	size_t size = name_bracket(rest_of(scanner));

	if (!size || part->has_arguments)
		return false;
	part->arguments = name_of(scanner->text.at + scanner->at + 1, size - 2);
	part->has_arguments = true;
	scanner->at += size;
	scanner->place = PLACE_WORD;
	return true;
}

// "operator new[]" or a conversion, "operator std::vector<int>": up to the parameters.
static size_t spaced_operator_size(struct name_text text)
{
	size_t at = strlen("operator ");

	while (at < text.size && text.at[at] != '(' && !name_begins(name_after(text, at), " [clone")) {
		size_t size = name_step(name_after(text, at));

		if (!size)
			return 0;
		at += size;
	}
	return at;
}

static size_t quoted_size(struct name_text text)
{
	for (size_t at = 1; at < text.size; at++) {
		if (text.at[at] == '\'')
			return at + 1;
		if (!name_is_word_byte(text.at[at]) && text.at[at] != ' ')
			break;
	}
	return 0;
}

static bool at_beginning(struct scanner *scanner)
{
	struct name_text rest = rest_of(scanner);
	struct name_part *part = last_part(scanner);
	bool is_impl = name_begins(rest, "<impl ");
	size_t size = operator_size(rest);

	if (size)
		return add_part(scanner, size);
	if (name_begins(rest, "operator "))
		return add_part(scanner, spaced_operator_size(rest));
	if (rest.at[0] == '<' && part && !is_impl) {
		part->is_turbofish = true;
		return add_arguments(scanner, part);
	}
	if (rest.at[0] == '<' || rest.at[0] == '{' || name_begins(rest, "(anonymous namespace)"))
		return add_part(scanner, name_bracket(rest));
	if (rest.at[0] == '\'')
		return add_part(scanner, quoted_size(rest));
	if (rest.at[0] == ' ' && !part)
		return begin_again(scanner);
	return add_part(scanner, word_size(rest));
}

// "[abi:cxx11]", and the number of a Rust crate, "[3c1c0]": nobody writes them.
static bool skip_tag(struct scanner *scanner)
{
	size_t size = name_bracket(rest_of(scanner));

	scanner->at += size;
	return size != 0;
}

static bool next_part(struct scanner *scanner)
{
	if (byte_at(scanner, 1) != ':' || scanner->is_type)
		return false;
	scanner->at += 2;
	scanner->place = PLACE_BEGINNING;
	return true;
}

static bool add_parameters(struct scanner *scanner, struct name_part *part)
{
	size_t size = name_bracket(rest_of(scanner));

	if (!size || scanner->is_type || part->word.at[part->word.size - 1] == '.') // Go's main.(*Cache).Put
		return false;
	part->parameters = name_of(scanner->text.at + scanner->at + 1, size - 2);
	part->has_parameters = true;
	scanner->at += size;
	scanner->place = PLACE_PARAMETERS;
	return true;
}

static bool is_suffix(struct name_text rest) { return name_begins(rest, " [") || name_begins(rest, " (."); }

static bool after_word(struct scanner *scanner)
{
	struct name_text rest = rest_of(scanner);
	struct name_part *part = last_part(scanner);

	if (is_suffix(rest))
		return scanner->is_end = true;
	if (name_is(part->word, "decltype") && name_begins(rest, " (")) {
		scanner->at++;
		return add_parameters(scanner, part);
	}
	switch (rest.at[0]) {
	case ':':
		return next_part(scanner);
	case '<':
		return add_arguments(scanner, part);
	case '(':
		return add_parameters(scanner, part);
	case '[':
		return skip_tag(scanner);
	case '{': { // Rust's call_once{{vtable.shim}}
		size_t size = name_bracket(rest);

		scanner->at += size;
		return size != 0;
	}
	case ' ':
		return begin_again(scanner);
	case '*':
	case '&':
		scanner->is_type = true;
		scanner->at++;
		return true;
	default:
		return false;
	}
}

static bool after_parameters(struct scanner *scanner)
{
	static const char *const words[] = { " const", " volatile", " &&", " &", " noexcept", " restrict" };
	struct name_text rest = rest_of(scanner);

	if (name_begins(rest, "::"))
		return next_part(scanner);
	if (name_is(last_part(scanner)->word, "decltype"))
		return rest.at[0] == ' ' ? begin_again(scanner) : false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (name_begins(rest, words[i])) {
			scanner->at += strlen(words[i]);
			return true;
		}
	}
	return scanner->is_end = is_suffix(rest) || rest.at[0] == '.' || rest.at[0] == '@';
}

bool name_parse(struct name_text text, struct qualified_name *ret)
{
	struct scanner scanner = { .text = text, .name = ret };

	ret->count = 0;
	ret->return_type = name_of(text.at, 0);
	if (name_begins(text, "non-virtual ")) // a word with a byte that is in no other one
		scanner.at = strlen("non-virtual ");
	while (scanner.at < text.size && !scanner.is_end) {
		bool is_understood = scanner.place == PLACE_BEGINNING ? at_beginning(&scanner)
				     : scanner.place == PLACE_WORD    ? after_word(&scanner)
								      : after_parameters(&scanner);

		if (!is_understood)
			return false;
	}
	if (!ret->count || scanner.place == PLACE_BEGINNING || scanner.is_type)
		return false;
	ret->suffix = rest_of(&scanner);
	if (ret->count > 1 && is_rust_hash(&ret->parts[ret->count - 1]))
		ret->count--;

	const struct name_part *last = &ret->parts[ret->count - 1];
	const char *end =
		last->has_arguments ? last->arguments.at + last->arguments.size + 1 : last->word.at + last->word.size;

	ret->path = name_of(ret->parts[0].word.at, (size_t)(end - ret->parts[0].word.at));
	return true;
}

static struct name_text without_reference(struct name_text type)
{
	static const char *const signs[] = { "&", "*const ", "*mut ", "mut ", "dyn " };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (name_begins(type, signs[i])) {
			type = name_trim(name_after(type, strlen(signs[i])));
			i = (size_t)-1; // once more from the first one: the text has become shorter
		}
	}
	return type;
}

bool name_self(const struct name_part *part, struct name_text *type_ret, struct name_text *trait_ret)
{
	if (part->word.size < 3 || part->word.at[0] != '<' || name_begins(part->word, "<impl "))
		return false;

	struct name_text inner = name_of(part->word.at + 1, part->word.size - 2);
	size_t at = 0;

	while (at < inner.size && !name_begins(name_after(inner, at), " as ")) {
		size_t size = name_step(name_after(inner, at));

		if (!size)
			return false;
		at += size;
	}
	*type_ret = without_reference(name_trim(name_of(inner.at, at)));
	*trait_ret = at < inner.size ? name_trim(name_after(inner, at + 4)) : name_of(inner.at, 0);
	return type_ret->size != 0;
}
