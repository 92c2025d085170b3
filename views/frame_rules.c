// SPDX-License-Identifier: Apache-2.0
#include "views/frame_rules.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/printable.h"
#include "views/frame_patterns.h"
#include "views/pattern_index.h"
#include "views/qualified_name.h"

#include <regex.h>
#include <string.h>

struct user_rule {
	enum frame_rule_kind kind;
	regex_t regex;
	char *why; // owned
};

struct frame_rules {
	struct pattern_index functions, modules;
	struct user_rule *user_rules; // in the order in which they were added
	size_t user_count, user_room;
};

const char *frame_class_name(enum frame_class class)
{
	static const char *const names[FRAME_CLASS_COUNT] = {
		[FRAME_UNKNOWN] = "unknown",     [FRAME_OWN] = "own",
		[FRAME_ALLOCATOR] = "allocator", [FRAME_WRAPPER] = "wrapper",
		[FRAME_CONTAINER] = "container", [FRAME_RUNTIME] = "runtime",
		[FRAME_LIBRARY] = "library",
	};

	return (unsigned)class < FRAME_CLASS_COUNT ? names[class] : names[FRAME_UNKNOWN];
}

struct hs_error *frame_rules_create(struct frame_rules **ret)
{
	struct frame_rules *rules = calloc(1, sizeof(*rules));
	struct hs_error *error;

	if (!rules)
		return &hs_error_no_memory;
	error = pattern_index_init(&rules->functions, frame_patterns, frame_pattern_count, "pattern");
	if (!error)
		error = pattern_index_init(&rules->modules, module_patterns, module_pattern_count, "module");
	if (error) {
		frame_rules_destroy(rules);
		return error;
	}
	*ret = rules;
	return NULL;
}

void frame_rules_destroy(struct frame_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->user_count; i++) {
		regfree(&rules->user_rules[i].regex);
		free(rules->user_rules[i].why);
	}
	free(rules->user_rules);
	pattern_index_deinit(&rules->functions);
	pattern_index_deinit(&rules->modules);
	free(rules);
}

static struct hs_error *bad_regex(const char *origin, const char *regex, const regex_t *compiled, int status)
{
	HS_CLEANUP_FREE char *shown = hs_printable(regex);
	char reason[128];

	regerror(status, compiled, reason, sizeof(reason));
	if (!shown || status == REG_ESPACE)
		return &hs_error_no_memory;
	return hs_error_create(HS_ERROR_BAD_DATA, "%s: %s is not a regular expression: %s", origin, shown, reason);
}

struct hs_error *frame_rules_add(struct frame_rules *rules, enum frame_rule_kind kind, const char *regex,
				 const char *origin)
{
	size_t why_size = strlen(origin) + strlen(regex) + 2;
	struct user_rule rule = { .kind = kind };
	struct hs_error *error = ARRAY_RESERVE(rules->user_rules, rules->user_count + 1, &rules->user_room);
	int status;

	if (error)
		return error;
	// An empty expression is found everywhere: surely not meant.
	if (!*regex)
		return hs_error_create(HS_ERROR_BAD_DATA, "%s: the regular expression is empty", origin);
	status = regcomp(&rule.regex, regex, REG_EXTENDED | REG_NOSUB);
	if (status)
		return bad_regex(origin, regex, &rule.regex, status);
	rule.why = malloc(why_size);
	if (!rule.why) {
		regfree(&rule.regex);
		return &hs_error_no_memory;
	}
	snprintf(rule.why, why_size, "%s %s", origin, regex);
	rules->user_rules[rules->user_count++] = rule;
	return NULL;
}

// One line of a file of rules, 0-terminated, which is changed.
static struct hs_error *add_line(struct frame_rules *rules, char *line, const char *name, size_t number)
{
	static const char *const words[] = { [FRAME_RULE_LIBRARY] = "library", [FRAME_RULE_OWN] = "own" };
	HS_CLEANUP_FREE char *origin = NULL;
	size_t size = strlen(line), word_size;

	while (size && strchr(" \t\r", line[size - 1]))
		line[--size] = 0;
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return NULL;
	if (asprintf(&origin, "%s:%zu", name, number) < 0) {
		origin = NULL;
		return &hs_error_no_memory;
	}
	word_size = strcspn(line, " \t");
	for (size_t kind = 0; kind < sizeof(words) / sizeof(words[0]); kind++) {
		if (strlen(words[kind]) == word_size && memcmp(line, words[kind], word_size) == 0) {
			line += word_size;
			return frame_rules_add(rules, (enum frame_rule_kind)kind, line + strspn(line, " \t"), origin);
		}
	}
	return hs_error_create(HS_ERROR_BAD_DATA, "%s: a rule is \"own REGEX\" or \"library REGEX\"", origin);
}

