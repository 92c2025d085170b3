// SPDX-License-Identifier: Apache-2.0
#include "views/short_name.h"

#include "base/cleanup.h"
#include "views/qualified_name.h"

#include <string.h>

// So many template argument lists in one another are written; deeper ones are "<…>".
enum { DEPTH_MAX = 2 };

static const char below_depth[] = "<…>";

struct writer {
	char *text;
	size_t size, room;
	const char *alias; // the template that was written last has this name instead; NULL = its own
	bool is_failed;    // the name is not understood
};

static void put(struct writer *writer, struct name_text text)
{
	if (text.size > writer->room - writer->size) {
		writer->is_failed = true; // short_name has made room for the worst case
		return;
	}
	memcpy(writer->text + writer->size, text.at, text.size);
	writer->size += text.size;
}

static void put_string(struct writer *writer, const char *text) { put(writer, name_of(text, strlen(text))); }

// What has been written since a place.
static struct name_text since(const struct writer *writer, size_t from)
{
	return name_of(writer->text + from, writer->size - from);
}

// Of a template: how many arguments a person writes, and whether all that follow go, or only the usual ones.
struct template_rule {
	const char *name;
	size_t needed;
	bool is_internal; // of a library's inside: nobody chooses the other arguments
};

static const struct template_rule template_rules[] = {
	{ "std::vector", 1, false },
	{ "std::list", 1, false },
	{ "std::forward_list", 1, false },
	{ "std::deque", 1, false },
	{ "std::queue", 1, false },
	{ "std::stack", 1, false },
	{ "std::priority_queue", 1, false },
	{ "std::set", 1, false },
	{ "std::multiset", 1, false },
	{ "std::unordered_set", 1, false },
	{ "std::unordered_multiset", 1, false },
	{ "std::map", 2, false },
	{ "std::multimap", 2, false },
	{ "std::unordered_map", 2, false },
	{ "std::unordered_multimap", 2, false },
	{ "std::unique_ptr", 1, false },
	{ "std::basic_string", 1, false },
	{ "std::basic_string_view", 1, false },
	{ "std::match_results", 1, false },
	{ "std::istream_iterator", 1, false },
	{ "std::ostream_iterator", 1, false },
	{ "std::istreambuf_iterator", 1, false },
	{ "std::ostreambuf_iterator", 1, false },
	{ "boost::container::vector", 1, false },
	{ "std::_Vector_base", 1, true },
	{ "std::_Deque_base", 1, true },
	{ "std::_List_base", 1, true },
	{ "std::_Fwd_list_base", 1, true },
	{ "std::_Hashtable", 2, true },
	{ "std::__detail::_Map_base", 2, true },
	{ "std::__detail::_Insert", 2, true },
	{ "std::__detail::_Insert_base", 2, true },
	{ "std::_Rb_tree", 2, true },
	{ "std::__shared_ptr", 1, true },
	{ "std::__shared_count", 0, true },
	{ "std::_Sp_counted_ptr", 1, true },
	{ "std::_Sp_counted_ptr_inplace", 1, true },
	{ "std::_Sp_counted_deleter", 1, true },
	{ "std::__uniq_ptr_impl", 1, true },
	{ "std::__hash_table", 1, true },
	{ "std::__tree", 1, true },
	{ "std::__split_buffer", 1, true },
	{ "absl::flat_hash_map", 2, false },
	{ "absl::flat_hash_set", 1, false },
	{ "absl::node_hash_map", 2, false },
	{ "absl::container_internal::raw_hash_set", 1, true },
	{ "alloc::vec::Vec", 1, false },
	{ "alloc::boxed::Box", 1, false },
	{ "alloc::rc::Rc", 1, false },
	{ "alloc::sync::Arc", 1, false },
	{ "alloc::raw_vec::RawVec", 1, false },
	{ "alloc::collections::btree::map::BTreeMap", 2, false },
	{ "alloc::collections::vec_deque::VecDeque", 1, false },
	{ "std::collections::hash::map::HashMap", 2, false },
	{ "std::collections::hash::set::HashSet", 1, false },
	{ "hashbrown::map::HashMap", 2, false },
	{ "hashbrown::raw::RawTable", 1, false },
};

