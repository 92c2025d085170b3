// SPDX-License-Identifier: Apache-2.0
#include "lib/choose_processes.h"

#include "attach/guard/interrupt_signal.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_stat.h"
#include "base/proc_status.h"
#include "lib/find_process.h"
#include "lib/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define PF_KTHREAD 0x00200000u // include/linux/sched.h

enum {
	LISTED_MAX = 8,          // processes that a text names
	COMMAND_LINE_MAX = 4096, // bytes that are looked at
	ANCESTORS_MAX = 128,     // more are not told from others
	PASSWD_LIMIT = 64 << 20, // bytes
};

static const char passwd_path[] = "/etc/passwd";

// What is compared, and with what.
struct search {
	struct process_filter filter;
	bool has_user;
	uid_t user;
	pid_t own[ANCESTORS_MAX]; // the tool, and those by which it was started
	size_t own_count;
	struct hs_chosen *chosen;
};

static uint64_t parent_of(pid_t tid)
{
	HS_CLEANUP_PROCESS struct process process = PROCESS_CLOSED;
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_glance(tid, &process);

	if (!error)
		error = process_read_file(&process, "status", &text, NULL);
	hs_error_destroy(error);
	return text ? proc_status_number(text, "PPid:", 10, 0) : 0;
}

static void list_own(struct search *search)
{
	for (uint64_t pid = (uint64_t)getpid(); pid > 0 && pid <= INT32_MAX && search->own_count < ANCESTORS_MAX;
	     pid = parent_of((pid_t)pid))
		search->own[search->own_count++] = (pid_t)pid;
}

static bool is_own(const struct search *search, const struct process *process)
{
	for (size_t i = 0; i < search->own_count; i++)
		if (search->own[i] == process->pid)
			return true;
	return false;
}

static struct hs_error *find_user(const char *name, uid_t *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error;
	size_t size;

	if (user_number(name, ret))
		return NULL;
	error = hs_read_file(passwd_path, PASSWD_LIMIT, &text, &size);
	if (error || user_number_of_name(text, name, ret))
		return error;
	return hs_error_create(HS_ERROR_NOT_FOUND, "no user '%s' in %s; give the number instead: --user $(id -u %s)",
			       name, passwd_path, name);
}

// Errors of one process that are errors of the whole: the next would fail in the same way.
static bool is_fatal(const struct hs_error *error)
{
	return error->code == HS_ERROR_NO_MEMORY || hs_errno_is_shortage(error->error_number);
}

static struct hs_error *read_command_line(const struct process *process, char ret[static COMMAND_LINE_MAX + 1])
{
	HS_CLEANUP_CLOSE int fd = process_openat(process, "cmdline", O_RDONLY);
	size_t size = 0;
	ssize_t got = 0;

	if (fd < 0)
		return hs_error_system(errno, "cannot open /proc/%d/cmdline", (int)process->pid);
	do {
		got = read(fd, ret + size, COMMAND_LINE_MAX - size);
		size += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && size < COMMAND_LINE_MAX) || (got < 0 && errno == EINTR));
	if (got < 0)
		return hs_error_system(errno, "cannot read /proc/%d/cmdline", (int)process->pid);
	process_command_line(ret, size);
	return NULL;
}

// Its helpers too: they have names of their own.
static bool is_heapsnap(const char *name)
{
	static const char tool[] = "heapsnap";
	const size_t size = sizeof(tool) - 1;

	return strncmp(name, tool, size) == 0 && (name[size] == 0 || name[size] == '-');
}

// A program of the user's that lives, and no heapsnap: other runs of it have the same words on their command lines.
static struct hs_error *is_candidate(const struct process *process, char name[static HS_CHOSEN_NAME_SIZE], bool *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "stat", &text, NULL);
	struct proc_stat stat;

	*ret = false;
	if (error || !proc_stat_parse(text, &stat))
		return error;
	snprintf(name, HS_CHOSEN_NAME_SIZE, "%.*s", (int)stat.name_size, stat.name);
	*ret = !(stat.flags & PF_KTHREAD) && !is_heapsnap(name) && (proc_stat_lives(text) || stat.thread_count > 1);
	return NULL;
}

static struct hs_error *has_user(const struct search *search, const struct process *process, bool *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "status", &text, NULL);
	unsigned users[3];

	*ret = !error && proc_status_ids(text, "Uid:", users) && users[1] == search->user;
	return error;
}

static struct hs_error *has_groups(const struct search *search, const struct process *process, bool *ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "cgroup", &text, NULL);

	*ret = !error && (!search->filter.cgroup || process_filter_has_cgroup(&search->filter, text)) &&
	       (!search->filter.container || process_filter_has_container(&search->filter, text));
	return error;
}

static struct hs_error *has_name(const struct search *search, const struct process *process, const char *name,
				 bool *ret)
{
	char command_line[COMMAND_LINE_MAX + 1];
	struct hs_error *error;

	*ret = process_filter_has_name(&search->filter, name, "");
	if (*ret)
		return NULL;
	error = read_command_line(process, command_line);
	*ret = !error && process_filter_has_name(&search->filter, name, command_line);
	return error;
}

