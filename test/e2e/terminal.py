# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: a pseudo-terminal with a program in it, and the screen that it has drawn. It knows of the codes of xterm what `top` writes, and takes
any other for a failure."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from harness import Failure, check, say, start, wait_until

CODE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])|\x1b([=>])|\x1b\(B")


class Terminal:
    def __init__(self, arguments, lines=30, columns=100, environment=None):
        self.master, slave = pty.openpty()
        self.slave = slave  # kept: its modes can be looked at when the program has ended
        self.lines, self.columns = lines, columns
        self.resize(lines, columns)
        self.modes = termios.tcgetattr(slave)
        self.screen, self.row, self.column = [[]] * 0, 0, 0
        self.on_other_screen = self.cursor_is_hidden = self.wraps_not = False
        self.raw, self.rest = b"", b""
        self.clear()
        # In a session of its own (start), whose terminal this becomes.
        self.process = start(arguments, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", **(environment or {})},
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, lines, columns):
        self.lines, self.columns = lines, columns
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def clear(self):
        self.screen = [[" "] * 300 for _ in range(100)]

    def _code(self, match):
        private, numbers, final = match.group(1), [int(number or 0) for number in match.group(2).split(b";")] if match.group(2) is not None else [], match.group(3)
        if final is None:
            return
        if private:
            on = final == b"h"
            for number in numbers:
                if number == 1049:
                    self.on_other_screen = on
                elif number == 25:
                    self.cursor_is_hidden = not on
                elif number == 7:
                    self.wraps_not = not on
        elif final == b"H":
            self.row, self.column = max(numbers[0], 1) - 1, (numbers[1] if len(numbers) > 1 else 1) - 1
        elif final == b"J":
            self.clear()
        elif final == b"K":
            self.screen[self.row][self.column:] = [" "] * (300 - self.column)
        elif final not in b"mtl":
            raise Failure(f"an unknown code is written: {match.group(0)!r}")

    def _write(self, data):
        data, self.rest = self.rest + data, b""
        at = 0
        while at < len(data):
            byte = data[at]
            if byte == 0x1b:
                match = CODE.match(data, at)
                if not match:
                    if len(data) - at > 40:
                        raise Failure(f"an unknown code is written: {data[at:at + 20]!r}")
                    self.rest = data[at:]
                    return
                self._code(match)
                at = match.end()
            elif byte in (0x0d, 0x0a):
                self.column = 0
                self.row = min(self.row + (byte == 0x0a), 99)
                at += 1
            else:
                length = 1 if byte < 0x80 else 2 if byte < 0xe0 else 3 if byte < 0xf0 else 4
                if at + length > len(data):
                    self.rest = data[at:]
                    return
                check(byte >= 0x20 and byte != 0x7f, f"a control character is written: {data[max(0, at - 20):at + 20]!r}")
                if self.column < 300:
                    self.screen[self.row][self.column] = data[at:at + length].decode("utf-8")
                self.column += 1
                at += length

    def read(self, seconds=0.05):
        """Takes what is written; False: the program's end of the terminal is closed by all but the test."""
        while select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.raw += data
            self._write(data)
            seconds = 0
        return True

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.screen).rstrip()

    def rows(self):
        """The lines of the screen below the heading and above the last one, as long as the screen is."""
        return ["".join(line).rstrip() for line in self.screen[5:self.lines - 1]]

    def line(self, number):
        return "".join(self.screen[number]).rstrip()

    def type(self, keys):
        os.write(self.master, keys.encode())

    def wait_for(self, condition, what, seconds=80.0):
        """Reads until the condition holds, and returns what it returned. The program may not have ended."""
        def ask():
            self.read()
            return condition() or (self.process.poll() is not None and not self.read() and condition())
        try:
            return wait_until(ask, what, seconds)
        except Failure:
            say(f"the screen:\n{self.text()}")
            raise

    def wait_for_text(self, pattern, seconds=80.0):
        return self.wait_for(lambda: re.search(pattern, self.text(), re.M), f"{pattern!r} on the screen", seconds)

    def end(self, seconds=80.0):
        """Waits for the program's end; returns its status."""
        def ended():
            self.read()
            return self.process.poll() is not None
        wait_until(ended, "the program's end", seconds)
        self.read()
        return self.process.returncode

    def check_restored(self):
        """The modes are as before, and the shell's screen is back."""
        after = termios.tcgetattr(self.slave)
        check(after == self.modes, f"modes are {after}, not {self.modes}")
        check(not self.on_other_screen and not self.cursor_is_hidden and not self.wraps_not,
              f"other screen {self.on_other_screen}, hidden cursor {self.cursor_is_hidden}, no wrapping {self.wraps_not}")

    def close(self):
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)
        self.master = self.slave = -1
