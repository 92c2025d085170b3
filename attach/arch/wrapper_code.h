// SPDX-License-Identifier: Apache-2.0
// Whether a function does nothing but allocate for its caller, as xmalloc and zmalloc do: seen from its code. Pure; the
// code is hostile.
#ifndef HEAPSNAP_ATTACH_ARCH_WRAPPER_CODE_H
#define HEAPSNAP_ATTACH_ARCH_WRAPPER_CODE_H

#include "attach/arch/code_step.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WRAPPER_BYTES_MAX = 512, // of a function that is looked at
	WRAPPER_STEPS_MAX = 128, // instructions
};

// What a called function is, as far as a wrapper of allocations may call it.
enum callee_kind {
	CALLEE_OTHER,
	CALLEE_ALLOCATES, // returns a block of the size that its arguments say, or 0
	CALLEE_HARMLESS,  // frees, says where errno is, …: part of an allocation
	CALLEE_CLEARS,    // so too where it sets bytes from the block's beginning on to 0
	CALLEE_ENDS,      // never returns
};

struct callee {
	enum callee_kind kind;
	uint8_t size_arguments; // CALLEE_ALLOCATES: bit i = argument i is a factor of the size
};

typedef struct callee find_callee(const struct code_branch *branch, void *context);

struct wrapper_verdict {
	bool is_wrapper;
	bool never_returns;
	uint8_t size_arguments; // of a wrapper: bit i = its argument i is a factor of the size
};

// `code`: the function's, `size` bytes, whose first runs at `address`; more than WRAPPER_BYTES_MAX: where it ends is
// not known, or too far away. `find` is asked for what it calls and for what it jumps to outside of it.
//
// The size that a wrapper asks for is made of its arguments alone, and is not a multiple of one by a constant. It
// returns the block, or a place in it behind all that it has written there itself. What it calls beside that is
// harmless, never returns, or is called where the allocation has failed or none comes at all. It keeps the block
// nowhere, writes to none of its arguments, and what it does can be followed to its end. A function that makes
// something of a size of its own, or fills in what it has made, is none: it is the code that wanted the memory.
// HS_ERROR_NO_MEMORY.
struct hs_error *wrapper_code_judge(const uint8_t *code, size_t size, uint64_t address, find_callee *find,
				    void *context, struct wrapper_verdict *ret) HS_MUST_CHECK;

// The call that ends where [code, code + size) does, which is `address`; false = none that says whom it calls.
bool wrapper_code_call_before(const uint8_t *code, size_t size, uint64_t address, struct code_branch *ret);

// Where a stub of the linkage table that begins with these bytes goes: the slot that holds the target. 0 = it is none.
uint64_t wrapper_code_stub_slot(const uint8_t *code, size_t size, uint64_t address);

#endif