struct hs_error *frame_rules_add_text(struct frame_rules *rules, const char *text, const char *name)
{
	HS_CLEANUP_FREE char *copy = strdup(text);
	struct hs_error *error = NULL;
	char *line = copy;

	if (!copy)
		return &hs_error_no_memory;
	for (size_t number = 1; line && !error; number++) {
		char *end = strchr(line, '\n');

		if (end)
			*end++ = 0;
		error = add_line(rules, line, name, number);
		line = end;
	}
	return error;
}

// *by_name_ret: the function's name has matched, and not its module alone.
static const struct user_rule *find_user_rule(const struct frame_rules *rules, const char *function, const char *module,
					      bool *by_name_ret)
{
	for (size_t i = rules->user_count; i; i--) {
		const struct user_rule *rule = &rules->user_rules[i - 1];

		*by_name_ret = regexec(&rule->regex, function, 0, NULL, 0) == 0;
		if (*by_name_ret || regexec(&rule->regex, module, 0, NULL, 0) == 0)
			return rule;
	}
	return NULL;
}

// The name without return type and parameters: "^app::" would not be found in "void app::f<int>(int)", and "vector"
// would in "app::f(std::vector<int>)".
static const struct user_rule *user_rule_of(const struct frame_rules *rules, const struct frame_text *frame,
					    const struct qualified_name *name, bool *by_name_ret)
{
	char path[16384]; // longer than any that is demangled; else it is cut
	struct name_text text = name ? name->path : name_of(frame->function, strlen(frame->function));
	size_t size = text.size < sizeof(path) ? text.size : sizeof(path) - 1;

	memcpy(path, text.at, size);
	path[size] = 0;
	return find_user_rule(rules, path, frame->module, by_name_ret);
}

// The name that patterns are compared with. What is longer than any pattern may be cut.
struct pattern_key {
	char text[512];
	size_t size;
	char last_part[128];
};

static void key_add(struct pattern_key *key, struct name_text text)
{
	size_t left = sizeof(key->text) - 1 - key->size, size = text.size < left ? text.size : left;

	memcpy(key->text + key->size, text.at, size);
	key->size += size;
	key->text[key->size] = 0;
}

// "malloc" of "malloc@plt" and "malloc@@GLIBC_2.2.5".
static struct name_text plain_word(struct name_text word)
{
	const char *version;

	word = name_trim(name_without_clone(word));
	version = word.size > 1 ? memchr(word.at + 1, '@', word.size - 1) : NULL;
	return version ? name_of(word.at, (size_t)(version - word.at)) : word;
}

static void key_add_parts(struct pattern_key *key, const struct qualified_name *name, size_t first)
{
	for (size_t i = first; i < name->count; i++) {
		struct name_text word = plain_word(name->parts[i].word);

		if (i && i + 1 < name->count && name_is_inline_namespace(word))
			continue;
		if (key->size)
			key_add(key, name_of("::", 2));
		key_add(key, word);
	}
}

// A type of Rust within another, as in <<alloc::vec::Vec<T>>::retain::{closure#0} as core::ops::function::FnOnce>.
enum { SELF_DEPTH_MAX = 4 };

// What implements for a basic type is of the language's own libraries: nobody else may.
static struct name_text module_of_basic_type(struct name_text type)
{
	const char *module = type.at[0] == '[' ? "alloc::slice" : name_is(type, "str") ? "alloc::str" : "core";

	return name_of(module, strlen(module));
}

static bool key_add_type(struct pattern_key *key, struct name_text type, int depth);

// The type or trait of the first part "<T as Trait>"; returns how many parts that were.
static size_t key_add_self(struct pattern_key *key, struct pattern_key *trait_ret, const struct qualified_name *name,
			   int depth)
{
	struct name_text type, trait;

	if (!name_self(&name->parts[0], &type, &trait))
		return 0;
	if (key_add_type(key, type, depth)) {
		if (trait_ret)
			key_add_type(trait_ret, trait, depth);
		return 1;
	}
	if (key_add_type(key, trait, depth))
		return 1;
	if (trait.size || name->count < 2)
		return 0;
	key_add(key, module_of_basic_type(type));
	return 1;
}

