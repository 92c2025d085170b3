// SPDX-License-Identifier: Apache-2.0
// To start a command and record it from its first allocation to its end.
//
// Its exit status, the signals that it gets and its standard streams are its own. It is followed (attach/ptrace/
// follow.h): where it executes another program, that one is recorded from its beginning. What it starts is recorded
// when that is wanted (lib/run_family.h), and else counted as far as it is seen.
#ifndef HEAPSNAP_LIB_RUN_H
#define HEAPSNAP_LIB_RUN_H

#include "base/error.h"
#include "base/process.h"
#include "lib/attach.h"
#include "lib/dump.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_run_options {
	char *const *command; // and its arguments, ended by NULL; borrowed
	struct hs_attach_options attach;
	uint64_t every_ns; // between two snapshots; 0 = none is taken by time
	int on_signal;     // one is taken when this process gets this signal; 0 = none is
	bool at_end;       // one is taken when the command ends
	bool at_peak;      // its peak is looked for (lib/peak.h); needs at_end; with children it is not
	bool anyway;       // what cannot be recorded is run all the same
	// Processes that it starts are recorded, too, from when they execute a program. Each snapshot is then one of
	// each of them.
	bool children;
};

// What of a program had run before it was recorded: ever more. From _BEGINNING on it may have allocated.
enum hs_run_missed {
	HS_RUN_MISSED_NOTHING,
	HS_RUN_MISSED_CONSTRUCTORS, // those of its libraries may have
	HS_RUN_MISSED_BEGINNING,    // it had begun, for the signal by which it is held did not reach it
	HS_RUN_MISSED_HALF_SECOND,  // of its life, or more: it was forked, or came too fast, and was recorded later
};
extern const char hs_run_missed_beginning[]; // the last one in words: "process 1 " and this

enum hs_run_event_kind {
	HS_RUN_SNAPSHOT, // in a process of its own, which writes it and ends; with children, it is one process's
	HS_RUN_EXECUTED, // it has executed another program, which is recorded now; or is not, and `error` says why
	HS_RUN_PEAK,     // in a process of its own: the heap of the peak, which this writes, and ends
	HS_RUN_CHILD,    // one that it has started is over; in a process of its own, which writes its profile and ends
	HS_RUN_ENDED,
};

// How a process ends that has written, for HS_RUN_SNAPSHOT, HS_RUN_PEAK and HS_RUN_CHILD.
enum { HS_RUN_WROTE = 0, HS_RUN_FAILED = 1, HS_RUN_WROTE_INCOMPLETE = 3, HS_RUN_TOOK_NONE = 4 };

// Profiles, by what became of them.
struct hs_run_written {
	size_t whole, incomplete; // written: nothing is missing, or something is
	size_t failed;            // not written: why was said
};

// The snapshots of a run with its children. Each that was due for a process is in one of these.
struct hs_run_snapshots {
	unsigned times; // at which they were due
	struct hs_run_written written;
	size_t over;     // not taken: the process had ended or executed another program before, or was left
	size_t left_out; // not taken: the one before was still to be taken
};

// What became of the processes that the command has started, and of theirs.
struct hs_run_children {
	bool are_followed; // false: `started` is the least that there were, and none was recorded
	size_t started;
	size_t recorded;            // from when they executed a program, or:
	size_t late;                // of those recorded: from half a second on, or later
	size_t forked;              // not recorded: they have executed none, and most have ended soon
	size_t too_many;            // not recorded: they came too fast, or too many lived at one time
	size_t failed;              // not recorded: why was said as a warning of the first ones
	size_t left;                // of those recorded: they have outlived the command, and go on without heapsnap
	struct hs_run_written ends; // of those recorded, of their last heaps
	struct hs_run_snapshots snapshots; // of the command too
};

// Of the program that the command executes last.
struct hs_run_peak {
	bool is_known; // false: it could not be looked at
	bool is_end;   // the heap of the end is the peak; else HS_RUN_PEAK comes in another process: in hs_run_end
	uint64_t looks, missed; // with that at the end; and those that have failed
};

enum { HS_RUN_NAME_SIZE = 64 };

struct hs_run_event {
	enum hs_run_event_kind kind;
	// HS_RUN_SNAPSHOT, HS_RUN_PEAK; HS_RUN_CHILD, HS_RUN_ENDED: NULL = none was wanted, or `error` says why not.
	struct heap_copy *copy;
	struct hs_error *error;           // NULL = none; whoever gets the event has to destroy it
	unsigned number;                  // HS_RUN_SNAPSHOT: from 1
	pid_t pid;                        // HS_RUN_SNAPSHOT, HS_RUN_PEAK, HS_RUN_CHILD
	char name[HS_RUN_NAME_SIZE];      // likewise, and HS_RUN_ENDED; of the process's own choice
	struct hs_run_peak peak;          // HS_RUN_PEAK; HS_RUN_ENDED, where it was asked for
	bool has_status;                  // HS_RUN_CHILD: it has ended
	int status;                       // then, and HS_RUN_ENDED: as of waitpid(2)
	bool is_recorded;                 // HS_RUN_ENDED: it was until then
	struct hs_run_children children;  // HS_RUN_ENDED, HS_RUN_SNAPSHOT
	enum hs_run_missed missed;        // all; where it is recorded
	struct hs_attach_result attached; // HS_RUN_EXECUTED, without an error
};

struct hs_run; // opaque

// Starts it: on success it runs, recorded if *attached_ret says so (hooks is not 0). *why_ret: with `anyway`, why it is
// not recorded; owned by the caller, NULL = it is. HS_ERROR_REMOTE: it cannot be executed, error_number says why;
// HS_ERROR_GONE: it ended before it began, or had begun before it could be held and goes on unrecorded, and hs_run_next
// says what becomes of it (*ret is there); all others: it was killed before it ran anything. pre: hs_tool_begin
struct hs_error *hs_run_begin(const struct hs_run_options *options, struct hs_run **ret,
			      struct hs_attach_result *attached_ret, enum hs_run_missed *missed_ret,
			      struct hs_error **why_ret) HS_MUST_CHECK;
const struct process *hs_run_process(const struct hs_run *run);
// Waits for the next event, and passes signals on meanwhile. Returns in the tool; with HS_RUN_SNAPSHOT, HS_RUN_PEAK or
// HS_RUN_CHILD in a new process, which writes, destroys the copy and exits, without hs_run_end. After HS_RUN_ENDED
// there is none; signals have the meaning then that they had before hs_run_begin.
void hs_run_next(struct hs_run *run, struct hs_run_event *ret);
// Waits for processes that still write their snapshots, or the peak.
void hs_run_end(struct hs_run *run);
void hs_run_copy_destroy(struct heap_copy *copy);

// The name of a snapshot: with its number before what follows the first point of the file's name, "out.3.pb.gz". *ret
// is owned by the caller. HS_ERROR_NO_MEMORY.
struct hs_error *hs_run_numbered_name(const char *path, unsigned number, char **ret) HS_MUST_CHECK;

// Ends this process as a command has ended whose status of waitpid(2) this is: by the same signal, without a core file
// of its own; or with the same exit status.
_Noreturn void hs_run_end_like(int status);

#endif
