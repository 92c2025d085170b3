// SPDX-License-Identifier: Apache-2.0
// The only file that knows ncurses: its lower half, libtinfo, the data base of terminals. The upper half would take the
// signals that end the program for itself, needs a locale for other characters than ASCII's, which small containers
// lack, and makes the static program larger by 290 KiB (docs/rejected-ideas.md).
#include "cli/terminal_codes.h"

#include <curses.h>
// After curses.h, which it needs.
#include <term.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_builtin; // the codes are those below

// ECMA-48, and of DEC's terminals what all of these types have: xterm's documentation (ctlseqs), "Private Modes".
static const struct terminal_codes builtin = {
	.enter = "\033[?1049h",
	.leave = "\033[?1049l",
	.hide_cursor = "\033[?25l",
	.show_cursor = "\033[?25h",
	.keys_on = "",
	.keys_off = "",
	.wrap_off = "\033[?7l",
	.wrap_on = "\033[?7h",
	.clear = "\033[H\033[2J",
	.clear_to_end = "\033[K",
	.bold = "\033[1m",
	.reversed = "\033[7m",
	.plain = "\033[m",
};

static bool is_known(const char *type)
{
	static const char *const beginnings[] = { "xterm", "screen", "tmux", "linux",   "vt100",     "vt220", "rxvt",
						  "kitty", "foot",   "st-",  "konsole", "alacritty", "gnome", "putty" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(type, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static const char *text_of(const char *capability)
{
	const char *text = tigetstr(capability);

	return text && text != (const char *)-1 ? text : "";
}

// setupterm has found an entry.
static struct hs_error *read_entry(const char *type, struct terminal_codes *ret)
{
	is_builtin = false;
	*ret = (struct terminal_codes){
		.enter = text_of("smcup"),
		.leave = text_of("rmcup"),
		.hide_cursor = text_of("civis"),
		.show_cursor = text_of("cnorm"),
		.keys_on = text_of("smkx"),
		.keys_off = text_of("rmkx"),
		.wrap_off = text_of("rmam"),
		.wrap_on = text_of("smam"),
		.clear = text_of("clear"),
		.clear_to_end = text_of("el"),
		.bold = text_of("bold"),
		.reversed = text_of("rev"),
		.plain = text_of("sgr0"),
	};
	if (*text_of("cup") && *ret->clear && *ret->clear_to_end)
		return NULL;
	return hs_error_create(HS_ERROR_REFUSED, "a terminal of the type '%s' (TERM) cannot be written to anywhere",
			       type);
}

struct hs_error *terminal_codes_of(const char *type, int fd, struct terminal_codes *ret)
{
	int found = 0;

	if (!type || !*type)
		return hs_error_create(HS_ERROR_REFUSED, "the type of the terminal is not known: TERM is not set");
	if (cur_term) // of an earlier call
		del_curterm(cur_term);
	if (setupterm(type, fd, &found) == OK)
		return read_entry(type, ret);
	if (!is_known(type))
		return hs_error_create(HS_ERROR_REFUSED,
				       found < 0 ? "no data base of terminals is here (terminfo), and the type '%s' "
						   "(TERM) is none that is known without"
						 : "a terminal of the type '%s' (TERM) is not known here; try "
						   "TERM=xterm or vt100",
				       type);
	is_builtin = true;
	*ret = builtin;
	return NULL;
}

const char *terminal_line_code(unsigned line)
{
	static char text[32];

	if (!is_builtin)
		return tparm(text_of("cup"), (long)line, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L);
	snprintf(text, sizeof(text), "\033[%u;1H", line + 1);
	return text;
}

// A delay, "$<5>", "$<5/>" or "$<5*>" (terminfo(5)), is for terminals on slow lines.
size_t terminal_code_bytes(const char *code, char *buffer, size_t room)
{
	size_t length = 0;

	while (*code && length < room) {
		if (code[0] == '$' && code[1] == '<' && strchr(code, '>'))
			code = strchr(code, '>') + 1;
		else
			buffer[length++] = *code++;
	}
	return length;
}
