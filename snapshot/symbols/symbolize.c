// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/symbolize.h"

#include "attach/guard/interrupt.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/test_variable.h"
#include "snapshot/profile/ledger.h"
#include "snapshot/symbols/allocator_names.h"
#include "snapshot/symbols/debug_package.h"
#include "snapshot/symbols/debuginfod.h"
#include "snapshot/symbols/function_table.h"
#include "snapshot/symbols/module_files.h"
#include "snapshot/symbols/symbol_cache.h"
#include "snapshot/symbols/unnamed_code.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>

// For one module: large debug files take some seconds. For all: a target can have many modules, and each can be made to
// take its time.
enum { PROCESSOR_SECONDS = 60, MODULE_SECONDS = 180, ALL_SECONDS = 900 };
enum { JOBS_MAX = 4, LOOK_MS = 100 };                   // each may need much memory
static const uint64_t MEMORY_BYTES = UINT64_C(8) << 30; // address space: files are mapped whole

// A location on its way to be sorted by module and address.
struct location_key {
	uint64_t address;
	uint32_t module;
	uint32_t location;
};

// Locations of one module, or of no module, on their way to their names. Modules are read side by side, each by a
// process of its own, and taken in their order: what comes out is the same.
struct job {
	const struct location_key *keys;
	size_t key_count;
	uint64_t *addresses; // owned
	struct symbol_question question;
	struct symbol_lookup *lookup; // NULL = it could not be begun
	struct symbol_answer answer;
	struct hs_error *error;
	bool is_over;
};

struct symbolizer {
	struct heap_profile *profile;
	const struct module_files *files;
	struct function_table functions;
	struct profile_line *lines;
	size_t line_count, line_room;
	bool *has_inlined; // of locations[i]: DWARF describes the function
	uint64_t deadline_ns;
	bool has_no_sandbox; // said once
	struct unnamed_code unnamed;
	struct cache_folder cache;
	struct job jobs[JOBS_MAX]; // a ring
	unsigned first, running, most;
};

static int compare_keys(const void *left, const void *right)
{
	const struct location_key *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->location > b->location) - (a->location < b->location);
}

// Appends what was answered to the tables of all modules.
static struct hs_error *take_lines(struct symbolizer *symbolizer, const struct symbol_answer *answer)
{
	HS_CLEANUP_FREE uint32_t *functions = calloc(answer->functions.count + 1, sizeof(*functions));
	struct hs_error *error = NULL;

	if (!functions || symbolizer->line_count + answer->line_count > UINT32_MAX ||
	    ARRAY_RESERVE(symbolizer->lines, symbolizer->line_count + answer->line_count, &symbolizer->line_room))
		return &hs_error_no_memory;
	for (size_t i = 0; i < answer->functions.count && !error; i++) {
		const struct profile_function *item = &answer->functions.items[i];

		error = function_table_add(
			&symbolizer->functions,
			&(struct function_text){ item->name, item->system_name, item->file, item->start_line },
			&functions[i]);
	}
	for (size_t i = 0; i < answer->line_count && !error; i++)
		symbolizer->lines[symbolizer->line_count++] =
			(struct profile_line){ functions[answer->lines[i].function], answer->lines[i].line };
	return error;
}

static bool is_allocator_line(const struct symbolizer *symbolizer, uint32_t line)
{
	return is_allocator_name(symbolizer->functions.items[symbolizer->lines[line].function].system_name);
}

// `first_line`: where the lines of this answer begin.
static void set_location(struct symbolizer *symbolizer, uint32_t index, const struct answer_location *answer,
			 size_t first_line)
{
	struct profile_location *location = &symbolizer->profile->locations[index];

	location->first_line = (uint32_t)(first_line + answer->first_line);
	location->line_count = answer->line_count;
	location->is_guess = answer->is_guess;
	location->is_wrapper = answer->is_wrapper;
	symbolizer->has_inlined[index] = answer->has_inlined;
	if (answer->is_guess)
		return;
	// Where the allocator's own functions are inlined into another one (Rust's), they go and it stays.
	while (location->line_count > 1 && is_allocator_line(symbolizer, location->first_line)) {
		location->first_line++;
		location->line_count--;
	}
	if (location->line_count > 0) {
		uint32_t outermost = location->first_line + location->line_count - 1;

		location->is_allocator = is_allocator_line(symbolizer, outermost);
	}
}

