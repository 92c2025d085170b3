// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/log.h"
#include "cli/aftermath.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/detach.h"
#include "cli/each_process.h"
#include "cli/terminal.h"
#include "cli/top_rows.h"
#include "lib/live.h"
#include "lib/own_rules.h"
#include "lib/tool.h"
#include "views/completeness.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_DEFAULT UINT64_C(2000000000)  // ns
#define ESCAPE_WAIT   UINT64_C(50000000)    // ns, for what else belongs to an escape character
#define PAUSED_WAIT   UINT64_C(60000000000) // ns

enum {
	IDLE_SHARE = 2,     // looks are so many times as far apart as one takes, at least
	TYPED_SIZE = 64,    // bytes that are looked at together
	WARNINGS_MOST = 20, // that are told at the end
	MESSAGE_SIZE = 400  // bytes
};

struct top {
	struct hs_live *live;
	uint64_t every_ns;
	struct top_state state;
	struct top_rows rows;
	char *completeness; // owned
	char message[MESSAGE_SIZE];
	char typed[TYPED_SIZE];
	size_t typed_count; // the beginning of a key
	uint64_t due_ns;    // when the next look is
};

// While the screen is there, warnings wait.
static struct {
	char *texts[WARNINGS_MOST]; // owned
	size_t count;
} kept;

static void keep_warning(enum hs_log_level level, const char *message)
{
	if (level != HS_LOG_WARNING || kept.count == WARNINGS_MOST)
		return;
	for (size_t i = 0; i < kept.count; i++)
		if (strcmp(kept.texts[i], message) == 0) // each look may say the same
			return;
	kept.texts[kept.count] = strdup(message);
	kept.count += kept.texts[kept.count] != NULL;
}

static struct hs_error *open_screen(struct top *top)
{
	struct hs_error *error = terminal_open();
	unsigned lines, columns;

	if (error)
		return error;
	hs_log_set_sink(keep_warning);
	hs_progress_set_sink(NULL);
	terminal_size(&lines, &columns);
	top_resize(&top->state, lines, columns);
	return NULL;
}

static void close_screen(const struct options *options)
{
	terminal_close();
	console_init(options);
	for (size_t i = 0; i < kept.count; i++) {
		hs_warn("%s", kept.texts[i]);
		free(kept.texts[i]);
	}
	kept.count = 0;
}

static struct hs_error *show(struct top *top)
{
	struct hs_live *live = top->live;
	struct top_facts facts = { .program = "", .pid = (int)live->process->pid, .completeness = "" };
	struct screen screen;
	struct hs_error *error;

	if (live->has_look)
		facts = top_facts_of(&live->view.named, &live->growth);
	facts.every = (double)top->every_ns / 1e9;
	if ((double)live->cost_ns * IDLE_SHARE > (double)top->every_ns)
		facts.every = (double)live->cost_ns * IDLE_SHARE / 1e9;
	facts.completeness = top->completeness ? top->completeness : "";
	facts.message = top->message;
	top_arrange(&top->state, &top->rows.data);
	error = top_draw(&top->state, &top->rows.data, &facts, &screen);
	if (error)
		return error;
	error = terminal_show(&screen);
	screen_deinit(&screen);
	return error;
}

static struct hs_error *update_callers(struct top *top)
{
	if (top->state.page != TOP_CALLERS || !top->live->has_look)
		return NULL;
	return top_rows_callers(&top->live->view.named, &top->live->growth, top->state.site, &top->rows);
}

// What is made of a look that has succeeded.
static struct hs_error *digest(struct top *top)
{
	struct hs_error *error = top_rows_make(&top->live->view.named, &top->live->growth, &top->rows);
	bool is_complete;

	free(top->completeness);
	top->completeness = NULL;
	if (!error)
		error = completeness_text(&top->live->profile, &is_complete, &top->completeness);
	if (!error)
		error = update_callers(top);
	snprintf(top->message, sizeof(top->message), "%s",
		 top->live->is_stopped ? "Nothing new is recorded (heapsnap set PID --start-recording)." : "");
	return error;
}

static struct hs_error *look(struct top *top)
{
	const uint64_t began = hs_monotonic_ns();
	struct hs_error *error = hs_live_look(top->live);
	const uint64_t apart = top->live->cost_ns * IDLE_SHARE;

	top->due_ns = began + (apart > top->every_ns ? apart : top->every_ns);
	if (!error)
		return digest(top);
	if (!hs_live_may_pass(error))
		return error;
	snprintf(top->message, sizeof(top->message), "No snapshot: %s", error->message);
	hs_error_destroy(error);
	return NULL;
}

static struct hs_error *suspend(struct top *top)
{
	struct hs_error *error = terminal_suspend();
	unsigned lines, columns;

	terminal_size(&lines, &columns);
	top_resize(&top->state, lines, columns);
	return error;
}

