// SPDX-License-Identifier: Apache-2.0
// Compares a stack of the payload with one of libunwind, and says what a difference is.
#ifndef HEAPSNAP_TEST_DIFFERENCE_H
#define HEAPSNAP_TEST_DIFFERENCE_H

#include "attach/elf/modules.h"
#include "inject/abi/region.h"
#include "reference.h"

// From harmless to wrong: of several, the last counts.
#define VERDICTS(X)                                                                                                    \
	X(equal, "the same frames")                                                                                    \
	X(depth_limit, "the same frames, as far as the payload's depth limit")                                         \
	X(payload_cut, "the same frames up to where the payload stopped, for a reason that holds")                     \
	X(libunwind_failed,                                                                                            \
	  "libunwind gave up; the payload went on to a frame that unwind information calls outermost")                 \
	X(libunwind_went_on, "libunwind went on behind the frame that unwind information calls outermost")             \
	X(mismatch, "not explained")

enum verdict {
#define X(name, text) VERDICT_OF_##name,
	VERDICTS(X)
#undef X
		VERDICT_OF_COUNT
};
extern const char *const verdict_texts[VERDICT_OF_COUNT];

// Read back from the stack table.
struct payload_stack {
	uint64_t frames[HS_DEPTH_MAX]; // frame words, innermost first
	size_t count;
	uint32_t cut; // enum cut_reason + 1; 0 = complete
};

// false = no chain that a stack may have.
bool payload_stack_read(uint32_t node, struct payload_stack *ret);

// Whether the unwind information of the frame says that it has no caller.
bool frame_is_outermost(uint64_t pc, bool exact);
// NULL = none.
const struct module *module_at(uint64_t address, const struct module_list *modules);

// `reference` are libunwind's frames from the same one on.
enum verdict difference_find(const struct payload_stack *payload, const struct reference_frame *reference, size_t count,
			     int end, const struct module_list *modules);
// Says where they part and what was there.
void difference_print(const struct payload_stack *payload, const struct reference_frame *reference, size_t count,
		      int end, const struct module_list *modules);

// One line: `who`, address, module, function.
void place_print(const char *who, uint64_t pc, bool exact, const struct module_list *modules);

#endif