// What was lost, and why: a warning, a line of the ledger.
static struct hs_error *note_loss(struct symbolizer *symbolizer, const char *path, struct hs_error *reason)
{
	struct hs_error *error = NULL;

	if (reason->code == HS_ERROR_NO_MEMORY || reason->code == HS_ERROR_INTERRUPTED)
		return reason;
	if (reason->code == HS_ERROR_NOT_FOUND) {
		hs_verbose("symbols: %s: %s", path, reason->message);
	} else if (reason->code == HS_ERROR_REFUSED) {
		if (!symbolizer->has_no_sandbox)
			hs_warn("no symbols: %s", reason->message);
		error = ledger_add_symbols_lost(symbolizer->profile, path, reason->message);
		symbolizer->has_no_sandbox = true;
	} else {
		hs_warn("no symbols of %s: the process that read its files %s", path, reason->message);
		error = ledger_add_symbols_lost(symbolizer->profile, path, reason->message);
	}
	hs_error_destroy(reason);
	return error;
}

static struct hs_error *begin_job(struct symbolizer *symbolizer, struct job *job)
{
	const struct sandbox_limits limits = { MEMORY_BYTES, PROCESSOR_SECONDS };
	uint64_t now = hs_monotonic_ns(), deadline = now + MODULE_SECONDS * UINT64_C(1000000000);
	const uint64_t last = symbolizer->deadline_ns + debuginfod_spent(symbolizer->files->debuginfod);

	if (symbolizer->has_no_sandbox)
		return hs_error_create(HS_ERROR_REFUSED, "not read without a sandbox");
	if (now >= last)
		return hs_error_create(HS_ERROR_TIMEOUT, "was not started: those before it took %d s", ALL_SECONDS);
	return symbol_lookup_begin(&symbolizer->cache, symbolizer->files, &job->question, &limits,
				   deadline < last ? deadline : last, &job->lookup);
}

// What no symbol of a stripped module covers: a file with its symbols would name that.
static void note_unnamed(struct symbolizer *symbolizer, const struct profile_module *module,
			 const struct symbol_answer *answer)
{
	const char *program = symbolizer->profile->program;
	size_t count = 0;

	for (size_t i = 0; i < answer->location_count; i++)
		count += answer->locations[i].line_count == 0 || answer->locations[i].is_guess;
	unnamed_code_add(&symbolizer->unnamed, *module->path || !program ? module->path : program, count);
}

static struct hs_error *tell_unnamed(struct symbolizer *symbolizer)
{
	char *text;
	struct hs_error *error = unnamed_code_text(
		&symbolizer->unnamed, module_files_has_our_root(symbolizer->files) ? DEBUG_PACKAGE_LISTS : NULL, &text);

	return error || !text ? error : ledger_add_symbols_missing(symbolizer->profile, text);
}

static void end_job(struct job *job)
{
	if (job->lookup) {
		job->error = symbol_lookup_end(job->lookup, job->error, &job->answer);
		job->lookup = NULL;
	}
	job->is_over = true;
}

static struct job *job_at(struct symbolizer *symbolizer, unsigned place)
{
	return &symbolizer->jobs[(symbolizer->first + place) % JOBS_MAX];
}

// Waits until a child says something, and does what each asks for.
static struct hs_error *serve(struct symbolizer *symbolizer)
{
	struct pollfd sockets[JOBS_MAX];
	struct hs_error *error = interrupt_check();

	if (error)
		return error;
	for (unsigned i = 0; i < symbolizer->running; i++) {
		const struct job *job = job_at(symbolizer, i);

		sockets[i] =
			(struct pollfd){ .fd = job->is_over ? -1 : symbol_talk_socket(symbol_lookup_talk(job->lookup)),
					 .events = POLLIN };
	}
	if (poll(sockets, symbolizer->running, LOOK_MS) < 0 && errno != EINTR)
		return hs_error_system(errno, "cannot wait for the processes that read symbols");
	for (unsigned i = 0; i < symbolizer->running; i++) {
		struct job *job = job_at(symbolizer, i);
		bool is_over = false;

		if (job->is_over || (!sockets[i].revents && !symbol_talk_is_late(symbol_lookup_talk(job->lookup))))
			continue;
		job->error = symbol_talk_step(symbol_lookup_talk(job->lookup), &is_over);
		if (is_over)
			end_job(job);
	}
	return NULL;
}

