// SPDX-License-Identifier: Apache-2.0
// The plain result of a snapshot: what encoders and the summary read. No pointers into the region, no library types.
#ifndef HEAPSNAP_SNAPSHOT_HEAP_PROFILE_H
#define HEAPSNAP_SNAPSHOT_HEAP_PROFILE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_mapping {
	uint64_t start, limit, file_offset; // bytes; [start, limit)
	char *file;                         // owned; "" = anonymous
	char *build_id;                     // lower-case hex; "" = none; owned
	// True only when every location used of this mapping has it.
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_function {
	char *name;         // demangled; owned
	char *system_name;  // as in the symbol table; owned
	char *file;         // source file; "" = unknown; owned
	int64_t start_line; // 0 = unknown
};

struct profile_line {
	uint32_t function; // index
	int64_t line;      // 0 = unknown
};

struct profile_location {
	uint64_t address;    // return address - 1; the pc itself for an interrupted instruction
	uint32_t module;     // index into heap_profile.modules, or UINT32_MAX
	uint32_t mapping;    // index into mappings, or UINT32_MAX (in files)
	uint32_t first_line; // index into lines; innermost inlined function first
	uint32_t line_count; // 0 = no symbol
	bool is_allocator;   // a frame of the allocator itself: dropped from stacks
	// No symbol covers the address; what stands for one is how far it is behind the nearest symbol before it. Then
	// there is one line, of number 0, and its function is named as profile_guess_base says, without a file. Another
	// offset is other code, and nothing of the name says what the code is: only the address does.
	bool is_guess;
	bool is_wrapper; // its code does nothing but allocate for its caller, with all that is inlined there
};

// What a stack, a site or a whole profile holds: of all blocks, also those that sampling has left out.
struct profile_values {
	int64_t alloc_objects, alloc_bytes; // since attach
	int64_t live_objects, live_bytes;
	uint64_t live_records; // live blocks that were recorded: what the live values are made of
	// squares of the live values' standard errors, as the records show them
	double live_objects_variance, live_bytes_variance;
	// of those since attach: given back before their thread allocated another ("temporary allocations"); 0 also
	// where that is not known (heap_profile.has_temporaries)
	int64_t temporary_objects;
};

// What the live blocks of a sample have in common beside their stack, as far as that was asked for. 0 = not said.
struct profile_labels {
	uint32_t thread;    // index into heap_profile.label_texts, + 1
	uint32_t epoch;     // in which they were recorded: snapshots of that epoch or an earlier one do not have them
	uint8_t size, age;  // classes (snapshot/size_age.h)
	uint32_t kind;      // as `thread`: the function that made them last
	uint32_t allocator; // likewise: the file that this function is in
};

// One stack with its values.
struct profile_sample {
	uint32_t first_frame;       // index into frames
	uint32_t frame_count;       // location indices, innermost first
	uint32_t samples_per_block; // samples that fell into each of its live blocks, HS_SAMPLES_MAX = so many or more;
				    // 0 = not counted. A stack may have a sample for each of several such numbers
	// A stack may have a sample for each of several labels. What was freed is in one without.
	struct profile_labels labels;
	struct profile_values values;
};

// Live blocks of a stack that were recorded between two earlier snapshots.
struct profile_cohort {
	uint32_t sample;            // index into heap_profile.samples, of one with that stack
	uint32_t number;            // of the snapshots asked for (block_selection.h), how many were over by then
	struct profile_values live; // of live values alone
};

// A loaded object at some time since attach.
struct profile_module {
	char *path; // owned
	uint64_t load_bias, start, end, text_low, text_high;
	uint8_t build_id[32];
	uint32_t build_id_size;
	bool is_main, is_vdso, unloaded;
};

// What the whole process has in memory, recorded or not; bytes. As the kernel counts it for the process, so that the
// figures of a process that allocates may be some pages behind.
struct profile_memory {
	bool is_known;
	uint64_t rss;       // resident
	uint64_t anonymous; // of that: heap, stacks and other memory that no file backs
	uint64_t swapped;   // beside that
	uint64_t peak;      // the most that was resident at one time; 0 = not known
};

// One line of the ledger: what was seen, and what was lost.
struct ledger_line {
	char *name; // machine name, owned: "allocations", "stack_cut_depth_limit", "hook_refused", ...
	char *text; // for people, owned
	uint64_t value;
	bool is_loss; // something is missing from the profile when value > 0
	bool is_fact; // the text says it all; value is 1
};

// Where a snapshot stands in the life of an attach.
struct profile_cut {
	uint64_t session; // of the attach, drawn at random; 0 = unknown
	uint32_t epoch;   // what was recorded before has a lower one; 0 = threads were stopped for it, and only `ticks`
			  // tell
	uint64_t ticks;   // of the time-stamp counter at that moment
};

