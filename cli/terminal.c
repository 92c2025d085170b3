// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/terminal_codes.h"
#include "lib/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
	CODE_SIZE = 64,       // bytes
	RESTORE_SIZE = 512,   //
	STEP_NS = 200000000,  // where the kernel tells nobody that the process has ended
	WRITE_WAIT_MS = 1000, // a terminal that was halted (^S)
	LINES_DEFAULT = 24,   //
	COLUMNS_DEFAULT = 80  //
};

static struct {
	struct terminal_codes codes;
	struct termios before;
	bool is_open;
	struct screen shown;        // what stands on it
	char restore[RESTORE_SIZE]; // for a handler too, which can call nothing but write
	size_t restore_length;
} terminal;

static volatile sig_atomic_t was_resized, was_suspended, was_continued;

struct hs_error *terminal_check(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return hs_error_create(HS_ERROR_REFUSED, "standard input and output are no terminal");
	return terminal_codes_of(getenv("TERM"), STDOUT_FILENO, &terminal.codes);
}

static void note_signal(int number)
{
	was_resized = was_resized || number != SIGTSTP;
	was_suspended = was_suspended || number == SIGTSTP;
	was_continued = was_continued || number == SIGCONT;
}

// What is to come after a fault: the same as without this, but on a terminal that can be used.
static void give_back_and_die(int number)
{
	if (terminal.is_open) {
		const ssize_t written = write(STDOUT_FILENO, terminal.restore, terminal.restore_length);

		(void)written;
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	}
	raise(number); // SA_RESETHAND: it ends the program once the handler is over
}