static struct hs_error *take_answer(struct symbolizer *symbolizer, struct job *job)
{
	const size_t first_line = symbolizer->line_count;
	struct hs_error *error;

	if (job->question.module && job->answer.is_stripped)
		note_unnamed(symbolizer, job->question.module, &job->answer);
	error = take_lines(symbolizer, &job->answer);
	for (size_t i = 0, asked = 0; i < job->key_count && !error; i++) {
		if (job->addresses[asked] != job->keys[i].address)
			asked++;
		set_location(symbolizer, job->keys[i].location, &job->answer.locations[asked], first_line);
	}
	symbol_answer_deinit(&job->answer);
	return error;
}

// The first one: when it is over.
static struct hs_error *take_job(struct symbolizer *symbolizer)
{
	struct job *job = job_at(symbolizer, 0);
	struct hs_error *error = NULL;

	while (!job->is_over && !error)
		error = serve(symbolizer);
	if (error)
		return error;
	symbolizer->first++;
	symbolizer->running--;
	error = HS_STEAL_POINTER(job->error);
	error = error ? note_loss(symbolizer,
				  job->question.module ? job->question.module->path : "the program's perf map", error)
		      : take_answer(symbolizer, job);
	free(job->addresses);
	if (job->question.perf_map >= 0)
		close(job->question.perf_map);
	return error;
}

// Whatever has failed: no process is left, nothing is taken.
static void drop_jobs(struct symbolizer *symbolizer)
{
	for (; symbolizer->running > 0; symbolizer->first++, symbolizer->running--) {
		struct job *job = job_at(symbolizer, 0);

		if (!job->is_over && !job->error)
			job->error = hs_error_create(HS_ERROR_INTERRUPTED, "not read to its end");
		end_job(job);
		if (!job->error)
			symbol_answer_deinit(&job->answer);
		hs_error_destroy(job->error);
		free(job->addresses);
		if (job->question.perf_map >= 0)
			close(job->question.perf_map);
	}
}

// Begins one, after the first one is taken where there are as many as there may be.
static struct hs_error *add_job(struct symbolizer *symbolizer, const struct location_key *keys, size_t count)
{
	const struct heap_profile *profile = symbolizer->profile;
	const struct profile_module *module =
		keys[0].module < profile->module_count ? &profile->modules[keys[0].module] : NULL;
	struct job *job;

	// The vdso has no file, and nothing in it allocates.
	if (module && (module->is_vdso || !module->path))
		return NULL;

	// Code of no module: what the program has made itself, and perhaps named.
	HS_CLEANUP_CLOSE int perf_map = module ? -1 : module_files_open_perf_map(symbolizer->files);
	HS_CLEANUP_FREE uint64_t *addresses = calloc(count, sizeof(*addresses));

	if (!module && perf_map < 0)
		return NULL;
	if (!addresses)
		return &hs_error_no_memory;
	if (symbolizer->running == symbolizer->most) {
		struct hs_error *error = take_job(symbolizer);

		if (error)
			return error;
	}
	job = job_at(symbolizer, symbolizer->running++);
	*job = (struct job){ .keys = keys, .key_count = count };
	for (size_t i = 0; i < count; i++)
		if (job->question.count == 0 || addresses[job->question.count - 1] != keys[i].address)
			addresses[job->question.count++] = keys[i].address;
	job->addresses = HS_STEAL_POINTER(addresses);
	job->question.module = module;
	job->question.addresses = job->addresses;
	job->question.perf_map = HS_STEAL_FD(perf_map);
	job->error = begin_job(symbolizer, job);
	if (!job->lookup || !symbol_lookup_talk(job->lookup))
		end_job(job);
	return NULL;
}

static struct hs_error *symbolize_locations(struct symbolizer *symbolizer)
{
	struct heap_profile *profile = symbolizer->profile;
	HS_CLEANUP_FREE struct location_key *keys = calloc(profile->location_count + 1, sizeof(*keys));
	size_t count = 0;

