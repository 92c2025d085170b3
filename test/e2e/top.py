# SPDX-License-Identifier: Apache-2.0
"""`heapsnap top` at a terminal of its own: it names the line of the site that grows, sorts, searches, shows callers; and however it ends, the terminal is as it
was, and the process is left as it was found: attached or not. It never stops the process to look at it. usage: top.py [CASE...]"""

import os
import re
import signal
import termios

from harness import (HEAPSNAP, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, heapsnap, root, run_cases, say, stop,
                     temporary_directory, wait_until)
from terminal import Terminal

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets", "top_sites.c")
EVERY = ("--every", "200ms", "--exact")


def line_of(words):
    """The number of the source line that says so at its end."""
    with open(SOURCE, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"// {words}"))


def places():
    return {name: f"{name}  top_sites.c:{line_of(words)}" for name, words in
            (("make_large", "line of the large block"), ("make_small", "line of the small blocks"), ("make_growing", "line of the growing site"))}


def top(target, *options, lines=24, columns=100, prefix=(), environment=None):
    """It runs, attached, with its first look on the screen."""
    terminal = Terminal([*prefix, HEAPSNAP, "top", str(target.pid), *options], lines, columns, environment)
    terminal.wait_for_text(r"^Recorded live")
    check(terminal.on_other_screen and terminal.cursor_is_hidden, "it has not taken the screen")
    return terminal


def top_of_sites(*options, **how):
    """The same of a program with three sites that differ, when all are on the screen with their rates."""
    target = Target("top_sites")
    terminal = top(target, *EVERY, *options, **how)
    check_equal(target.ask("work"), "working", "answer")
    terminal.wait_for(lambda: all(place in terminal.text() for place in places().values()) and "MiB/s ↑" in terminal.text() or
                      "KiB/s ↑" in terminal.text(), "three sites with their rates")
    return target, terminal


def order(terminal):
    """The functions in the rows, from the top."""
    return [match.group(1) for match in (re.search(r"(make_\w+)  top_sites", row) for row in terminal.rows()) if match]


def check_left(terminal, target, status=0):
    check_equal(terminal.end(), status, f"exit status; {terminal.text()}")
    terminal.check_restored()
    check_equal(attach_state(target.pid), None, "state")
    check(target.alive(), "the target has died")


def end(target):
    stop(target.process, signal.SIGKILL)


def grows():
    """The growing site, in the first three rows, with its line, its rate and an arrow; nobody was stopped for that."""
    target, terminal = top_of_sites()
    place = places()["make_growing"]
    terminal.wait_for(lambda: any(place in row and "↑" in row and re.search(r"\+[\d.]+ [KM]iB/s", row) for row in terminal.rows()[:3]), "the growing site")
    say("\n".join(terminal.rows()[:5]))
    check("Nothing lost." in terminal.text(), terminal.text())
    terminal.type("q")
    check_left(terminal, target)
    check("detached from" in terminal.raw.decode(), "it does not say that it has detached")
    end(target)


def keys():
    target, terminal = top_of_sites()
    terminal.wait_for(lambda: order(terminal)[0] == "make_growing", "by growth")
    terminal.type("s")
    terminal.wait_for(lambda: "by live bytes" in terminal.text() and order(terminal)[0] == "make_large", "by live bytes")
    terminal.type("s")
    terminal.wait_for(lambda: "by blocks" in terminal.text() and order(terminal)[0] == "make_small", "by blocks")
    terminal.type("s")
    terminal.wait_for(lambda: "by name" in terminal.text() and order(terminal)[-1] == "make_small", "by name")
    terminal.type("/LARGE")
    terminal.wait_for(lambda: order(terminal) == ["make_large"] and "/LARGE_" in terminal.text(), "what is searched for")
    terminal.type("\r")
    terminal.wait_for_text('match "LARGE"')
    terminal.type("\x1b")
    terminal.wait_for(lambda: set(order(terminal)) == set(places()), "all of them")
    terminal.type("/called_\x7f\x15growing\r")
    terminal.wait_for(lambda: set(order(terminal)) == {"make_growing"}, "what is searched for then")
    terminal.type("\x1b[B\x1b[A\r")
    terminal.wait_for_text(r"what allocates, then who calls it")
    terminal.wait_for_text(r"called_(often|seldom)  top_sites\.c:\d+")
    terminal.wait_for_text(r"grow  top_sites\.c:\d+")
    terminal.type("b?")
    terminal.wait_for_text(r"^Keys *$")
    terminal.type("b\x1b")
    terminal.wait_for(lambda: set(order(terminal)) == set(places()), "the sites")
    terminal.type("p")
    terminal.wait_for_text(r"^heapsnap top.*paused")
    terminal.type("p")
    terminal.wait_for_text(r"^heapsnap top.*every")
    terminal.type("q")
    check_left(terminal, target)
    end(target)


