// SPDX-License-Identifier: Apache-2.0
// What was found about a process before anything is touched: a list of diagnostics, each with its reason and verdict.
// `check` prints all of it; `attach` refuses with the first refusal.
#ifndef HEAPSNAP_ATTACH_PROCESS_DIAGNOSTICS_H
#define HEAPSNAP_ATTACH_PROCESS_DIAGNOSTICS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// X(name, what is asked), in the order in which it is asked. The names are in the output of `check --json`: they may
// grow, not change.
#define HS_DIAGNOSTIC_CATEGORIES(X)                                                                                    \
	X(process, "is it a process with a memory of its own")                                                         \
	X(work, "is another heapsnap at work on it")                                                                   \
	X(tracer, "does another program trace it")                                                                     \
	X(permission, "may heapsnap trace it")                                                                         \
	X(program, "is it a 64-bit program that the processor itself runs")                                            \
	X(seccomp, "do rules for system calls stand in the way")                                                       \
	X(shadow_stack, "do shadow stacks stand in the way")                                                           \
	X(threads, "do its threads run or sleep so that they can be stopped")                                          \
	X(memory, "is there room for the region")                                                                      \
	X(attached, "is heapsnap, or what remains of it, in the process already")                                      \
	X(modules, "can its program and libraries be read")                                                            \
	X(allocator, "is there an allocator, and can it be hooked")                                                    \
	X(unseen, "are the blocks of each function that makes some seen")                                              \
	X(loader, "will libraries that are loaded later be seen")                                                      \
	X(memory_sharers, "do other processes run in its memory")                                                      \
	X(copy, "can a dump copy while it runs")

enum diagnostic_category {
#define X(name, text) CATEGORY_##name,
	HS_DIAGNOSTIC_CATEGORIES(X)
#undef X
		CATEGORY_COUNT
};

enum diagnostic_verdict { DIAGNOSTIC_OK, DIAGNOSTIC_WARNING, DIAGNOSTIC_REFUSAL };

struct diagnostic {
	enum diagnostic_category category;
	enum diagnostic_verdict verdict;
	enum hs_error_code code; // of a refusal: what attach returns
	int error_number;
	char message[1024]; // one line, cut to fit
	char remedy[256];   // what would help; "" = nothing, or `message` says it
};

#define DIAGNOSTICS_MAX 48u

struct diagnostics {
	// in the order of asking; what does not fit is dropped, but never the only refusal
	struct diagnostic items[DIAGNOSTICS_MAX];
	size_t count;
};

const char *diagnostic_category_name(enum diagnostic_category category);

void diagnostics_add(struct diagnostics *diagnostics, enum diagnostic_category category,
		     enum diagnostic_verdict verdict, const char *remedy, const char *format, ...) HS_PRINTF(5, 6);

// Makes a refusal of an error; takes ownership of it. NULL adds nothing.
void diagnostics_add_error(struct diagnostics *diagnostics, enum diagnostic_category category, struct hs_error *error);

bool diagnostics_refuse(const struct diagnostics *diagnostics);

// The worst verdict on a reason; DIAGNOSTIC_OK when nothing was found.
enum diagnostic_verdict diagnostics_verdict(const struct diagnostics *diagnostics, enum diagnostic_category category);

// The first refusal as an error: "message: remedy". NULL = there is none.
struct hs_error *diagnostics_error(const struct diagnostics *diagnostics) HS_MUST_CHECK;

#endif
