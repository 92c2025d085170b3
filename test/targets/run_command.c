// SPDX-License-Identifier: Apache-2.0
// A command that does what its arguments say and ends, one after the other. Before main, and first of all in main, it
// allocates: 7001 bytes in in_constructor, 5001 in first.
//   say TEXT          writes the line
//   cat               copies its input to its output
//   signals NUMBER    writes a line for each signal of those that people send, until there were so many
//   tally SECONDS     counts them for so long, then writes how often each came: "SIGINT 1"
//   sleep SECONDS
//   work SECONDS      allocates and frees all the time, keeping what it has allocated in kept_in_work: 1000 of 100
//   others            from now on another thread does the rest; the main one ends
//   threads NUMBER    so many more: every thirtieth allocates and frees, the others wait
//   fork              a child allocates and ends
//   vfork SECONDS     a child that shares its memory sleeps for so long and ends
//   spawn NUMBER      so many children, one after the other, are this program and return 7 (posix_spawn)
//   vforks SECONDS    the same in another thread, while the rest goes on
//   join              waits for that thread
//   wait MS NUMBER    so often for so long, in a call that a stop ends early; EINTR without a signal ends it
//   stop              by SIGSTOP
//   exec PROGRAM ...  becomes another program
//   return N, _exit N
//   raise NUMBER      with its default action
//   crash             by a null pointer
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 2000 };
static void *kept[KEPT];
static size_t kept_count;
static char **words;
static char *program;
static const int sent[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };
enum { SENT = sizeof(sent) / sizeof(sent[0]) };

static void set(void *block, size_t size)
{
	if (!block)
		abort();
	memset(block, 1, size);
	kept[kept_count++ % KEPT] = block;
}

// Who calls this is the site.
#define KEEP(size) set(malloc(size), size)

__attribute__((noinline)) static void in_constructor(void) { KEEP(7001); }
__attribute__((noinline)) static void first(void) { KEEP(5001); }
__attribute__((noinline)) static void in_thread(void) { KEEP(3001); }
__attribute__((noinline)) static void kept_in_work(void)
{
	for (int i = 0; i < 1000; i++)
		KEEP(100);
}

__attribute__((constructor)) static void begin(void) { in_constructor(); }

static const char *word(void)
{
	if (!*words) {
		fprintf(stderr, "run_command: a word is missing\n");
		exit(99);
	}
	return *words++;
}

static void say(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
}

static void block_sent(sigset_t *set)
{
	sigemptyset(set);
	for (int i = 0; i < SENT; i++)
		sigaddset(set, sent[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

static void say_signals(int count)
{
	sigset_t set;

	block_sent(&set);
	say("ready");
	while (count-- > 0) {
		int number = sigwaitinfo(&set, NULL);

		printf("SIG%s\n", number > 0 ? sigabbrev_np(number) : "?");
		fflush(stdout);
	}
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void tally(double seconds)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	const double end = now() + seconds;
	int counts[64] = { 0 };
	sigset_t set;

	block_sent(&set);
	say("ready");
	while (now() < end) {
		int number = sigtimedwait(&set, NULL, &moment);

		if (number > 0)
			counts[number]++;
	}
	for (int i = 0; i < SENT; i++)
		if (counts[sent[i]])
			printf("SIG%s %d\n", sigabbrev_np(sent[i]), counts[sent[i]]);
	say("end");
}

static void work(double seconds)
{
	const double end = now() + seconds;

	kept_in_work();
	say("ready");
	while (now() < end) {
		for (int i = 0; i < 1000; i++) {
			void *volatile block = malloc((size_t)i);

			free(block);
		}
		usleep(1000);
	}
}

static void sleep_for(double seconds)
{
	struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static void copy_input(void)
{
	char line[100];

	while (fgets(line, sizeof(line), stdin))
		fputs(line, stdout);
	fflush(stdout);
}

static void fork_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		KEEP(9001);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		exit(98);
}

static void vfork_child(double seconds)
{
	pid_t child = vfork();

	if (child == 0) {
		sleep_for(seconds);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		exit(91);
}

static pthread_t vforking;

static void *vfork_in_thread(void *seconds)
{
	vfork_child(*(double *)seconds);
	return NULL;
}

static void vfork_beside(double how_long)
{
	static double seconds;

	seconds = how_long;
	if (pthread_create(&vforking, NULL, vfork_in_thread, &seconds) != 0)
		exit(89);
}

static void wait_in_call(int milliseconds, int count)
{
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC);

	for (; count > 0; count--)
		if (epoll_wait(fd, &event, 1, milliseconds) != 0)
			exit(92);
	close(fd);
}

static void wait_in_calls(void)
{
	const int milliseconds = atoi(word());

	wait_in_call(milliseconds, atoi(word()));
}

static void spawn_children(int count)
{
	char *const arguments[] = { program, "return", "7", NULL };

	while (count-- > 0) {
		pid_t child;
		int status;

		if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0 ||
		    waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			exit(93);
	}
}

static void end_by(int number)
{
	const struct rlimit none = { 0 };

	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	raise(number);
}

static void do_words(void);

static void *go_on(void *unused)
{
	(void)unused;
	in_thread();
	do_words();
	exit(0);
}

static void go_on_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, go_on, NULL) != 0)
		exit(97);
	pthread_exit(NULL);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *allocate_for_ever(void *unused)
{
	for (;;) {
		void *volatile block = malloc(50);

		free(block);
	}
	return unused;
}

static void make_threads(int count)
{
	pthread_t thread;

	while (count-- > 0)
		if (pthread_create(&thread, NULL, count % 30 ? wait_for_ever : allocate_for_ever, NULL) != 0)
			exit(94);
	usleep(200000);
}

static void do_word(const char *what)
{
	if (strcmp(what, "say") == 0)
		say(word());
	else if (strcmp(what, "cat") == 0)
		copy_input();
	else if (strcmp(what, "signals") == 0)
		say_signals(atoi(word()));
	else if (strcmp(what, "tally") == 0)
		tally(atof(word()));
	else if (strcmp(what, "sleep") == 0)
		sleep_for(atof(word()));
	else if (strcmp(what, "work") == 0)
		work(atof(word()));
	else if (strcmp(what, "others") == 0)
		go_on_in_thread();
	else if (strcmp(what, "threads") == 0)
		make_threads(atoi(word()));
	else if (strcmp(what, "fork") == 0)
		fork_child();
	else if (strcmp(what, "vfork") == 0)
		vfork_child(atof(word()));
	else if (strcmp(what, "vforks") == 0)
		vfork_beside(atof(word()));
	else if (strcmp(what, "join") == 0)
		pthread_join(vforking, NULL);
	else if (strcmp(what, "wait") == 0)
		wait_in_calls();
	else if (strcmp(what, "spawn") == 0)
		spawn_children(atoi(word()));
	else if (strcmp(what, "stop") == 0)
		raise(SIGSTOP);
	else if (strcmp(what, "exec") == 0) {
		execvp(words[0], words);
		exit(96);
	} else if (strcmp(what, "return") == 0)
		exit(atoi(word()));
	else if (strcmp(what, "_exit") == 0)
		_exit(atoi(word()));
	else if (strcmp(what, "raise") == 0)
		end_by(atoi(word()));
	else if (strcmp(what, "crash") == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		*(volatile int *)0 = 1;
	} else
		exit(95);
}

static void do_words(void)
{
	while (*words)
		do_word(word());
}

int main(int argc, char **argv)
{
	(void)argc;
	program = argv[0];
	words = argv + 1;
	first();
	do_words();
	return 0;
}