struct heap_profile {
	struct profile_mapping *mappings; // [0] is the main binary
	size_t mapping_count;
	struct profile_module *modules;
	size_t module_count;
	struct profile_function *functions;
	size_t function_count;
	struct profile_line *lines;
	size_t line_count;
	struct profile_location *locations;
	size_t location_count;
	uint32_t *frames; // location indices
	size_t frame_count;
	struct profile_sample *samples;
	size_t sample_count;
	struct ledger_line *ledger;
	size_t ledger_count, ledger_room;
	char **label_texts; // owned, as the texts are; fit to be shown
	size_t label_text_count;
	struct profile_cohort *cohorts; // of all live blocks, in no order; NULL = not asked for. Not in files
	size_t cohort_count;

	int64_t time_ns;       // wall clock of the snapshot, UTC
	int64_t duration_ns;   // since attach
	uint64_t attach_ns;    // CLOCK_MONOTONIC; another one is another attach; 0 = not known (a file)
	int64_t period;        // mean sampling interval in force, bytes; 1 = every allocation
	bool is_from_start;    // nothing was allocated before the attach. Not in files
	bool is_stopped;       // nothing new is recorded now
	bool is_estimate;      // not every allocation since attach was recorded: values are estimates
	int64_t interval_most; // then: the largest mean interval since attach, bytes. As many may be live, about, and
			       // shown nowhere; 0 = as `period`
	uint64_t peak_looks;   // of so many looks at the heap this is the one at which most was live; 0 = it is no peak
	uint64_t stopped_ns;   // for how long the target's threads were stopped; 0 = not at all
	bool has_ended;        // since: what is said of the process is of that moment. Not in files
	const char *stopped_because; // static; NULL = they were not
	uint32_t copies; // that were begun while they ran; all but the last one, if that is the snapshot, were thrown
			 // away: the log got full
	uint64_t log_records;         // blocks that went while the table was copied, and were taken from the log
	int32_t pid;                  // 0 = unknown (in files)
	char *program;                // path of the executable; owned
	char *name;                   // of the process, as the kernel has it; owned; NULL = the program's, or not known
	bool is_difference;           // values are those of a later profile less those of an earlier one, or below 0
	bool has_temporaries;         // how many allocations were temporary is known
	bool is_foreign;              // another program wrote its file: nothing is known of what is missing from it
	struct profile_memory memory; // at about the time of the snapshot
	struct profile_cut cut;
	char *selection; // owned; which blocks alone it is of, for people: "older than 10 s"; NULL = all
	// With a selection: all live blocks that were recorded, and those that were left out since nothing proves that
	// they belong to it (docs/design.md, "Ages"). Of these live values alone are known.
	struct profile_values recorded, undecided;

	struct profile_values total;
};

// Adds what another stack holds; a sum stays at INT64_MAX.
void profile_values_add(struct profile_values *to, const struct profile_values *from);

// The standard error that a sum of variances stands for, rounded up; in the unit of what varies (bytes, or blocks).
// That of a file may be anything.
static inline uint64_t profile_error(double variance)
{
	const double error = ceil(sqrt(variance));

	return error >= 0 && error < 9223372036854775808.0 ? (uint64_t)error : INT64_MAX;
}

// The largest mean interval since attach, bytes.
static inline double profile_interval(const struct heap_profile *profile)
{
	return (double)(profile->interval_most > profile->period ? profile->interval_most : profile->period);
}

// Bytes that no sample fell into do not show in the variance. Their number is about exponential with the interval as
// its mean, so no error is below the interval; 0 means exact.
static inline uint64_t profile_bytes_error(const struct heap_profile *profile, double variance)
{
	double interval = profile_interval(profile);

	return profile_error(profile->is_estimate ? fmax(variance, interval * interval) : variance);
}

// Whether the live blocks that these values are of were all recorded as they are, and none of them stands for others.
// Of a profile that is an estimate more may be live, into which no sample fell: as much as profile_bytes_error says. Of
// a difference: on both sides.
static inline bool profile_is_recorded_exactly(const struct profile_values *values)
{
	return values->live_bytes_variance == 0 && values->live_objects_variance == 0;
}

// For numbers of blocks: what one more sample would stand for. Unrecorded blocks are assumed to have the mean size of
// the known ones (`bytes` / `objects`).
static inline uint64_t profile_objects_error(const struct heap_profile *profile, double variance, int64_t objects,
					     int64_t bytes)
{
	double interval = profile_interval(profile);
	double size = objects > 0 && bytes > objects ? (double)bytes / (double)objects : 1,
	       odds = 1 / expm1(size / interval);

	return profile_error(profile->is_estimate ? fmax(variance, odds * (1 + odds)) : variance); // (1 - p) / p^2
}

// Of "near NAME+0xOFFSET", which is what a guess is called (profile_location.is_guess), where NAME begins; *size_ret is
// its length, 1 at least. NULL = it is no such text. No linkage name is one: it has a space.
const char *profile_guess_base(const char *text, size_t *size_ret);

// What the process is called: its own name, else the last part of its program's path; "" = not known.
const char *profile_process_name(const struct heap_profile *profile);

// Whether a process of that program has a name of its own: it need not be the file's (one file for several commands, a
// script, a name that the process gave itself), and of a long one the kernel keeps the beginning alone.
bool profile_has_own_name(const char *program, const char *name);

// Frees all that it owns; safe on a zeroed struct.
void heap_profile_deinit(struct heap_profile *profile);

#endif