// What those arguments are when nobody has chosen them: in std, and elsewhere.
static const char *const std_defaults[] = {
	"allocator<", "char_traits<", "less<", "hash<", "equal_to<", "default_delete<",
	"deque<",  // of stack and queue
	"vector<", // of priority_queue
};

static const char *const other_defaults[] = {
	"absl::container_internal::", "absl::hash_internal::",          "boost::container::new_allocator<",
	"alloc::alloc::Global",       "std::hash::random::RandomState", "std::collections::hash::map::RandomState",
};

// Templates of characters that have names of their own.
static const char *const character_types[][2] = {
	{ "char", "" }, { "wchar_t", "w" }, { "char8_t", "u8" }, { "char16_t", "u16" }, { "char32_t", "u32" },
};

static const char *const character_templates[][6] = {
	// char, wchar_t, char8_t, char16_t, char32_t
	{ "std::basic_string", "std::string", "std::wstring", "std::u8string", "std::u16string", "std::u32string" },
	{ "std::basic_string_view", "std::string_view", "std::wstring_view", "std::u8string_view",
	  "std::u16string_view", "std::u32string_view" },
	{ "std::basic_ios", "std::ios", "std::wios" },
	{ "std::basic_istream", "std::istream", "std::wistream" },
	{ "std::basic_ostream", "std::ostream", "std::wostream" },
	{ "std::basic_iostream", "std::iostream", "std::wiostream" },
	{ "std::basic_streambuf", "std::streambuf", "std::wstreambuf" },
	{ "std::basic_stringbuf", "std::stringbuf", "std::wstringbuf" },
	{ "std::basic_istringstream", "std::istringstream", "std::wistringstream" },
	{ "std::basic_ostringstream", "std::ostringstream", "std::wostringstream" },
	{ "std::basic_stringstream", "std::stringstream", "std::wstringstream" },
	{ "std::basic_filebuf", "std::filebuf", "std::wfilebuf" },
	{ "std::basic_ifstream", "std::ifstream", "std::wifstream" },
	{ "std::basic_ofstream", "std::ofstream", "std::wofstream" },
	{ "std::basic_fstream", "std::fstream", "std::wfstream" },
	{ "std::basic_regex", "std::regex", "std::wregex" },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct template_rule *find_template(struct name_text path)
{
	for (size_t i = 0; i < COUNT_OF(template_rules); i++) {
		if (name_is(path, template_rules[i].name))
			return &template_rules[i];
	}
	return NULL;
}

static bool begins_with_one_of(struct name_text text, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (name_begins(text, beginnings[i]))
			return true;
	}
	return false;
}

static bool is_default(struct name_text argument)
{
	if (begins_with_one_of(argument, other_defaults, COUNT_OF(other_defaults)))
		return true;
	if (!name_begins(argument, "std::"))
		return false;
	argument = name_after(argument, strlen("std::"));

	size_t word = argument.size ? name_step(argument) : 0;

	if (word && name_is_inline_namespace(name_of(argument.at, word)) &&
	    name_begins(name_after(argument, word), "::"))
		argument = name_after(argument, word + 2);
	return begins_with_one_of(argument, std_defaults, COUNT_OF(std_defaults));
}

// How many arguments are written. Fails the writer when a bracket is open.
static size_t count_written(struct writer *writer, struct name_text path, struct name_text arguments)
{
	const struct template_rule *rule = find_template(path);
	struct name_text argument;
	size_t written = 0;

	for (size_t i = 0; name_next_item(&arguments, &argument); i++) {
		if (!rule || i < rule->needed || (!rule->is_internal && !is_default(argument)))
			written = i + 1;
	}
	writer->is_failed = writer->is_failed || arguments.size;
	return written;
}

// "std::string" for std::basic_string<char, …>; NULL = no such name, or an argument that somebody chose.
static const char *find_alias(struct name_text path, struct name_text arguments)
{
	struct name_text character, other;
	size_t row = 0, column = 0;

	if (!name_begins(path, "std::basic_"))
		return NULL;
	while (row < COUNT_OF(character_templates) && !name_is(path, character_templates[row][0]))
		row++;
	if (row == COUNT_OF(character_templates) || !name_next_item(&arguments, &character))
		return NULL;
	while (column < COUNT_OF(character_types) && !name_is(character, character_types[column][0]))
		column++;
	if (column == COUNT_OF(character_types))
		return NULL;
	while (name_next_item(&arguments, &other)) {
		if (!is_default(other) && !name_begins(other, "std::regex_traits<"))
			return NULL;
	}
	return arguments.size ? NULL : character_templates[row][column + 1];
}

