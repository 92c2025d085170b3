// SPDX-License-Identifier: Apache-2.0
// What was found about a process before anything is touched: a list of findings, each with its ground and verdict.
// `check` prints all of it; `attach` refuses with the first refusal.
#ifndef HEAPSNAP_ATTACH_PROCESS_FINDINGS_H
#define HEAPSNAP_ATTACH_PROCESS_FINDINGS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// X(name, what is asked), in the order in which it is asked. The names are in the output of `check --json`: they may
// grow, not change.
#define HS_GROUNDS(X)                                                                                                  \
	X(process, "is it a process with a memory of its own")                                                         \
	X(work, "is another heapsnap at work on it")                                                                   \
	X(tracer, "does another program trace it")                                                                     \
	X(permission, "may heapsnap trace it")                                                                         \
	X(program, "is it a 64-bit program that the processor itself runs")                                            \
	X(seccomp, "do rules for system calls stand in the way")                                                       \
	X(shadow_stack, "do shadow stacks stand in the way")                                                           \
	X(threads, "do its threads run or sleep so that they can be stopped")                                          \
	X(memory, "is there room for the region")                                                                      \
	X(attached, "is heapsnap, or a rest of it, in the process already")                                            \
	X(modules, "can its program and libraries be read")                                                            \
	X(allocator, "is there an allocator, and can it be hooked")                                                    \
	X(unseen, "are the blocks of each function that makes some seen")                                              \
	X(loader, "will libraries that are loaded later be seen")                                                      \
	X(memory_sharers, "do other processes run in its memory")                                                      \
	X(copy, "can a dump copy while it runs")

enum ground {
#define X(name, text) GROUND_##name,
	HS_GROUNDS(X)
#undef X
		GROUND_COUNT
};

enum finding_verdict { FINDING_OK, FINDING_WARNING, FINDING_REFUSAL };

struct finding {
	enum ground ground;
	enum finding_verdict verdict;
	enum hs_error_code code; // of a refusal: what attach returns
	int error_number;
	char message[1024]; // one line, cut to fit
	char remedy[256];   // what would help; "" = nothing, or `message` says it
};

#define FINDINGS_MAX 48u

struct findings {
	// in the order of asking; what does not fit is dropped, but never the only refusal
	struct finding items[FINDINGS_MAX];
	size_t count;
};

const char *ground_name(enum ground ground);

void findings_add(struct findings *findings, enum ground ground, enum finding_verdict verdict, const char *remedy,
		  const char *format, ...) HS_PRINTF(5, 6);

// Makes a refusal of an error; takes ownership of it. NULL adds nothing.
void findings_add_error(struct findings *findings, enum ground ground, struct hs_error *error);

bool findings_refuse(const struct findings *findings);

// The worst verdict on a ground; FINDING_OK when nothing was found.
enum finding_verdict findings_verdict(const struct findings *findings, enum ground ground);

// The first refusal as an error: "message: remedy". NULL = there is none.
struct hs_error *findings_error(const struct findings *findings) HS_MUST_CHECK;

#endif