static const int noted[] = { SIGWINCH, SIGCONT, SIGTSTP };
static const int deadly[] = { SIGQUIT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

// No SA_RESTART, so that waits return.
static void take_signals(void)
{
	struct sigaction note = { .sa_handler = note_signal }, die = { .sa_handler = give_back_and_die };

	sigemptyset(&note.sa_mask);
	sigemptyset(&die.sa_mask);
	die.sa_flags = (int)SA_RESETHAND;
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		sigaction(noted[i], &note, NULL);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		sigaction(deadly[i], &die, NULL);
}

static void give_signals_back(void)
{
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		signal(noted[i], SIG_DFL);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
}

// Into terminal.restore; what there is no room for is left out.
static void add_restoring(const char *code)
{
	terminal.restore_length += terminal_code_bytes(code, terminal.restore + terminal.restore_length,
						       RESTORE_SIZE - terminal.restore_length);
}

static void make_restoring(void)
{
	const struct terminal_codes *codes = &terminal.codes;

	terminal.restore_length = 0;
	add_restoring(codes->plain);
	add_restoring(codes->wrap_on);
	add_restoring(codes->keys_off);
	add_restoring(codes->show_cursor);
	add_restoring(codes->clear); // where there is no other screen to go back to
	add_restoring(codes->leave);
}

// False: not all of it, because the terminal is halted or gone, or a signal came that ends the program.
static bool write_all(const char *bytes, size_t count)
{
	struct pollfd room = { .fd = STDOUT_FILENO, .events = POLLOUT };

	while (count > 0) {
		ssize_t written;

		if (poll(&room, 1, WRITE_WAIT_MS) == 0)
			return false;
		written = write(STDOUT_FILENO, bytes, count);
		if (written < 0 && (errno != EINTR || hs_tool_is_interrupted()))
			return false;
		bytes += written > 0 ? written : 0;
		count -= written > 0 ? (size_t)written : 0;
	}
	return true;
}

static void write_code(FILE *file, const char *code)
{
	char bytes[CODE_SIZE];

	fwrite(bytes, 1, terminal_code_bytes(code, bytes, sizeof(bytes)), file);
}

// Keys one by one and without echo. ^C stays a signal; ^Z is a key, so that the program stops where it can give the
// terminal back, and none of the processes that it has started stops beside it.
static bool change_modes(void)
{
	struct termios modes;

	if (tcgetattr(STDIN_FILENO, &modes) != 0)
		return false;
	if (!terminal.is_open || modes.c_lflag & ICANON) // else they are these already
		terminal.before = modes;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	modes.c_cc[VSUSP] = _POSIX_VDISABLE;
	return tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0;
}

// Standard output is written around stdio: what stands in that goes first.
static void enter(void)
{
	HS_CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	fflush(stdout);
	if (!file)
		return;
	write_code(file, terminal.codes.enter);
	write_code(file, terminal.codes.keys_on);
	write_code(file, terminal.codes.hide_cursor);
	write_code(file, terminal.codes.wrap_off);
	if (fclose(file) == 0)
		write_all(text, size);
}

struct hs_error *terminal_open(void)
{
	make_restoring();
	if (!change_modes())
		return hs_error_system(errno, "the terminal's modes cannot be changed");
	terminal.is_open = true;
	take_signals();
	enter();
	terminal_redraw();
	return NULL;
}

// The program was stopped, by a signal that it is not told of, and the shell has had the terminal meanwhile.
static void take_again(void)
{
	was_continued = 0;
	change_modes();
	enter();
	terminal_redraw();
}

void terminal_close(void)
{
	if (!terminal.is_open)
		return;
	write_all(terminal.restore, terminal.restore_length);
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	terminal.is_open = false;
	give_signals_back();
	screen_deinit(&terminal.shown);
}

struct hs_error *terminal_suspend(void)
{
	terminal_close();
	was_suspended = was_continued = 0;
	raise(SIGTSTP);
	return terminal_open();
}

void terminal_size(unsigned *lines_ret, unsigned *columns_ret)
{
	struct winsize size = { 0 };
	const bool is_said = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;

	*lines_ret = is_said && size.ws_row ? size.ws_row : LINES_DEFAULT;
	*columns_ret = is_said && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

void terminal_redraw(void) { screen_deinit(&terminal.shown); }

static bool stands_there(const struct screen *screen, size_t line)
{
	const struct screen *shown = &terminal.shown;

	return screen->lines[line].look == shown->lines[line].look &&
	       strcmp(screen->lines[line].text, shown->lines[line].text) == 0;
}

static void write_line(FILE *file, const struct screen_line *line, unsigned number)
{
	const struct terminal_codes *codes = &terminal.codes;
	const char *place = terminal_line_code(number);

	write_code(file, place ? place : "");
	write_code(file, line->look == LOOK_BOLD ? codes->bold : line->look == LOOK_REVERSED ? codes->reversed : "");
	fputs(line->text, file);
	write_code(file, line->look == LOOK_PLAIN ? "" : codes->plain);
	write_code(file, codes->clear_to_end);
}

// A copy of what is shown now.
static struct hs_error *remember(const struct screen *screen)
{
	struct hs_error *error;

	screen_deinit(&terminal.shown);
	error = screen_init((unsigned)screen->count, screen->columns, &terminal.shown);
	for (size_t i = 0; i < screen->count && !error; i++)
		error = screen_put(&terminal.shown, i, screen->lines[i].look, "%s", screen->lines[i].text);
	return error;
}

struct hs_error *terminal_show(const struct screen *screen)
{
	const bool is_new = screen->count != terminal.shown.count || screen->columns != terminal.shown.columns;
	HS_CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return &hs_error_no_memory;
	if (is_new)
		write_code(file, terminal.codes.clear);
	for (size_t i = 0; i < screen->count; i++)
		if (is_new || !stands_there(screen, i))
			write_line(file, &screen->lines[i], (unsigned)i);
	if (fclose(file) != 0)
		return &hs_error_no_memory;
	if (write_all(text, size))
		return remember(screen);
	terminal_redraw();
	return NULL;
}

// What has happened and was not told yet.
static unsigned take_events(void)
{
	const unsigned events = (hs_tool_is_interrupted() ? (unsigned)TERMINAL_INTERRUPTED : 0) |
				(was_suspended ? (unsigned)TERMINAL_SUSPENDED : 0) |
				(was_resized ? (unsigned)TERMINAL_RESIZED : 0);

	was_suspended = was_resized = 0;
	return events;
}

// The same, and what is seen within so long. The signals are held, and let in while it waits.
static unsigned wait_for(const struct process *process, uint64_t ns, const sigset_t *let_in)
{
	const struct timespec most = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	struct pollfd files[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				  { .fd = process->pidfd, .events = POLLIN } };
	unsigned events = take_events();

	if (events)
		return events;
	if (ppoll(files, 2, &most, let_in) <= 0)
		return take_events() | (process_lives(process) ? 0 : (unsigned)TERMINAL_ENDED);
	return (files[0].revents ? (unsigned)TERMINAL_TYPED : 0) | (files[1].revents ? (unsigned)TERMINAL_ENDED : 0);
}

unsigned terminal_wait(const struct process *process, uint64_t deadline_ns)
{
	unsigned events = 0;
	sigset_t held, before;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		sigaddset(&held, noted[i]);
	sigprocmask(SIG_BLOCK, &held, &before);
	do {
		const uint64_t now = hs_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;

		events = wait_for(process, left < STEP_NS ? left : STEP_NS, &before);
	} while (!events && hs_monotonic_ns() < deadline_ns);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (was_continued)
		take_again();
	return events;
}

size_t terminal_read(char *buffer, size_t room)
{
	for (;;) {
		const ssize_t count = read(STDIN_FILENO, buffer, room);

		if (count >= 0)
			return (size_t)count;
		if (errno != EINTR || hs_tool_is_interrupted())
			return 0;
	}
}
