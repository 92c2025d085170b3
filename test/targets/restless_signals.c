// SPDX-License-Identifier: Apache-2.0
// Signals in floods, sleeps that must not be short, restartable sequences. See restless.h.
#include "restless.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

// Another process sends four kinds of signals, each with the numbers 0, 1, 2, ... as values; each kind is received by
// one thread in its own way, and must come whole and in order: none lost, none twice. No more than UNDER_WAY of a kind
// at one time: the queue has one limit for all processes of a user.
enum { IN_HANDLER, IN_SIGWAIT, IN_EPOLL_PWAIT, IN_SIGNALFD, KINDS, UNDER_WAY = 2000 };

static pid_t sender;
static int sender_says[2];
static atomic_uint *received;       // of each kind; the sender sees it, too
static unsigned sent_in_all[KINDS]; // once `sent_is_known`
static atomic_bool sent_is_known;

static int signal_of(int kind) { return SIGRTMIN + 1 + kind; }

static void receive(int kind, int value)
{
	unsigned expected = atomic_fetch_add(&received[kind], 1);

	EXPECT((unsigned)value == expected);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	receive(number - signal_of(0), info->si_value.sival_int);
}

static sigset_t set_of(int kind)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_of(kind));
	return set;
}

static volatile sig_atomic_t sender_ends;

static void end_sender(int number)
{
	(void)number;
	sender_ends = 1;
}

static void send_signals(void)
{
	unsigned sent[KINDS] = { 0 };
	pid_t target = getppid();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, end_sender);
	while (!sender_ends) {
		for (int kind = 0; kind < KINDS; kind++) {
			union sigval value = { .sival_int = (int)sent[kind] };

			if (sent[kind] - atomic_load(&received[kind]) < UNDER_WAY &&
			    sigqueue(target, signal_of(kind), value) == 0)
				sent[kind]++;
			else
				usleep(100);
		}
		if (sent[0] % 64 == 0)
			usleep(500);
	}
	_exit(write(sender_says[1], sent, sizeof(sent)) == sizeof(sent) ? 0 : 1);
}

static void prepare_flood(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t set;

	sigemptyset(&set);
	for (int kind = 0; kind < KINDS; kind++)
		sigaddset(&set, signal_of(kind));
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(signal_of(IN_HANDLER), &action, NULL);
	sigaction(signal_of(IN_EPOLL_PWAIT), &action, NULL);
	EXPECT(pipe(sender_says) == 0);
	received = mmap(NULL, sizeof(*received) * KINDS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(received != MAP_FAILED);
}

static int signal_fd, silent_epoll;

static void begin_flood(int kind)
{
	sigset_t set = set_of(kind);

	if (kind == IN_SIGNALFD)
		signal_fd = signalfd(-1, &set, 0);
	if (kind == IN_EPOLL_PWAIT)
		silent_epoll = epoll_create1(0);
	if (kind != IN_HANDLER)
		return;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	atomic_store(&sent_is_known, false);
	for (int i = 0; i < KINDS; i++)
		atomic_store(&received[i], 0);
	sender = fork();
	if (sender == 0)
		send_signals();
}

// At least one signal of its kind, or a while without.
static void receive_some(int kind)
{
	const struct timespec while_ = { .tv_nsec = 20000000 };
	sigset_t set = set_of(kind), mask;
	struct signalfd_siginfo info;
	struct epoll_event event;
	struct pollfd entry;
	siginfo_t received_info;

	switch (kind) {
	case IN_HANDLER:
		allocate_and_check(1);
		break;
	case IN_SIGWAIT:
		if (sigtimedwait(&set, &received_info, &while_) == signal_of(kind))
			receive(kind, received_info.si_value.sival_int);
		else
			EXPECT(errno == EAGAIN);
		break;
	case IN_EPOLL_PWAIT:
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		sigdelset(&mask, signal_of(kind));
		if (epoll_pwait(silent_epoll, &event, 1, 20, &mask) < 0)
			EXPECT(errno == EINTR);
		break;
	default:
		entry = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
		if (poll(&entry, 1, 20) == 1) {
			EXPECT(read(signal_fd, &info, sizeof(info)) == sizeof(info));
			receive(kind, info.ssi_int);
		}
	}
}

static void step_flood(int kind)
{
	unsigned before = atomic_load(&received[kind]);

	while (atomic_load(&received[kind]) < before + 10 && !atomic_load(&ends)) // the sender may have ended already
		receive_some(kind);
}

// The first one ends the sender; each receives what is still to come.
static void end_flood(int kind)
{
	if (kind == IN_HANDLER) {
		kill(sender, SIGUSR1);
		EXPECT(read(sender_says[0], sent_in_all, sizeof(sent_in_all)) == sizeof(sent_in_all));
		EXPECT(waitpid(sender, NULL, 0) == sender);
		atomic_store(&sent_is_known, true);
	}
	while (!atomic_load(&sent_is_known) || atomic_load(&received[kind]) < sent_in_all[kind])
		receive_some(kind);
	for (int i = 0; i < 3; i++)
		receive_some(kind);
	EXPECT(atomic_load(&received[kind]) == sent_in_all[kind]);
	if (kind == IN_SIGNALFD)
		close(signal_fd);
	if (kind == IN_EPOLL_PWAIT)
		close(silent_epoll);
}

// Sleeps of 50 ms that are neither short nor end with an error.
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void step_sleeps(int number)
{
	struct timespec time = { .tv_nsec = 50000000 };
	struct pollfd none = { .fd = -1 };
	double start = now();

	switch (number) {
	case 0:
		EXPECT(nanosleep(&time, NULL) == 0);
		break;
	case 1:
		clock_gettime(CLOCK_MONOTONIC, &time);
		time.tv_nsec += 50000000;
		if (time.tv_nsec >= 1000000000)
			time = (struct timespec){ time.tv_sec + 1, time.tv_nsec - 1000000000 };
		EXPECT(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == 0);
		break;
	case 2:
		EXPECT(poll(&none, 1, 50) == 0);
		break;
	default:
		EXPECT(ppoll(&none, 1, &time, NULL) == 0);
	}
	EXPECT(now() - start > 0.0499);
}

// A counter for each processor, increased in a restartable sequence: what all of them hold is what was counted, or a
// sequence went on after it had been interrupted.
static _Alignas(64) intptr_t counters[1024][8];
static atomic_long counted;

static struct rseq *rseq_area(void) { return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset); }

