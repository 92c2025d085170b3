# SPDX-License-Identifier: Apache-2.0
"""The checks of the other tests, seen to fail: each change that a careless tool would leave behind is found."""

import os

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


def main():
    cases_that_fail()
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
