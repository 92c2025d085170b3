# SPDX-License-Identifier: Apache-2.0
"""The checks of the other tests, seen to fail: each change that a careless tool would leave behind is found."""

import os
import signal
import subprocess
import sys

from harness import Failure, Target, Unharmed, check, check_equal, mappings, run_test, say, try_cases


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
                             stdout=subprocess.PIPE, text=True, check=False, timeout=60)
    pid, *more = program.stdout.split("\n")
    check_equal((program.returncode, more), (128 + signal.SIGTERM, [""]), "status, and what it says")
    check(not os.path.exists(f"/proc/{pid}"), "what it has started is left running")


def main():
    cases_that_fail()
    ended_while_it_starts_something()
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
