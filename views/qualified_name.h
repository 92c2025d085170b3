// SPDX-License-Identifier: Apache-2.0
// The grammar of demangled names, as far as it is needed to know whose function it is and to write it shorter. Pure; no
// memory of its own; linear in the name's length; no recursion.
//
//   std::vector<int>& shop::Cache<int>::find(int)::{lambda()#1}::operator()() const [clone .cold]
//   return type       part 0 part 1    part 2      part 3        part 4       | suffix
//                     shop   Cache     find        {lambda()#1}  operator()   |
//                            <int>     (int)                     ()
//                     \_________________ path _____________________________/
//
// C++ as libiberty and LLVM print it, Rust of both ways of mangling, and plain names of C. In Rust the first part may
// be "<T as Trait>", whose type and trait name_self finds. What is none of these (Go's "main.(*Cache).Put",
// Objective-C, cut or made-up text) is not understood.
#ifndef HEAPSNAP_VIEWS_QUALIFIED_NAME_H
#define HEAPSNAP_VIEWS_QUALIFIED_NAME_H

#include <stdbool.h>
#include <stddef.h>

// Borrowed text without a 0 byte at its end; size 0 = there is none.
struct name_text {
	const char *at;
	size_t size;
};

struct name_part {
	struct name_text word;       // "vector", "operator new[]", "(anonymous namespace)", "{lambda(int)#1}"
	struct name_text arguments;  // of a template, without < and >
	struct name_text parameters; // without ( and )
	bool has_arguments, has_parameters;
	bool is_turbofish; // Rust's f::<T>
};

// A name of more parts, or with brackets in one another more deeply, is not understood.
enum { NAME_PARTS_MAX = 48, NAME_BRACKETS_MAX = 8192 };

struct qualified_name {
	struct name_text return_type; // and what else is in front of the path: "non-virtual thunk to"
	struct name_text path;        // without the last part's parameters
	struct name_text suffix;      // " [clone .cold]"
	struct name_part parts[NAME_PARTS_MAX];
	size_t count; // at least one
};

static inline struct name_text name_of(const char *text, size_t size) { return (struct name_text){ text, size }; }

bool name_is(struct name_text text, const char *word);
bool name_begins(struct name_text text, const char *beginning);
// Without its first `size` bytes. pre: it has as many
static inline struct name_text name_after(struct name_text text, size_t size)
{
	return (struct name_text){ text.at + size, text.size - size };
}
struct name_text name_trim(struct name_text text); // without spaces at its ends

// What may be within a word: letters, digits, _ and what languages and linkers add ($ . @ ~ and bytes above 127).
bool name_is_word_byte(char byte);

// How many bytes the bracket at the beginning of the text has with all that is in it; 0 = it is not closed.
// pre: text begins with one of < ( [ {
size_t name_bracket(struct name_text text);

// How many bytes can be stepped over as one from the beginning of the text: a bracket with all that is in it, an
// operator with its sign, a word, or one byte; 0 = a bracket is not closed. pre: text.size > 0
size_t name_step(struct name_text text);

// False when it is not understood; then *ret is undefined. A hash at the end of a Rust name is left out of the parts.
bool name_parse(struct name_text text, struct qualified_name *ret);

// Takes the next of the items that commas separate from *list. False when there is none left, or a bracket is open.
bool name_next_item(struct name_text *list, struct name_text *item_ret);

// Of a Rust part "<T as Trait>" or "<T>": the type without & and the like, and the trait, size 0 when there is none.
bool name_self(const struct name_part *part, struct name_text *type_ret, struct name_text *trait_ret);

// Namespaces that exist for the sake of the ABI, and that nobody writes: std::__cxx11, std::__1, absl::lts_20230125.
bool name_is_inline_namespace(struct name_text word);

// Without what gcc and clang add to names of C functions that they have copied or split: "f.constprop.0.cold".
struct name_text name_without_clone(struct name_text word);

bool name_is_lambda(struct name_text word);

#endif