static struct hs_error *take_key(struct top *top, const struct typed *typed)
{
	const enum top_page before = top->state.page;
	struct hs_error *error = NULL;

	switch (top_type(&top->state, &top->rows.data, typed)) {
	case TOP_NOTHING:
		break;
	case TOP_REDRAW:
		terminal_redraw();
		break;
	case TOP_SUSPEND:
		error = suspend(top);
		break;
	}
	if (!error && top->state.page == TOP_CALLERS && before == TOP_SITES)
		error = update_callers(top);
	top_arrange(&top->state, &top->rows.data);
	return error;
}

// `is_all`: nothing belongs to these bytes any more.
static struct hs_error *take_keys(struct top *top, bool is_all)
{
	struct hs_error *error = NULL;
	struct typed typed;
	size_t taken;

	while (top->typed_count > 0 && !error && !top->state.is_done) {
		taken = typed_decode(top->typed, top->typed_count, is_all, &typed);
		if (!taken)
			break;
		top->typed_count -= taken;
		memmove(top->typed, top->typed + taken, top->typed_count);
		error = take_key(top, &typed);
	}
	return error;
}

// Until the next look is due or the end; TERMINAL_... bits.
static unsigned wait_for_events(const struct top *top)
{
	const uint64_t now = hs_monotonic_ns();
	uint64_t until = top->state.is_paused ? now + PAUSED_WAIT : top->due_ns;

	if (top->typed_count && until > now + ESCAPE_WAIT)
		until = now + ESCAPE_WAIT;
	return terminal_wait(top->live->process, until);
}

static struct hs_error *take_events(struct top *top, unsigned events)
{
	struct hs_error *error = NULL;
	unsigned lines, columns;
	size_t count;

	if (events & TERMINAL_INTERRUPTED) {
		top->state.is_done = true;
		return NULL;
	}
	if (events & TERMINAL_ENDED)
		return process_gone(top->live->process);
	if (events & TERMINAL_RESIZED) {
		terminal_size(&lines, &columns);
		top_resize(&top->state, lines, columns);
		terminal_redraw();
	}
	if (events & TERMINAL_SUSPENDED)
		error = suspend(top);
	if (error || !(events & TERMINAL_TYPED))
		return error ? error : events ? NULL : take_keys(top, true);
	count = terminal_read(top->typed + top->typed_count, sizeof(top->typed) - top->typed_count);
	top->state.is_done = !count; // nobody is there any more
	top->typed_count += count;
	return take_keys(top, false);
}

// Until it is to be left.
static struct hs_error *go_on(struct top *top)
{
	struct hs_error *error = show(top);

	while (!error && !top->state.is_done) {
		if (!top->state.is_paused && hs_monotonic_ns() >= top->due_ns)
			error = look(top);
		if (!error)
			error = show(top);
		if (!error)
			error = take_events(top, wait_for_events(top));
	}
	return error;
}

static enum exit_status report_end(const struct options *options, const struct hs_live *live,
				   const struct hs_detach_result *detach)
{
	const pid_t pid = live->process->pid;

	if (live->was_attached) {
		console_print(options, "process %d was attached before: it stays attached\n", (int)pid);
		return EXIT_DONE;
	}
	detach_print_outcome(options, detach, pid);
	detach_print_checks(options, detach, pid, false);
	return detach->is_verified ? EXIT_DONE : EXIT_REFUSED;
}

// `context`: struct hs_live_options.
static enum exit_status top_process(const struct options *options, const struct process *process, void *context)
{
	struct hs_detach_result detach;
	struct hs_live live;
	struct top top = { .live = &live, .every_ns = options->every_ns ? options->every_ns : EVERY_DEFAULT };
	struct hs_error *error = hs_live_begin(process, context, &live);

	if (error)
		return fail_and_look(options, process, error);
	error = open_screen(&top);
	if (!error)
		error = go_on(&top);
	close_screen(options);
	top_rows_deinit(&top.rows);
	free(top.completeness);
	error = hs_live_end(&live, error, &detach);
	return error ? fail_and_look(options, process, error) : report_end(options, &live, &detach);
}

enum exit_status command_top(const struct options *options)
{
	struct hs_live_options how = {
		.attach = { .depth = options->depth,
			    .max_memory = options->max_memory,
			    .sampling = options->sampling,
			    .allocators = { options->allocators, options->allocator_count } },
		.detach_wait_ms = DETACH_WAIT_MS,
	};
	struct frame_rules *rules = NULL;
	struct hs_error *error = terminal_check();
	enum exit_status status;

	if (error) {
		console_fail(options,
			     hs_error_prefix(error, "top needs a terminal (heapsnap why and heapsnap report do not)"));
		return EXIT_USAGE;
	}
	error = hs_own_rules(options->own_rules, options->own_rule_count, &rules);
	if (error)
		return console_fail(options, error);
	how.rules = rules;
	status = each_process(options, top_process, &how);
	frame_rules_destroy(rules);
	return status;
}
