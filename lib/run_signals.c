// SPDX-License-Identifier: Apache-2.0
#include "lib/run_signals.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Those that people and programs send to a command.
static const int handed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };
// By which a terminal stops a process group.
static const int stopping[] = { SIGTSTP, SIGTTIN, SIGTTOU };

static bool is_among(int number, const int *list, size_t count)
{
	while (count-- > 0)
		if (list[count] == number)
			return true;
	return false;
}

#define IS_AMONG(number, list) is_among(number, list, sizeof(list) / sizeof((list)[0]))

static void make_set(int own, sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
		sigaddset(set, handed_on[i]);
	for (size_t i = 0; i < sizeof(stopping) / sizeof(stopping[0]); i++)
		sigaddset(set, stopping[i]);
	sigaddset(set, SIGCHLD);
	if (own)
		sigaddset(set, own);
}

void run_signals_begin(int own, struct run_signals *ret)
{
	sigset_t set;

	*ret = (struct run_signals){ .own = own };
	make_set(own, &set);
	sigprocmask(SIG_BLOCK, &set, &ret->before);
}

void run_signals_end(struct run_signals *signals) { sigprocmask(SIG_SETMASK, &signals->before, NULL); }

bool run_signal_is_for_command(int code, bool is_of_starter, int sender_group, int group)
{
	return code <= 0 &&
	       (is_of_starter || sender_group != group); // SI_USER, SI_QUEUE, SI_TKILL: a process has sent it
}

// Of those that are blocked.
static int pending_stop(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigpending(&set);
	for (size_t i = 0; i < sizeof(stopping) / sizeof(stopping[0]); i++)
		if (sigismember(&set, stopping[i]) == 1)
			return stopping[i];
	return 0;
}

// It goes on when the terminal's shell wants it to; that lets the command go on as well, but where it was sent to the
// tool alone. A SIGCONT of ours would take back a stop that both were sent since: Ctrl-Z right after fg.
static void stop_oneself(struct run_signals *signals, const struct process *command)
{
	int number;

	signals->wants_stop = false;
	raise(SIGSTOP);
	if (pending_stop())
		return;
	kill(command->pid, SIGCONT);
	number = pending_stop();
	if (number)
		kill(command->pid, number);
}

// Of the sender. -1: it has ended, or is in a PID namespace that is not seen from here (0), and so in no group here.
static int group_of(const siginfo_t *info) { return info->si_pid ? getpgid(info->si_pid) : -1; }

void run_signals_wait(struct run_signals *signals, const struct process *command, bool is_stopped, unsigned ms,
		      bool *is_due_ret)
{
	const struct timespec wait = { ms / 1000, (long)(ms % 1000) * 1000000 };
	siginfo_t info;
	sigset_t set;
	int number;

	if (signals->wants_stop && is_stopped)
		stop_oneself(signals, command);
	make_set(signals->own, &set);
	number = sigtimedwait(&set, &info, &wait);
	if (number <= 0 || number == SIGCHLD)
		return;
	if (number == signals->own)
		*is_due_ret = true;
	else if (IS_AMONG(number, stopping))
		signals->wants_stop = true;
	else if (run_signal_is_for_command(info.si_code, info.si_pid == getppid(), group_of(&info), getpgrp()))
		kill(command->pid, number);
}

void run_signals_of_writer(const struct run_signals *signals)
{
	for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
		signal(handed_on[i], SIG_IGN);
	// nobody would let it go on: the tool stops with the command, not with the terminal
	for (size_t i = 0; i < sizeof(stopping) / sizeof(stopping[0]); i++)
		signal(stopping[i], SIG_IGN);
	if (signals->own)
		signal(signals->own, SIG_IGN);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}