def sizes():
    """It follows the window, also to one that is too small."""
    target, terminal = top_of_sites()
    for lines, columns, expected in ((12, 60, r"^q quit  s sort"), (10, 40, r"growth    site"), (3, 20, r"^larger terminal nee"), (40, 120, r"\? help$")):
        terminal.clear()
        terminal.resize(lines, columns)
        terminal.wait_for_text(expected)
        terminal.wait_for(lambda: all(not "".join(line).rstrip() for line in terminal.screen[lines:]), "nothing below the last line")
        check(max(len("".join(line).rstrip()) for line in terminal.screen) <= columns, f"wider than {columns}:\n{terminal.text()}")
    terminal.type("q")
    check_left(terminal, target)
    end(target)


def signals():
    """^C and the others end it, and nothing else."""
    target = Target("cycles", 2)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")
    for way in ("\x03", signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        terminal = top(target, *EVERY)
        if isinstance(way, str):
            terminal.type(way)
        else:
            os.kill(terminal.process.pid, way)
        check_left(terminal, target)
        check_equal(target.ask("pause"), "paused", "answer")
        before.check_after(memory_may_change=True)
        check_equal(target.ask("continue"), "continued", "answer")
        terminal.close()
    check(target.end().startswith("ok "), "the target's blocks")


def terminal_goes():
    """Its window is closed: SIGHUP, and no terminal to restore."""
    target = Target("cycles", 2)
    terminal = top(target, *EVERY)
    terminal.close()
    check_equal(terminal.process.wait(120) in (0, 1), True, "exit status")
    check_equal(attach_state(target.pid), None, "state")
    check(target.end().startswith("ok "), "the target's blocks")


def target_ends():
    target = Target("cycles", 2)
    terminal = top(target, *EVERY)
    stop(target.process, signal.SIGKILL)
    check_equal(terminal.end(), 1, "exit status")
    terminal.check_restored()
    check(re.search(f"heapsnap: process {target.pid} has ended, after it was looked at for [0-9.]+ s", terminal.raw.decode()), terminal.raw.decode()[-300:])


def attached_already():
    """It is left attached, as it was."""
    target = Target("cycles", 2)
    attach(target.pid)
    terminal = top(target, "--every", "200ms")
    terminal.type("q")
    check_equal(terminal.end(), 0, "exit status")
    terminal.check_restored()
    check("it stays attached" in terminal.raw.decode(), "it does not say so")
    check_equal(attach_state(target.pid), "attached", "state")
    terminal.close()
    terminal = top(target, "--every", "200ms")
    detach(target.pid)
    check_equal(terminal.end(), 1, "exit status, where another command has detached")
    terminal.check_restored()
    check("was detached by another command" in terminal.raw.decode(), terminal.raw.decode()[-300:])
    check(target.end().startswith("ok "), "the target's blocks")


def suspended():
    """^Z gives the terminal back and stops it; it goes on where it was. So too where it is stopped from outside, and the shell has changed the modes."""
    target, terminal = top_of_sites()
    pid = terminal.process.pid
    for way in ("\x1a", signal.SIGTSTP):
        if isinstance(way, str):
            terminal.type(way)
        else:
            os.kill(pid, way)
        # An orphaned process group, as this one is, is not stopped by SIGTSTP: it comes back at once.
        terminal.raw = b""
        terminal.wait_for(lambda: b"\x1b[?1049l" in terminal.raw and b"\x1b[?1049h" in terminal.raw.split(b"\x1b[?1049l")[-1], "it gives the screen back, and takes it")
        terminal.wait_for_text(r"^Recorded live")
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: state_of(pid) == "T", "it is stopped")
    termios.tcsetattr(terminal.slave, termios.TCSANOW, terminal.modes)
    terminal.raw = b""
    os.kill(pid, signal.SIGCONT)
    terminal.wait_for(lambda: b"\x1b[?1049h" in terminal.raw, "it takes the screen again")
    terminal.wait_for(lambda: not termios.tcgetattr(terminal.slave)[3] & termios.ICANON, "the modes")
    terminal.type("q")
    check_left(terminal, target)
    end(target)


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def never_stops():
    """Where a dump would have to stop the process, it does not look, and says why. And while it looks it traces nobody."""
    if not root():
        return
    target = Target("cycles", 2)
    without = ["setpriv", "--bounding-set=-sys_admin,-checkpoint_restore", "--inh-caps=-sys_admin,-checkpoint_restore"]
    attach(target.pid)
    terminal = Terminal([*without, HEAPSNAP, "top", str(target.pid), "--every", "100ms"])
    terminal.wait_for_text(r"^No snapshot: process \d+ would have to be stopped: the region can be read only")
    terminal.type("q")
    check_equal(terminal.end(), 0, "exit status")
    terminal.check_restored()
    terminal.close()
    trace = os.path.join(temporary_directory(), "trace")
    terminal = Terminal(["strace", "-f", "-qq", "-e", "trace=ptrace", "-o", trace, HEAPSNAP, "top", str(target.pid), "--every", "100ms"])
    terminal.wait_for_text(r"^Recorded live .*, [+-]?[\d.]+ [KM]?i?B/s")
    terminal.type("q")
    check_equal(terminal.end(), 0, "exit status")
    with open(trace, encoding="utf-8") as file:
        calls = [line for line in file if "ptrace(" in line]
    check_equal(calls, [], "calls of ptrace by three looks")
    detach(target.pid)
    check(target.end().startswith("ok "), "the target's blocks")