// False when it is no path of at least two parts: a basic type, a type parameter. Its depth is bounded.
static bool key_add_type(struct pattern_key *key, struct name_text type, int depth)
{
	struct qualified_name name;
	size_t first;

	if (!type.size || depth == SELF_DEPTH_MAX || !name_parse(type, &name) || name.count < 2)
		return false;
	first = key_add_self(key, NULL, &name, depth + 1);
	key_add_parts(key, &name, first);
	return true;
}

static void key_finish(struct pattern_key *key, const struct qualified_name *name)
{
	struct name_text word = plain_word(name->parts[name->count - 1].word);
	size_t size = word.size < sizeof(key->last_part) ? word.size : 0;

	memcpy(key->last_part, word.at, name->count > 1 ? size : 0);
	key->last_part[name->count > 1 ? size : 0] = 0;
}

// *trait_ret: a trait that decides as well, "" = none.
static void make_key(struct pattern_key *key, struct pattern_key *trait_ret, const struct frame_text *frame,
		     const struct qualified_name *name)
{
	*key = *trait_ret = (struct pattern_key){ .size = 0 };
	if (!name) {
		key_add(key, name_of(frame->function, strlen(frame->function)));
		return;
	}
	key_add_parts(key, name, key_add_self(key, trait_ret, name, 0));
	key_finish(key, name);
}

// The file's name up to ".so".
static struct name_text module_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".so");

	return name_of(name, end ? (size_t)(end - name) : strlen(name));
}

static const struct pattern_entry *find_function(const struct frame_rules *rules, const struct frame_text *frame,
						 const struct qualified_name *name)
{
	struct name_text module = module_name(frame->module);
	struct pattern_key key, trait;
	struct pattern_subject subject = { .module = module.at, .module_size = module.size };
	const struct pattern_entry *found;

	make_key(&key, &trait, frame, name);
	subject.text = key.text;
	subject.last_part = key.last_part;
	subject.may_be_rust = name && !name->parts[name->count - 1].has_parameters;
	found = pattern_index_find(&rules->functions, &subject);
	if (!found || !trait.size)
		return found;
	// <alloc::vec::Vec<T> as app::Summary>::total is the code of who wrote the trait.
	key_add(&trait, name_of("::f", 3));
	subject.text = trait.text;
	return pattern_index_find(&rules->functions, &subject) ? found : NULL;
}

// Whether the template's keys have values: std::_Hashtable<K, std::pair<…>, …>, libc++'s __tree<__value_type<…>, …>.
static bool has_pairs(const struct qualified_name *name)
{
	for (size_t i = 0; i < name->count; i++) {
		struct name_text arguments = name->parts[i].arguments, item;

		for (int number = 0; number < 2 && name_next_item(&arguments, &item); number++) {
			item = name_begins(item, "std::__1::") ? name_after(item, strlen("std::__1::")) : item;
			if (name_begins(item, "std::pair<") || name_begins(item, "__hash_value_type<") ||
			    name_begins(item, "__value_type<"))
				return true;
		}
	}
	return false;
}

static struct frame_judgement judgement_of(const struct pattern_entry *entry, const struct qualified_name *name)
{
	const struct frame_pattern *row = entry->row;
	bool is_without = row->via_without && name && !has_pairs(name);

	return (struct frame_judgement){ row->class, entry->why, is_without ? row->via_without : row->via, row->role };
}

static const struct frame_pattern *find_in_path(const struct frame_pattern *rows, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(path, rows[i].text))
			return &rows[i];
	}
	return NULL;
}

enum { PLAIN_PATH_MAX = 1024 };

// Takes the last part off [path, path + size); returns what is left.
static size_t without_last_part(const char *path, size_t size)
{
	while (size > 0 && path[size - 1] != '/')
		size--;
	return size ? size - 1 : 0;
}