	if (!keys)
		return &hs_error_no_memory;
	for (size_t i = 0; i < profile->location_count; i++) {
		struct profile_location *location = &profile->locations[i];

		location->first_line = location->line_count = 0;
		location->is_allocator = location->is_guess = location->is_wrapper = false;
		keys[count++] = (struct location_key){ location->address, location->module, (uint32_t)i };
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && keys[end].module == keys[begin].module;)
			end++;
		hs_progress("symbols", begin, count);

		struct hs_error *error = add_job(symbolizer, keys + begin, end - begin);

		if (error) {
			drop_jobs(symbolizer);
			return error;
		}
	}
	while (symbolizer->running > 0) {
		struct hs_error *error = take_job(symbolizer);

		if (error) {
			drop_jobs(symbolizer);
			return error;
		}
	}
	hs_progress("symbols", count, count);
	return tell_unnamed(symbolizer);
}

static bool has_symbol(const struct profile_location *location)
{
	return location->line_count > 0 && !location->is_guess;
}

// has_functions: every location of the mapping has a function. The others: every location with a function has it too.
static void set_mapping_flags(struct symbolizer *symbolizer)
{
	struct heap_profile *profile = symbolizer->profile;

	for (size_t i = 0; i < profile->mapping_count; i++) {
		struct profile_mapping *mapping = &profile->mappings[i];

		mapping->has_functions = mapping->has_filenames = false;
		mapping->has_line_numbers = mapping->has_inline_frames = false;
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (!has_symbol(location) || location->mapping >= profile->mapping_count)
			continue;

		struct profile_mapping *mapping = &profile->mappings[location->mapping];

		mapping->has_functions = mapping->has_filenames = true;
		mapping->has_line_numbers = mapping->has_inline_frames = true;
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (location->mapping >= profile->mapping_count)
			continue;

		struct profile_mapping *mapping = &profile->mappings[location->mapping];

		if (!has_symbol(location))
			mapping->has_functions = false;
		else if (!symbolizer->has_inlined[i])
			mapping->has_inline_frames = false;
		for (uint32_t j = 0; has_symbol(location) && j < location->line_count; j++) {
			const struct profile_line *line = &profile->lines[location->first_line + j];

			if (!*profile->functions[line->function].file)
				mapping->has_filenames = false;
			if (line->line == 0)
				mapping->has_line_numbers = false;
		}
	}
}

// As many as this process may use processors; or, for tests, HEAPSNAP_TEST_SYMBOL_READERS.
static unsigned jobs_at_once(void)
{
	const char *order = hs_test_variable("HEAPSNAP_TEST_SYMBOL_READERS");
	cpu_set_t set;
	const int count = order ? atoi(order) : sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < 1 ? 1 : count > JOBS_MAX ? JOBS_MAX : (unsigned)count;
}

struct hs_error *symbolize_profile(const struct module_files *given, const struct symbol_options *options,
				   struct heap_profile *profile)
{
	struct module_files files = *given;
	const uint64_t spent = debuginfod_spent(options->debuginfod);
	struct symbolizer symbolizer = {
		.profile = profile,
		.files = &files,
		.cache = { -1 },
		.most = jobs_at_once(),
		.deadline_ns = hs_monotonic_ns() + ALL_SECONDS * UINT64_C(1000000000) - spent,
	};

	files.debuginfod = options->debuginfod;

	symbolizer.has_inlined = calloc(profile->location_count + 1, sizeof(*symbolizer.has_inlined));
	if (!symbolizer.has_inlined)
		return &hs_error_no_memory;

	if (!options->no_cache)
		symbolizer.cache = cache_folder_open();

	struct hs_error *error = symbolize_locations(&symbolizer);

	cache_folder_close(&symbolizer.cache);
	if (error) {
		for (size_t i = 0; i < profile->location_count; i++)
			profile->locations[i].line_count = 0;
		free(symbolizer.lines);
	} else {
		profile->functions = HS_STEAL_POINTER(symbolizer.functions.items);
		profile->function_count = symbolizer.functions.count;
		symbolizer.functions.count = 0;
		profile->lines = symbolizer.lines;
		profile->line_count = symbolizer.line_count;
		set_mapping_flags(&symbolizer);
	}
	function_table_deinit(&symbolizer.functions);
	free(symbolizer.has_inlined);
	return error;
}
