// SPDX-License-Identifier: Apache-2.0
#include "cli/each_process.h"

#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/console.h"
#include "lib/choose_processes.h"
#include "lib/dump_path.h"
#include "lib/find_process.h"
#include "lib/tool.h"

#include <stdlib.h>

enum { COMMAND_WIDTH = 60 };

// Commands that change the process: several are done at once only when that is said.
static bool changes_process(enum command command)
{
	return command == COMMAND_ATTACH || command == COMMAND_SET || command == COMMAND_DETACH;
}

// Of a filter, commands that need an attach before them mean what is attached.
static bool wants_attached(enum command command)
{
	return command == COMMAND_SET || command == COMMAND_DUMP || command == COMMAND_DETACH ||
	       command == COMMAND_STATUS || command == COMMAND_REPORT;
}

// That have one result.
static bool takes_one(enum command command)
{
	return command == COMMAND_PROFILE || command == COMMAND_WHY || command == COMMAND_TOP ||
	       command == COMMAND_REPORT;
}

static enum exit_status wrong_usage(const struct options *options, const char *message)
{
	console_complain("%s\n", message);
	if (options->json)
		console_put_error("usage", message);
	return EXIT_USAGE;
}

static void put_printable(struct json *json, const char *key, const char *text)
{
	char *printable = hs_printable(text);

	json_string(json, key, printable ? printable : "");
	free(printable);
}

static void put_several(const char *message, const struct hs_chosen *chosen)
{
	char command[COMMAND_WIDTH + 1];
	struct json json;

	json_begin(&json, stdout);
	json_open(&json, "error", '{');
	json_string(&json, "code", "refused");
	json_string(&json, "message", message);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < chosen->count; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "pid", (uint64_t)chosen->items[i].process.pid);
		put_printable(&json, "name", chosen->items[i].name);
		put_printable(&json, "command", hs_chosen_command(&chosen->items[i], command, sizeof(command)));
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

static enum exit_status refuse_several(const struct options *options, const struct hs_chosen *chosen)
{
	char message[100], command[COMMAND_WIDTH + 1];

	snprintf(message, sizeof(message), "%zu processes match: give the PID of one%s", chosen->count,
		 takes_one(options->command) ? "" : ", or --all for all of them");
	console_complain("%s\n", message);
	for (size_t i = 0; i < chosen->count; i++)
		console_explain(options, "%8d  %s\n", (int)chosen->items[i].process.pid,
				hs_chosen_command(&chosen->items[i], command, sizeof(command)));
	if (options->json)
		put_several(message, chosen);
	return EXIT_REFUSED;
}

static bool are_too_many(const struct options *options, const struct hs_chosen *chosen)
{
	if (chosen->count <= 1)
		return false;
	return takes_one(options->command) || (chosen->by_filter && changes_process(options->command) && !options->all);
}

// False: *status_ret is what the command ends with.
static bool choose(const struct options *options, struct hs_chosen *ret, enum exit_status *status_ret)
{
	const struct hs_process_choice choice = { .pids = options->pids,
						  .pid_count = options->pid_count,
						  .filter = options->filter,
						  .attached = wants_attached(options->command) };
	struct hs_error *error;

	for (size_t i = 0; i < options->pid_count; i++)
		if (!hs_pid_is_number(options->pids[i]))
			*status_ret = EXIT_USAGE;
	error = hs_choose_processes(&choice, ret);
	if (error) {
		const enum exit_status failed = console_fail(options, error);

		*status_ret = *status_ret == EXIT_USAGE ? EXIT_USAGE : failed;
		return false;
	}
	if (are_too_many(options, ret))
		*status_ret = refuse_several(options, ret);
	else if (ret->count > 1 && options->output && !hs_output_is_folder(options->output))
		*status_ret = wrong_usage(options,
					  "several processes need a file each: -o DIR/ makes their names of program, "
					  "PID and time");
	else
		return true;
	hs_chosen_deinit(ret);
	return false;
}

void warn_of_hidden_processes(size_t hidden)
{
	if (hidden > 0)
		hs_warn("%zu process%s could not be looked at (those of other users need privilege)", hidden,
			hidden == 1 ? "" : "es");
}

static void warn_of_left_out(const struct hs_chosen *chosen)
{
	if (chosen->not_attached)
		hs_warn("not attached, and so left out: %s", chosen->not_attached_text);
	warn_of_hidden_processes(chosen->not_looked_at);
}

// What status says of a process begins with its number and name.
static bool has_heading(enum command command) { return command != COMMAND_STATUS; }

enum outcome { OUTCOME_DONE, OUTCOME_FAILED, OUTCOME_ENDED };

static enum outcome do_one(const struct options *options, struct hs_chosen *chosen, size_t i, process_command *command,
			   void *context)
{
	struct process *process = &chosen->items[i].process;

	if (chosen->count > 1 || chosen->by_filter) // of one too: the filter may have found another than was thought of
		console_begin_process(options, process->pid, chosen->items[i].name, has_heading(options->command));
	if (chosen->by_filter) {
		struct hs_error *error = process_hold(process);
		const bool is_gone = error && error->code == HS_ERROR_GONE;

		if (error) {
			console_fail(options, error);
			return is_gone ? OUTCOME_ENDED : OUTCOME_FAILED;
		}
	}
	if (command(options, process, context) == EXIT_DONE)
		return OUTCOME_DONE;
	return chosen->by_filter && !process_lives(process) ? OUTCOME_ENDED : OUTCOME_FAILED;
}

enum exit_status each_process(const struct options *options, process_command *command, void *context)
{
	size_t counts[OUTCOME_ENDED + 1] = { 0 };
	enum exit_status status = EXIT_REFUSED;
	struct hs_chosen chosen;
	size_t i;

	if (!choose(options, &chosen, &status))
		return status;
	warn_of_left_out(&chosen);
	for (i = 0; i < chosen.count && !console_was_interrupted() && !hs_tool_is_interrupted(); i++) {
		counts[do_one(options, &chosen, i, command, context)]++;
		process_close(&chosen.items[i].process);
	}
	if (i < chosen.count)
		console_complain("interrupted; not begun: %zu of %zu processes\n", chosen.count - i, chosen.count);
	status = counts[OUTCOME_DONE] && !counts[OUTCOME_FAILED] && i == chosen.count ? EXIT_DONE : EXIT_REFUSED;
	hs_chosen_deinit(&chosen);
	return status;
}