// One try. false = interrupted.
static bool count_up(struct rseq *area, uint32_t processor)
{
	bool done = true;

	__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n"
			 ".balign 32\n"
			 "3: .long 0, 0\n"
			 ".quad 1f, 2f - 1f, 4f\n"
			 ".popsection\n"
			 "lea 3b(%%rip), %%rax\n"
			 "mov %%rax, 8(%[area])\n"
			 "1: cmp %[processor], 4(%[area])\n"
			 "jne 5f\n"
			 "mov (%[counter]), %%rax\n"
			 "mov $200, %%ecx\n" // long enough to be met in it
			 "6: dec %%ecx\n"
			 "jnz 6b\n"
			 "inc %%rax\n"
			 "mov %%rax, (%[counter])\n"
			 "2: jmp 7f\n"
			 ".long 0x53053053\n" // the signature before the abort handler
			 "4: \n"
			 "5: movb $0, %[done]\n"
			 "7:\n"
			 : [done] "+m"(done)
			 : [area] "r"(area), [processor] "r"(processor), [counter] "r"(counters[processor])
			 : "rax", "rcx", "memory", "cc");
	return done;
}

static void prepare_sequences(void)
{
	if (__rseq_size == 0) {
		puts("no restartable sequences here");
		exit(0);
	}
}

static void step_sequences(int number)
{
	struct rseq *area = rseq_area();

	for (int i = 0; i < 100000; i++) {
		while (!count_up(area, *(volatile uint32_t *)&area->cpu_id_start))
			;
		atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed);
	}
	if (number == 0)
		allocate_and_check(1);
}

static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;
static int ended;

static void end_sequences(int number)
{
	long sum = 0;

	(void)number;
	pthread_mutex_lock(&ends_lock);
	if (++ended % behaviour->workers == 0) {
		for (int i = 0; i < 1024; i++)
			sum += counters[i][0];
		EXPECT(sum == atomic_load(&counted));
	}
	pthread_mutex_unlock(&ends_lock);
}

static const struct behaviour behaviours[] = {
	{ "flood", KINDS, prepare_flood, step_flood, begin_flood, end_flood },
	{ "sleeps", 4, NULL, step_sleeps, NULL, NULL },
	{ "sequences", 4, prepare_sequences, step_sequences, NULL, end_sequences },
};

int main(int argc, char **argv)
{
	return restless_main(argc, argv, behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
}
