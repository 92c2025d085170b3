// SPDX-License-Identifier: Apache-2.0
#include "cli/run_paths.h"

#include "base/cleanup.h"
#include "lib/dump.h"
#include "lib/dump_path.h"
#include "lib/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct hs_error *run_path_at_exit(const struct options *options, const char *name, pid_t pid, bool is_child, char **ret)
{
	const char *at_exit = options->at_exit;

	*ret = NULL;
	if (!at_exit)
		return NULL;
	if (hs_output_is_folder(at_exit))
		return dump_path_make(at_exit, name, (uint32_t)pid, (int64_t)time(NULL), 0, options->format, ret);
	if (is_child)
		return hs_run_numbered_name(at_exit, (unsigned)pid, ret);
	*ret = strdup(at_exit);
	return *ret ? NULL : &hs_error_no_memory;
}

struct hs_error *run_path_at_peak(const struct options *options, const char *name, pid_t pid, char **ret)
{
	char peak_name[HS_RUN_NAME_SIZE + sizeof("-peak")];

	*ret = NULL;
	if (!options->at_peak)
		return NULL;
	if (hs_output_is_folder(options->at_peak)) {
		snprintf(peak_name, sizeof(peak_name), "%s-peak", *name ? name : "process");
		return dump_path_make(options->at_peak, peak_name, (uint32_t)pid, (int64_t)time(NULL), 0,
				      options->format, ret);
	}
	*ret = strdup(options->at_peak);
	return *ret ? NULL : &hs_error_no_memory;
}

struct hs_error *run_path_of_snapshot(const struct options *options, const char *name, pid_t pid, unsigned number,
				      char **ret)
{
	HS_CLEANUP_FREE char *numbered = NULL;
	struct hs_error *error;

	*ret = NULL;
	if (hs_output_is_folder(options->output))
		return dump_path_make(options->output, name, (uint32_t)pid, (int64_t)time(NULL), number,
				      options->format, ret);
	error = hs_run_numbered_name(options->output, number, &numbered);
	if (!error && options->children)
		return hs_run_numbered_name(numbered, (unsigned)pid, ret);
	*ret = error ? NULL : HS_STEAL_POINTER(numbered);
	return error;
}

static struct hs_error *check(struct hs_error *error, const char *path, enum profile_format format)
{
	return error ? error : hs_dump_check_output(path, format);
}

struct hs_error *run_paths_check(const struct options *options)
{
	HS_CLEANUP_FREE char *name = NULL, *last = NULL, *peak = NULL;
	struct hs_error *error = run_path_at_exit(options, "heapsnap", getpid(), false, &last);

	error = check(error, last, options->format);
	if (!error)
		error = check(run_path_at_peak(options, "heapsnap", getpid(), &peak), peak, options->format);
	if (error || !options->output)
		return error;
	return check(run_path_of_snapshot(options, "heapsnap", getpid(), 1, &name), name, options->format);
}
