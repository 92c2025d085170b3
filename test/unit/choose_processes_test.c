// SPDX-License-Identifier: Apache-2.0
// Which processes are chosen, among children of this test; e2e.processes tries it by the program.
#include "lib/choose_processes.h"

#include "check.h"
#include "lib/find_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CHILDREN = 3 };

static char name[16]; // no other run of this test has it
static pid_t children[CHILDREN];

static void begin_child(size_t i)
{
	int pipe_fds[2];
	char byte;

	CHECK(pipe(pipe_fds) == 0);
	children[i] = fork();
	if (children[i] < 0)
		exit(2); // kill(-1) would end every process
	if (children[i] == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		for (;;)
			pause();
	}
	close(pipe_fds[1]);
	CHECK(read(pipe_fds[0], &byte, 1) == 0); // it has its name
	close(pipe_fds[0]);
}

static void end_child(size_t i)
{
	kill(children[i], SIGKILL);
	CHECK(waitpid(children[i], NULL, 0) == children[i]);
}

static void test_filter(void)
{
	struct hs_process_choice choice = { .filter = { .name = name } };
	struct hs_chosen chosen;
	struct hs_error *error;

	CHECK(!hs_choose_processes(&choice, &chosen));
	CHECK(chosen.by_filter);
	CHECK_EQUAL(chosen.count, CHILDREN);
	for (size_t i = 0; i < chosen.count && i < CHILDREN; i++) {
		CHECK_STRING(chosen.items[i].name, name);
		CHECK(chosen.items[i].process.pidfd < 0); // glanced at only
		CHECK(i == 0 || chosen.items[i - 1].process.pid < chosen.items[i].process.pid);
	}
	hs_chosen_deinit(&chosen);
	CHECK(chosen.count == 0 && !chosen.items);

	choice.attached = true;
	error = hs_choose_processes(&choice, &chosen);
	CHECK(error && error->code == HS_ERROR_NOT_FOUND && strstr(error->message, "is attached: "));
	CHECK(chosen.count == 0 && !chosen.items);
	hs_error_destroy(error);

	choice = (struct hs_process_choice){ .filter = { .name = name, .user = "4294967294" } };
	error = hs_choose_processes(&choice, &chosen);
	CHECK(error && error->code == HS_ERROR_NOT_FOUND && strstr(error->message, "no process matches --name 'hs-c"));
	hs_error_destroy(error);
	choice.filter.name = "(";
	error = hs_choose_processes(&choice, &chosen);
	CHECK(error && error->code == HS_ERROR_BAD_DATA);
	hs_error_destroy(error);
}

static void test_numbers(void)
{
	char texts[4][16];
	const char *const pids[] = { texts[1], texts[0], texts[1], texts[2] };
	const struct hs_process_choice choice = { .pids = pids, .pid_count = COUNT(pids) };
	const char *const wrong[] = { texts[0], "x" };
	struct hs_chosen chosen;
	struct hs_error *error;

	snprintf(texts[0], sizeof(texts[0]), "%d", (int)children[0]);
	snprintf(texts[1], sizeof(texts[1]), "%d", (int)children[1]);
	snprintf(texts[2], sizeof(texts[2]), "%d", 2147483647); // there is none
	CHECK(!hs_choose_processes(&choice, &chosen));
	CHECK_EQUAL(chosen.count, 3);
	CHECK(!chosen.by_filter && chosen.items[0].process.pid == children[1] &&
	      chosen.items[1].process.pid == children[0]);
	CHECK_STRING(chosen.items[0].name, name);
	CHECK(chosen.items[2].process.folder < 0 && chosen.items[2].name[0] == 0);
	hs_chosen_deinit(&chosen);
	error = hs_choose_processes(&(struct hs_process_choice){ .pids = wrong, .pid_count = 2 }, &chosen);
	CHECK(error && error->code == HS_ERROR_NOT_FOUND && chosen.count == 0);
	hs_error_destroy(error);
}

// What has ended is not chosen; a handle of what has ended since says so.
static void test_ended(void)
{
	const struct hs_process_choice choice = { .filter = { .name = name } };
	struct hs_chosen chosen;
	struct hs_error *error;
	char command[8];

	kill(children[2], SIGKILL);
	CHECK(waitid(P_PID, (id_t)children[2], &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0); // a zombie
	CHECK(!hs_choose_processes(&choice, &chosen));
	CHECK_EQUAL(chosen.count, CHILDREN - 1);
	end_child(2);
	end_child(1);
	for (size_t i = 0; i < chosen.count; i++) {
		const bool has_ended = chosen.items[i].process.pid == children[1];

		hs_chosen_command(&chosen.items[i], command, sizeof(command));
		CHECK(!has_ended || strncmp(command, name, sizeof(command) - 1) == 0);
		error = process_hold(&chosen.items[i].process);
		CHECK_EQUAL(error && error->code == HS_ERROR_GONE, has_ended);
		hs_error_destroy(error);
	}
	hs_chosen_deinit(&chosen);
	end_child(0);
}

static void test_texts(void)
{
	struct hs_chosen_process items[20];
	char text[HS_CHOSEN_TEXT_SIZE], cut[40];
	const char long_name[] =
		"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
		"890123456789012345678901234567890123456789";

	for (size_t i = 0; i < COUNT(items); i++) {
		items[i].process = (struct process){ .pid = 2147483600 + (pid_t)i, .folder = -1, .pidfd = -1 };
		memset(items[i].name, 'n', sizeof(items[i].name));
		items[i].name[sizeof(items[i].name) - 1] = 0;
	}
	CHECK_STRING(hs_chosen_text(items, 0, text), "");
	hs_chosen_text(items, 20, text);
	CHECK(strstr(text, "2147483607 (nnnn") && !strstr(text, "2147483608") && strstr(text, ", ... (12 more)"));
	snprintf(items[0].name, sizeof(items[0].name), "a");
	snprintf(items[1].name, sizeof(items[1].name), "b");
	CHECK_STRING(hs_chosen_text(items, 2, text), "2147483600 (a), 2147483601 (b)");
	CHECK_STRING(
		hs_process_filter_text(&(struct hs_process_filter){ .name = "a b", .user = "c" }, cut, sizeof(cut)),
		"--name 'a b' --user 'c'");
	hs_process_filter_text(&(struct hs_process_filter){ .name = long_name, .cgroup = long_name, .user = "c" }, cut,
			       sizeof(cut));
	CHECK_EQUAL(strlen(cut), sizeof(cut) - 1);
}

int main(void)
{
	snprintf(name, sizeof(name), "hs-c%d", (int)getpid());
	for (size_t i = 0; i < CHILDREN; i++)
		begin_child(i);
	test_filter();
	test_numbers();
	test_ended();
	test_texts();
	return CHECK_RESULT();
}
