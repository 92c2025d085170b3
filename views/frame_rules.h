// SPDX-License-Identifier: Apache-2.0
// Which frames of a stack are the user's own code, and what the others are. Pure.
//
// Nothing else in the program decides what is "own". The built-in rules are data (frame_patterns.c, described in
// docs/own-code.md); the user adds to them, and the user's rules come first.
#ifndef HEAPSNAP_VIEWS_FRAME_RULES_H
#define HEAPSNAP_VIEWS_FRAME_RULES_H

#include "base/error.h"

#include <stdbool.h>

enum frame_class {
	FRAME_UNKNOWN,   // without a name; not known to be anybody's
	FRAME_OWN,       // the user's code: may be a site
	FRAME_ALLOCATOR, // malloc, operator new, an allocator's own functions
	FRAME_WRAPPER,   // does nothing but allocate for its caller (xmalloc, zmalloc, g_malloc)
	FRAME_CONTAINER, // a container's or string's plumbing
	FRAME_RUNTIME,   // of a language's runtime: interpreter, start of a thread or program
	FRAME_LIBRARY,   // another library's code
	FRAME_CLASS_COUNT
};

// What is known of a frame. Texts are never NULL, "" = unknown; all borrowed.
struct frame_text {
	const char *function;    // demangled, whole
	const char *system_name; // as in the symbol table
	const char *file;        // source file
	const char *module;      // path of the loaded object
	bool is_allocator;       // as in struct profile_location
	bool is_wrapper;         // likewise
};

// Allocates for its caller, or keeps what it is given: never the answer to who has allocated.
static inline bool frame_class_is_plumbing(enum frame_class class)
{
	return class == FRAME_ALLOCATOR || class == FRAME_WRAPPER || class == FRAME_CONTAINER;
}

// What a frame of a runtime does with other code.
enum frame_role {
	ROLE_NONE,
	ROLE_INTERPRETER, // an interpreter's loop, or what calls a function of C from it: runs code without frames
	ROLE_MADE_CODE,   // code made at run time that nothing names
	ROLE_START,       // calls main, or a thread's function
};

// Texts live as long as the rules.
struct frame_judgement {
	enum frame_class class;
	const char *why; // which rule said so, for people: "pattern ^std::…", "module libstdc++", "--own ^app::"
	const char *via; // what a list of skipped frames calls it: "std::string", "unordered_map"; NULL = by its name.
			 // std:: is left out where the word alone cannot be mistaken
	enum frame_role role;
};

enum frame_rule_kind { FRAME_RULE_LIBRARY, FRAME_RULE_OWN };

// "own", "library", "allocator", ...
const char *frame_class_name(enum frame_class class);

struct frame_rules;
struct frame_pattern;

// The built-in rules. *ret is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *frame_rules_create(struct frame_rules **ret) HS_MUST_CHECK;
void frame_rules_destroy(struct frame_rules *rules); // NULL is allowed

// One of the user's: a POSIX extended regular expression that is searched in the function's name, without return type
// and parameters, and in the module's path. Of those that match, the one added last counts. `origin` is for messages
// and `why`: "--own", "rules:3". HS_ERROR_BAD_DATA: no regular expression, or an empty one.
struct hs_error *frame_rules_add(struct frame_rules *rules, enum frame_rule_kind kind, const char *regex,
				 const char *origin) HS_MUST_CHECK;

// Those of a file's text: a rule a line, "own REGEX" or "library REGEX"; empty lines and those that begin with # say
// nothing. `name` is the file's, for messages. HS_ERROR_BAD_DATA names the first line that is wrong; then some rules
// before it are in force.
struct hs_error *frame_rules_add_text(struct frame_rules *rules, const char *text, const char *name) HS_MUST_CHECK;

// Why a frame is a wrapper that no pattern knows.
extern const char frame_why_structure[];

// Never fails: what no rule knows is own where it has a name, else unknown.
struct frame_judgement frame_rules_judge(const struct frame_rules *rules, const struct frame_text *frame);

// The built-in row that fits a function's name alone, wherever it is from, in whatever language, and whatever the
// user's rules say; NULL = none fits. For views/drop_frames.h.
const struct frame_pattern *frame_rules_pattern(const struct frame_rules *rules, const char *function);

#endif
