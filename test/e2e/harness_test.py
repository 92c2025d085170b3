# SPDX-License-Identifier: Apache-2.0
"""The checks of the other tests, seen to fail: each change that a careless tool would leave behind is found."""

import contextlib
import io
import os
import signal
import subprocess
import sys

from harness import Failure, Target, Unharmed, check, check_equal, living_threads, mappings, run_test, say, try_cases


def must_fail(what, function, *words):
    try:
        function()
    except Failure as failure:
        for word in words:
            check(word in str(failure), f"{what}: found, but not called {word!r}: {failure}")
        say(f"  found: {what}")
        return
    raise Failure(f"not found: {what}")


def write_text(pid, restore):
    """Changes one byte of code that nobody runs (the entry point); with `restore`, leaves only the private copy of its page."""
    text = next(mapping for mapping in mappings(pid) if "x" in mapping.permissions and mapping.inode)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        old = os.pread(memory.fileno(), 1, text.start)
        os.pwrite(memory.fileno(), bytes([old[0] ^ 1]), text.start)
        if restore:
            os.pwrite(memory.fileno(), old, text.start)


def cases_that_fail():
    tried = []

    def good():
        tried.append("good")

    def bad():
        raise Failure("bad")
    must_fail("a case that fails", lambda: try_cases([bad, good], []), "failed: bad")
    check_equal(tried, ["good"], "cases tried after one that failed")
    must_fail("a case that does not exist", lambda: try_cases([good], ["better"]), "no such case", "better")
    try_cases([bad, good], ["good"])
    check_equal(tried, ["good", "good"], "cases tried when one is named")


STARTS_AND_IS_ENDED = """
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
import harness

class Ended(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Ended
harness.start(["/bin/sleep", "60"])
print("it went on")
"""


def ended_while_it_starts_something():
    """The signal comes when the process is there and not yet noted."""
    program = subprocess.run([sys.executable, "-c", STARTS_AND_IS_ENDED, os.path.dirname(os.path.abspath(__file__))],
                             stdout=subprocess.PIPE, text=True, check=False)
    pid, *more = program.stdout.split("\n")
    check_equal((program.returncode, more), (128 + signal.SIGTERM, [""]), "status, and what it says")
    check(not os.path.exists(f"/proc/{pid}"), "what it has started is left running")


def must_describe(what, function, failure, *words):
    """The check fails, and before it does, it says what was seen of the process."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        must_fail(what, function, failure)
    for word in words:
        check(word in said.getvalue(), f"{what}: not described by {word!r}: {said.getvalue()}")
    say(f"  described: {what}")


def processes_that_do_not_end():
    """Neither can end or answer, so that the short times are no race."""
    stopped = Target("changes")
    check_equal(stopped.ask("writable code"), "done", "answer")
    stopped.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
    seen = (f"thread {stopped.pid}: State T (stopped) TracerPid 0 SigPnd 0000000000000000", "call ", " rwxp ")
    stopped.send("nothing")
    must_describe("a target that does not answer", lambda: stopped.line(seconds=0.2), "did not answer", *seen)
    must_describe("a target that does not end", lambda: stopped.end(seconds=0.2), "did not end", *seen)
    stopped.process.send_signal(signal.SIGCONT)
    stopped.process.wait()
    gone = Target("sh", ready=None, command=["/bin/sh", "-c", "sleep 600 & echo $!"])
    holder = int(gone.line())
    try:
        must_describe("a target that has ended, and whose output another process holds", lambda: gone.end(seconds=0.2), "did not end",
                      f"is held by {holder} (")
    finally:
        os.kill(holder, signal.SIGKILL)


def threads_that_were_joined():
    """They are listed for some moments yet."""
    target = Target("changes")
    for _ in range(2000):
        check_equal(target.ask("joined thread"), "done", "answer")
        check_equal(living_threads(target.pid), [target.pid], "threads behind pthread_join")
    target.end()


def main():
    cases_that_fail()
    threads_that_were_joined()
    ended_while_it_starts_something()
    processes_that_do_not_end()
    target = Target("changes")
    Unharmed(target.pid).check_after()
    check_equal(target.ask("nothing"), "done", "answer")
    for command, words, attached_too in [("descriptor", ["descriptor"], True), ("memfd", ["descriptor", "memfd"], True),
                                         ("mask", ["signals"], False), ("pending", ["signals"], False), ("thread", ["thread"], True),
                                         ("handler", ["signals"], False), ("memory", ["maps: new"], False),
                                         ("writable code", ["maps: new", "rwxp"], True)]:
        before = Unharmed(target.pid)
        before.check_after()
        check_equal(target.ask(command), "done", "answer")
        must_fail(command, before.check_after, *words)
        if command != "memory":
            must_fail(f"{command}, memory may change", lambda: before.check_after(memory_may_change=True), *words)
        if attached_too:
            must_fail(f"{command}, while attached", before.check_attached)
    for restore in (True, False):
        fresh = Target("changes")
        before = Unharmed(fresh.pid)
        write_text(fresh.pid, restore)
        must_fail("text, written and restored" if restore else "text", before.check_after, "private pages" if restore else "text")
        fresh.end()
    target.end()


run_test(main, "harness")