def no_terminal():
    """Refused before the process is touched; a hint says what needs none."""
    target = Target("cycles", 2)
    result = heapsnap("top", target.pid)
    check_refused(result, "top needs a terminal", "heapsnap why", "heapsnap report", status=2)
    for name, words in (("dumb", "type 'dumb'"), ("", "TERM is not set"), ("no-such", "type 'no-such'")):
        terminal = Terminal([HEAPSNAP, "top", str(target.pid)], environment={"TERM": name})
        check_equal(terminal.end(), 2, f"exit status with TERM={name}")
        check(words in " ".join(terminal.raw.decode().split()), terminal.raw.decode())  # in two lines, where it takes so many
        terminal.check_restored()
        terminal.close()
    check_equal(heapsnap("top", target.pid, "--json").status, 2, "--json")
    check_equal(attach_state(target.pid), None, "state")
    check(target.end().startswith("ok "), "the target's blocks")


def no_data_base():
    """Without a data base of terminals, as in a small container, it knows the usual ones."""
    target = Target("cycles", 2)
    folder = temporary_directory()
    hidden = ["unshare", "--mount", "sh", "-c", f'mount --bind {folder} /usr/share/terminfo; mount --bind {folder} /lib/terminfo; mount --bind {folder} /etc/terminfo; exec "$@"', "sh"]
    if not root():
        return
    terminal = top(target, *EVERY, prefix=hidden, environment={"HOME": folder, "TERMINFO": ""})
    terminal.type("q")
    check_left(terminal, target)
    check(target.end().startswith("ok "), "the target's blocks")


run_cases([grows, keys, sizes, signals, terminal_goes, target_ends, attached_already, suspended, never_stops, no_terminal, no_data_base], "top")
