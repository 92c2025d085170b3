# SPDX-License-Identifier: Apache-2.0
"""Threads with much stack in use, which hold words that point into the payload: a detach looks at a part of it in each stop, and finishes. One that is inside an
allocation function with more stack below it than one stop looks at keeps it from that, and is called by its name.
usage: deep_stacks.py [CASE...]"""

import resource
import time

from harness import Target, Unharmed, attach, check, check_equal, heapsnap, run_cases, say

FUNCTIONS = ["--allocator", "take_block=alloc(size) nothrow", "--allocator", "give_block=free"]
SHARE = 64  # MiB that one stop looks at
NOT_ALL_SEEN = "use so much stack that not all of it was examined"


def target(threads, mib, how):
    """The main thread has no limit of its stack."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (before[1], before[1]))
    try:
        return Target("deep_stacks", threads, mib, how)
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)


def work(deep):
    for _ in range(10):
        check_equal(deep.ask("allocate"), "allocated", "answer")
    time.sleep(0.2)
    check_equal(deep.ask("rest"), "rests", "answer")


def detach(deep):
    """Again while it says so: all stops of one command have a bound, which a slow machine may reach before everything was looked at."""
    for _ in range(5):
        result = heapsnap("detach", deep.pid, "--json")
        if NOT_ALL_SEEN not in result.stderr:
            break
        say(f"  again: {result.stderr.strip()}")
    return result


def detached(deep, before):
    run = detach(deep)
    check_equal(run.status, 0, str(run))
    result = run.json
    check_equal((result["command"], result["pid"], result["verified"]), ("detach", deep.pid, True), str(run))
    check_equal((result["threads_inside"], result["threads_unseen"]), (0, 0), "threads")
    before.check_after(memory_may_change=True)
    check_equal(deep.ask("allocate"), "allocated", "after detach")
    say(f"  stopped for {result['stopped_us'] / 1000:.0f} ms at most, done after {result['waited_ms']} ms; the target saw {deep.ask('pause')} ms")
    deep.end()
    return result


def one(threads, mib, how):
    deep = target(threads, mib, how)
    before = Unharmed(deep.pid)
    attach(deep.pid)
    work(deep)
    return detached(deep, before)


def never_written():
    """Costs nothing: one stop does."""
    one(0, 1200, "unwritten")
    one(3, 3000, "unwritten")


def many_threads():
    one(50, 6, "written")


def one_stack_in_parts():
    one(0, 5 * SHARE, "written")


def inside():
    for mib in 1, 2 * SHARE:
        deep = target(0, mib, "written")
        before = Unharmed(deep.pid)
        attach(deep.pid, *FUNCTIONS)
        work(deep)
        check_equal(deep.ask("block"), "blocks", "answer")
        result = detach(deep)
        check_equal((result.status, result.json["finished"], result.json["threads_inside"], result.json["threads_unseen"]), (1, False, 1, 0), str(result))
        check("still inside the payload" in result.stderr, str(result))
        check_equal(deep.ask("go on"), "returned", "answer")
        detached(deep, before)


run_cases([never_written, many_threads, one_stack_in_parts, inside], "deep_stacks")