// What costs most comes last.
static struct hs_error *is_meant(const struct search *search, const struct process *process,
				 char name[static HS_CHOSEN_NAME_SIZE], bool *ret)
{
	struct hs_error *error = is_candidate(process, name, ret);

	if (!error && *ret && search->has_user)
		error = has_user(search, process, ret);
	if (!error && *ret && (search->filter.cgroup || search->filter.container))
		error = has_groups(search, process, ret);
	if (!error && *ret && search->filter.has_name)
		error = has_name(search, process, name, ret);
	return error;
}

static struct hs_error *add(struct hs_chosen *chosen, struct process *process, const char *name)
{
	struct hs_error *error = NULL;

	if (chosen->count == HS_CHOSEN_MAX)
		return hs_error_create(HS_ERROR_REFUSED, "more than %d processes are meant: say more of them",
				       HS_CHOSEN_MAX);
	error = ARRAY_RESERVE(chosen->items, chosen->count + 1, &chosen->room);
	if (error)
		return error;
	chosen->items[chosen->count].process = *process;
	snprintf(chosen->items[chosen->count].name, HS_CHOSEN_NAME_SIZE, "%s", name);
	chosen->count++;
	*process = PROCESS_CLOSED;
	return NULL;
}

// Takes over the handle.
static struct hs_error *look_at(struct search *search, struct process *process)
{
	char name[HS_CHOSEN_NAME_SIZE] = "";
	bool is = false;
	struct hs_error *error = is_own(search, process) ? NULL : is_meant(search, process, name, &is);

	if (!error && is)
		error = add(search->chosen, process, name);
	process_close(process);
	if (!error || is_fatal(error) || error->code == HS_ERROR_REFUSED)
		return error;
	// One that has ended was not meant.
	search->chosen->not_looked_at += error->error_number != ENOENT && error->error_number != ESRCH;
	hs_error_destroy(error);
	return NULL;
}

static int compare_pids(const void *left, const void *right)
{
	const struct hs_chosen_process *a = left, *b = right;

	return a->process.pid < b->process.pid ? -1 : a->process.pid > b->process.pid;
}

static struct hs_error *walk(struct search *search)
{
	struct process_walk walk;
	struct hs_error *error = NULL;

	if (!process_walk_begin(&walk))
		return hs_error_system(errno, "cannot list /proc");
	for (pid_t pid; !error && (pid = process_walk_next(&walk));) {
		struct process process;

		error = process_glance(pid, &process);
		if (!error) {
			error = look_at(search, &process);
		} else if (!is_fatal(error)) {
			search->chosen->not_looked_at += error->code != HS_ERROR_REFUSED;
			hs_error_destroy(error);
			error = NULL;
		}
		if (!error)
			error = interrupt_signal_check();
	}
	process_walk_end(&walk);
	return error;
}

static struct hs_error *nothing_found(const struct hs_process_filter *filter, const struct hs_chosen *chosen)
{
	char text[HS_CHOSEN_TEXT_SIZE];

	hs_process_filter_text(filter, text, sizeof(text));
	if (chosen->not_looked_at)
		return hs_error_create(
			HS_ERROR_NOT_FOUND,
			"no process matches %s, but %zu could not be looked at (those of other users need "
			"privilege: sudo)",
			text, chosen->not_looked_at);
	return hs_error_create(
		HS_ERROR_NOT_FOUND, "no process matches %s%s", text,
		processes_are_unlisted() ? ", but /proc hides some (those of other users need privilege: sudo)" : "");
}

enum attachment { IS_ATTACHED, IS_NOT_ATTACHED, HAS_ENDED };

// Who may not be asked counts as attached: the command then says why.
static struct hs_error *ask_attached(const struct process *process, enum attachment *ret)
{
	struct hs_status status;
	struct hs_error *error = interrupt_signal_check();

	if (!error)
		error = hs_status_read(process, &status, NULL);
	*ret = IS_ATTACHED;
	if (!error || error->code == HS_ERROR_INTERRUPTED || is_fatal(error))
		return error;
	if (!process_lives(process))
		*ret = HAS_ENDED;
	else if (error->code == HS_ERROR_NOT_FOUND)
		*ret = IS_NOT_ATTACHED;
	hs_error_destroy(error);
	return NULL;
}

// Leaves those out in which there is nothing of heapsnap.
static struct hs_error *keep_attached(const struct hs_process_filter *filter, struct hs_chosen *chosen)
{
	HS_CLEANUP_FREE struct hs_chosen_process *others = calloc(chosen->count, sizeof(*others));
	char text[HS_CHOSEN_TEXT_SIZE];
	struct hs_error *error = NULL;
	size_t kept = 0;