static void write_type(struct writer *writer, struct name_text text, int depth);

// The arguments of the template whose path was written last, from `path_start` on.
static void write_arguments(struct writer *writer, size_t path_start, struct name_text arguments, int depth)
{
	struct name_text path = since(writer, path_start), argument;
	const char *alias = find_alias(path, arguments);
	size_t written;

	writer->alias = alias;
	if (alias) {
		writer->size = path_start;
		put_string(writer, alias);
		return;
	}
	if (depth >= DEPTH_MAX) {
		put_string(writer, arguments.size ? below_depth : "<>");
		return;
	}
	written = count_written(writer, path, arguments);
	writer->alias = NULL;
	if (!written && arguments.size)
		return;
	put_string(writer, "<");
	for (size_t i = 0; i < written && name_next_item(&arguments, &argument); i++) {
		if (i)
			put_string(writer, ", ");
		write_type(writer, argument, depth + 1);
	}
	put_string(writer, ">");
	writer->alias = NULL; // of an argument, perhaps
}

// "{lambda(int)#1}" as "{lambda#1}", "{{closure}}" and "{closure#0}" as "{closure}".
static void write_braces(struct writer *writer, struct name_text word)
{
	struct name_text number = word;

	if (name_begins(word, "{{closure}}") || name_begins(word, "{closure")) {
		put_string(writer, "{closure}");
	} else if (name_is_lambda(word)) {
		while (number.size && number.at[0] != '#')
			number = name_after(number, 1);
		put_string(writer, "{lambda");
		put(writer, number.size ? number : name_of("}", 1));
	} else {
		put(writer, word);
	}
}

struct type_scan {
	struct name_text text;
	size_t at;
	size_t path_start; // where the path began that is being written
	bool is_path;
	size_t looked_until; // parameters up to here were looked at: not again, or time would be quadratic
	int depth;
};

static void plain(struct writer *writer, struct type_scan *scan, size_t size)
{
	put(writer, name_of(scan->text.at + scan->at, size));
	scan->at += size;
	scan->is_path = false;
}

// A word of a path, or the :: between two.
static void word_of_path(struct writer *writer, struct type_scan *scan, struct name_text rest)
{
	size_t size = rest.at[0] == ':' ? 2 : name_step(rest);
	struct name_text word = name_of(rest.at, size);

	if (scan->is_path && name_is_inline_namespace(word) && name_begins(name_after(rest, size), "::")) {
		scan->at += size + 2;
		return;
	}
	if (!scan->is_path)
		scan->path_start = writer->size;
	scan->is_path = true;
	put(writer, word);
	scan->at += size;
}

// Template arguments, or Rust's "<T as Trait>".
static void angle_bracket(struct writer *writer, struct type_scan *scan, struct name_text rest)
{
	size_t size = name_bracket(rest);

	if (!size) {
		writer->is_failed = true;
		return;
	}

	struct name_text inner = name_of(rest.at + 1, size - 2);

	scan->at += size;
	if (scan->is_path) {
		write_arguments(writer, scan->path_start, inner, scan->depth);
	} else if (scan->depth >= DEPTH_MAX) {
		put_string(writer, inner.size ? below_depth : "<>");
	} else {
		put_string(writer, "<");
		write_type(writer, inner, scan->depth + 1);
		put_string(writer, ">");
	}
}

// Parameters of a function that the next word is local to are left out. False: these are none.
static bool skip_parameters(struct type_scan *scan, struct name_text rest)
{
	size_t size = scan->is_path && scan->at >= scan->looked_until ? name_bracket(rest) : 0;

	if (!size)
		return false;
	scan->looked_until = scan->at + size;
	if (name_begins(name_after(rest, size), " const::"))
		size += strlen(" const");
	if (!name_begins(name_after(rest, size), "::"))
		return false;
	scan->at += size;
	return true;
}