// The path without "." and ".." in it: clang writes /usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12.
// ".." stays where it leads up from where a relative path begins. A path that is too long stays as it is.
static const char *plain_path(const char *path, char plain[PLAIN_PATH_MAX])
{
	size_t used = 0, fixed = 0, size; // what is fixed is not taken back

	if (!strstr(path, "/../") && !strstr(path, "/./"))
		return path;
	for (const char *part = path; *part; part += size + (part[size] == '/')) {
		bool is_up;

		size = strcspn(part, "/");
		is_up = size == 2 && part[0] == '.' && part[1] == '.';
		if (size == 0 || (size == 1 && part[0] == '.') || (is_up && used == 0 && path[0] == '/'))
			continue;
		if (is_up && used > fixed) {
			used = without_last_part(plain, used);
			continue;
		}
		if (size + 2 > PLAIN_PATH_MAX - used)
			return path;
		if (used || path[0] == '/')
			plain[used++] = '/';
		memcpy(plain + used, part, size);
		used += size;
		fixed = is_up ? used : fixed;
	}
	plain[used] = 0;
	return plain;
}

// In memory that no file is mapped to.
static bool is_made_code(const char *module) { return !*module || strncmp(module, "//anon", strlen("//anon")) == 0; }

// By where the code is from.
static struct frame_judgement judge_place(const struct frame_rules *rules, const struct frame_text *frame)
{
	struct name_text module = module_name(frame->module);
	char text[128], plain[PLAIN_PATH_MAX];
	struct pattern_subject subject = { text, "", module.at, module.size, false };
	const struct frame_pattern *row =
		find_in_path(file_patterns, file_pattern_count, plain_path(frame->file, plain));
	const struct pattern_entry *entry;
	bool is_shared = module.at[module.size] != 0; // it has ".so" behind its name

	if (row)
		return (struct frame_judgement){ .class = row->class, .why = "source file" };
	module.size = module.size < sizeof(text) ? module.size : sizeof(text) - 1;
	memcpy(text, module.at, module.size);
	text[module.size] = 0;
	entry = pattern_index_find(&rules->modules, &subject);
	if (entry)
		return judgement_of(entry, NULL);
	if (is_shared)
		row = find_in_path(folder_patterns, folder_pattern_count, frame->module);
	if (row)
		return (struct frame_judgement){ .class = row->class, .why = "folder of the module" };
	if (frame->function[0])
		return (struct frame_judgement){ .class = FRAME_OWN, .why = "no rule knows it" };
	if (is_made_code(frame->module))
		return (struct frame_judgement){ FRAME_UNKNOWN, "no name", "code made at run time", ROLE_MADE_CODE };
	return (struct frame_judgement){ .class = FRAME_UNKNOWN, .why = "no name" };
}

const char frame_why_structure[] = "its code only allocates for its caller";

struct frame_judgement frame_rules_judge(const struct frame_rules *rules, const struct frame_text *frame)
{
	struct qualified_name parsed;
	const struct qualified_name *name =
		name_parse(name_of(frame->function, strlen(frame->function)), &parsed) ? &parsed : NULL;
	const struct user_rule *rule = NULL;
	const struct pattern_entry *entry;
	bool by_name = false;

	if (rules->user_count)
		rule = user_rule_of(rules, frame, name, &by_name);
	if (rule && (by_name || rule->kind == FRAME_RULE_LIBRARY))
		return (struct frame_judgement){ .class = rule->kind == FRAME_RULE_OWN ? FRAME_OWN : FRAME_LIBRARY,
						 .why = rule->why };
	if (frame->is_allocator)
		return (struct frame_judgement){ .class = FRAME_ALLOCATOR, .why = "symbol of an allocator" };
	entry = frame->function[0] ? find_function(rules, frame, name) : NULL;
	if (entry)
		return judgement_of(entry, name); // a container's code in a module that is the user's is a container's
	if (frame->is_wrapper)
		return (struct frame_judgement){ .class = FRAME_WRAPPER, .why = frame_why_structure };
	return rule ? (struct frame_judgement){ .class = FRAME_OWN, .why = rule->why } : judge_place(rules, frame);
}

const struct frame_pattern *frame_rules_pattern(const struct frame_rules *rules, const char *function)
{
	const struct frame_text frame = { .function = function };
	struct pattern_subject subject = { .module = "", .may_be_rust = true };
	struct pattern_key key, trait;
	struct qualified_name parsed;
	const struct pattern_entry *entry;

	make_key(&key, &trait, &frame, name_parse(name_of(function, strlen(function)), &parsed) ? &parsed : NULL);
	subject.text = key.text;
	subject.last_part = key.last_part;
	entry = pattern_index_find(&rules->functions, &subject);
	return entry ? entry->row : NULL;
}
