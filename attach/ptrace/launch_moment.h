// SPDX-License-Identifier: Apache-2.0
// The moment before any code of a program runs (launch.h): the places at which its thread stops there, and the stops on
// its way. For launch_hold.c.
#ifndef HEAPSNAP_ATTACH_PTRACE_LAUNCH_MOMENT_H
#define HEAPSNAP_ATTACH_PTRACE_LAUNCH_MOMENT_H

#include "attach/process/memory.h"
#include "attach/ptrace/hold_place.h"
#include "attach/ptrace/launch.h"
#include "attach/ptrace/stop_wait.h"
#include "base/error.h"
#include "base/process.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

enum holding_place {
	PLACE_ENTRY,  // the entry point, or what stands for it
	PLACE_LOADER, // the loader's function
	HOLDING_PLACES,
};
enum { HOLDING_OWN = 3 }; // the main program, the loader, the vdso

struct holding {
	const struct process *process;
	struct target_memory memory;
	struct hold_place places[HOLDING_PLACES];
	uint64_t r_debug;         // address; 0 = the loader does not say
	uint64_t r_debug_pointer; // address of that address; 0 = so too
	bool has_added;           // the loader has said that it adds libraries
	bool after_constructors;  // at the entry point constructors have run
	bool is_followed;         // launch_held: it stays in stops of the whole process
	bool is_stopped;          // in one of these
	bool has_slipped;         // a signal of the place has come late: it is proved in a freeze that it has begun
	bool has_passed;          // it has begun without coming to a stop, and stands before its end
	// For launch_passed.c:
	uint64_t own_biases[HOLDING_OWN]; // load biases of what the loader lists besides libraries
	uint64_t loader_low, loader_high; // addresses of its code
	uint64_t look_ns;                 // when it is looked at next; CLOCK_MONOTONIC
	uint64_t pause_ns;                // and again after that
};

// From the stop of an exec on its way. On failure nothing is left, as after holding_end.
struct hs_error *holding_begin(const struct process *process, bool is_followed, struct holding *ret) HS_MUST_CHECK;
// Handles a stop. *is_there_ret: the moment has come, and what was written is taken out: it stands in the stop of a
// place, at the instruction that is there again. *missed_ret, with that: as of launch_hold.
// HS_ERROR_REFUSED: has_passed, and why; others as of what is read and written.
struct hs_error *holding_take_stop(struct holding *holding, const struct stop *stop, bool *is_there_ret,
				   enum launch_missed *missed_ret) HS_MUST_CHECK;
// What is no business of the hold's takes its way. A stop of the whole process holds one that is followed.
struct hs_error *holding_pass(struct holding *holding, const struct stop *stop) HS_MUST_CHECK;
// *error, if any, is why it ends: then, if the process is not gone, what was written is taken out.
void holding_end(struct holding *holding, struct hs_error **error);

bool holding_has_places(const struct holding *holding);
struct hs_error *holding_take_places(struct holding *holding) HS_MUST_CHECK;
// So too of one that stands anywhere. *stop: where it stands, and afterwards.
struct hs_error *holding_leave_places(struct holding *holding, struct stop *stop) HS_MUST_CHECK;
// Its memory is another one.
void holding_forget_places(struct holding *holding);

// The loader's place alone is set, and harms nobody: it raises a signal.
bool holding_is_raising(const struct holding *holding);
// What the loader tells debuggers. False: nothing, or it cannot be read.
bool holding_read_debug(const struct holding *holding, struct r_debug *ret);

#endif