	if (!others)
		return &hs_error_no_memory;
	for (size_t i = 0; i < chosen->count; i++) {
		enum attachment attachment = IS_ATTACHED;

		error = error ? error : ask_attached(&chosen->items[i].process, &attachment);
		if (attachment == IS_ATTACHED)
			chosen->items[kept++] = chosen->items[i];
		else if (attachment == IS_NOT_ATTACHED)
			others[chosen->not_attached++] = chosen->items[i];
		else
			process_close(&chosen->items[i].process);
	}
	chosen->count = kept;
	hs_chosen_text(others, chosen->not_attached, chosen->not_attached_text);
	for (size_t i = 0; i < chosen->not_attached; i++)
		process_close(&others[i].process);
	if (error || kept)
		return error;
	hs_process_filter_text(filter, text, sizeof(text));
	if (!chosen->not_attached)
		return nothing_found(filter, chosen);
	return hs_error_create(HS_ERROR_NOT_FOUND, "no process that matches %s is attached: %s", text,
			       chosen->not_attached_text);
}

static struct hs_error *choose_by_filter(const struct hs_process_choice *choice, struct hs_chosen *ret)
{
	struct search search = { .has_user = choice->filter.user, .chosen = ret };
	struct hs_error *error = process_filter_init(&search.filter, &choice->filter);

	ret->by_filter = true;
	if (!error && choice->filter.user)
		error = find_user(choice->filter.user, &search.user);
	if (!error) {
		list_own(&search);
		error = walk(&search);
	}
	process_filter_deinit(&search.filter);
	if (!error && ret->count == 0)
		error = nothing_found(&choice->filter, ret);
	if (error)
		return error;
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_pids);
	return choice->attached ? keep_attached(&choice->filter, ret) : NULL;
}

static bool is_chosen(const struct hs_chosen *chosen, const struct process *process)
{
	for (size_t i = 0; i < chosen->count; i++)
		if (chosen->items[i].process.pid == process->pid)
			return true;
	return false;
}

static void read_name(const struct process *process, char name[static HS_CHOSEN_NAME_SIZE])
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "comm", &text, NULL);

	if (!error)
		snprintf(name, HS_CHOSEN_NAME_SIZE, "%.*s", (int)strcspn(text, "\n"), text);
	hs_error_destroy(error);
}

static struct hs_error *choose_by_numbers(const struct hs_process_choice *choice, struct hs_chosen *ret)
{
	struct hs_error *error = NULL;

	for (size_t i = 0; i < choice->pid_count && !error; i++) {
		char name[HS_CHOSEN_NAME_SIZE] = "";
		struct process process;

		error = hs_find_process(choice->pids[i], &process);
		if (!error && !is_chosen(ret, &process)) {
			read_name(&process, name);
			error = add(ret, &process, name);
		}
		process_close(&process);
	}
	return error;
}

struct hs_error *hs_choose_processes(const struct hs_process_choice *choice, struct hs_chosen *ret)
{
	struct hs_error *error;

	*ret = (struct hs_chosen){ .items = NULL };
	error = choice->pid_count ? choose_by_numbers(choice, ret) : choose_by_filter(choice, ret);
	if (error)
		hs_chosen_deinit(ret);
	return error;
}

void hs_chosen_deinit(struct hs_chosen *chosen)
{
	for (size_t i = 0; i < chosen->count; i++)
		process_close(&chosen->items[i].process);
	free(chosen->items);
	*chosen = (struct hs_chosen){ .items = NULL };
}

const char *hs_process_filter_text(const struct hs_process_filter *filter, char *buffer, size_t size)
{
	const char *const names[] = { "--name", "--cgroup", "--container", "--user" };
	const char *const values[] = { filter->name, filter->cgroup, filter->container, filter->user };
	size_t length = 0;

	buffer[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && length < size; i++)
		if (values[i])
			length += (size_t)snprintf(buffer + length, size - length, "%s%s '%.100s'", length ? " " : "",
						   names[i], values[i]);
	return buffer;
}

const char *hs_chosen_text(const struct hs_chosen_process *items, size_t count, char buffer[static HS_CHOSEN_TEXT_SIZE])
{
	size_t length = 0;

	_Static_assert(HS_CHOSEN_TEXT_SIZE > LISTED_MAX * (HS_CHOSEN_NAME_SIZE + 14) + 30, "the longest text fits");
	buffer[0] = 0;
	for (size_t i = 0; i < count && i < LISTED_MAX; i++)
		length += (size_t)snprintf(buffer + length, HS_CHOSEN_TEXT_SIZE - length, "%s%d (%s)", i ? ", " : "",
					   (int)items[i].process.pid, items[i].name);
	if (count > LISTED_MAX)
		snprintf(buffer + length, HS_CHOSEN_TEXT_SIZE - length, ", ... (%zu more)", count - LISTED_MAX);
	return buffer;
}

const char *hs_chosen_command(const struct hs_chosen_process *chosen, char *buffer, size_t size)
{
	char command_line[COMMAND_LINE_MAX + 1] = "";
	struct hs_error *error = read_command_line(&chosen->process, command_line);

	hs_error_destroy(error);
	snprintf(buffer, size, "%s", error || !command_line[0] ? chosen->name : command_line);
	return buffer;
}