static void type_step(struct writer *writer, struct type_scan *scan)
{
	struct name_text rest = name_after(scan->text, scan->at);
	size_t tag = name_begins(rest, "[abi:") || rest.at[0] == '{' ? name_bracket(rest) : 0;

	if (tag && rest.at[0] == '{') {
		write_braces(writer, name_of(rest.at, tag));
		scan->at += tag;
	} else if (tag) {
		scan->at += tag;
	} else if (name_is_word_byte(rest.at[0]) || name_begins(rest, "::")) {
		word_of_path(writer, scan, rest);
	} else if (rest.at[0] == '<' && !(scan->at && rest.at[-1] == ')')) {
		angle_bracket(writer, scan, rest);
	} else if (name_begins(rest, "->")) {
		plain(writer, scan, 2);
	} else if (rest.at[0] != '(' || !skip_parameters(scan, rest)) {
		plain(writer, scan, 1);
	}
}

// Any type or constant. The recursion is as deep as the arguments that are written: DEPTH_MAX + 1.
static void write_type(struct writer *writer, struct name_text text, int depth)
{
	struct type_scan scan = { .text = text, .depth = depth };

	while (scan.at < text.size && !writer->is_failed)
		type_step(writer, &scan);
}

static void write_word(struct writer *writer, const struct name_part *part)
{
	struct name_text word = name_without_clone(part->word);

	if (word.at[0] == '{')
		write_braces(writer, word);
	else if (word.at[0] == '<' || (name_begins(word, "operator ") && !name_begins(word, "operator new") &&
				       !name_begins(word, "operator delete")))
		write_type(writer, word, 0);
	else
		put(writer, word);
}

// A constructor or destructor is called as its class is: std::string::~string.
static void write_constructor(struct writer *writer, const char *alias, bool is_destructor)
{
	put_string(writer, is_destructor ? "~" : "");
	put_string(writer, alias + strlen("std::"));
}

// Whether a part only says that a lambda is called, which its name says already.
static bool is_call_of_lambda(const struct qualified_name *name, size_t i)
{
	return i && i + 1 == name->count && name_is_lambda(name->parts[i - 1].word) &&
	       (name_is(name->parts[i].word, "operator()") || name_is(name->parts[i].word, "_FUN") ||
		name_is(name->parts[i].word, "__invoke"));
}

// Namespaces that nobody writes.
static bool is_left_out(const struct qualified_name *name, size_t i)
{
	if (i + 1 == name->count)
		return false;
	return name_is(name->parts[i].word, "(anonymous namespace)") ||
	       (i && name_is_inline_namespace(name->parts[i].word));
}

static void write_part(struct writer *writer, const struct qualified_name *name, size_t i)
{
	const struct name_part *part = &name->parts[i], *before = i ? part - 1 : NULL;
	const char *alias = writer->alias;
	bool is_destructor = name_begins(part->word, "~");
	struct name_text class_name = is_destructor ? name_after(part->word, 1) : part->word;

	writer->alias = NULL;
	if (before && alias && class_name.size == before->word.size &&
	    memcmp(class_name.at, before->word.at, class_name.size) == 0)
		write_constructor(writer, alias, is_destructor);
	else
		write_word(writer, part);
	if (part->has_arguments && part->is_turbofish)
		put_string(writer, "::");
	if (part->has_arguments)
		write_arguments(writer, 0, part->arguments, 0);
}

struct hs_error *short_name(const char *name, char **ret)
{
	// What debug information calls a lambda that has no symbol.
	const char *shown = strcmp(name, "operator()") == 0 ? "{lambda}" : name;
	struct qualified_name parsed;
	size_t size = strlen(shown);
	// "," becomes ", " and "<x>" "<…>": twice as much at most. The name itself fits, too.
	struct writer writer = { .room = 2 * size + 16 };

	writer.text = malloc(writer.room + 1);
	if (!writer.text)
		return &hs_error_no_memory;
	writer.is_failed = !name_parse(name_of(shown, size), &parsed);
	for (size_t i = 0; !writer.is_failed && i < parsed.count; i++) {
		if (is_call_of_lambda(&parsed, i) || is_left_out(&parsed, i))
			continue;
		if (writer.size)
			put_string(&writer, "::");
		write_part(&writer, &parsed, i);
	}
	if (writer.is_failed || !writer.size) {
		writer.size = 0;
		put(&writer, name_of(shown, size));
	}
	writer.text[writer.size] = 0;
	*ret = writer.text;
	return NULL;
}
