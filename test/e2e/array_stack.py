# SPDX-License-Identifier: Apache-2.0
"""A handler on an alternate signal stack that is an array in a frame of the same stack: it runs further out than the allocation that it has interrupted. What
it makes is recorded, the interrupted call too; and nothing is unmapped before that call has returned. A handler on the interrupted stack itself: what it makes
is counted as lost."""

import os

import profiles
from harness import Target, Unharmed, attach, attach_state, check_equal, check_refused, detach, dump, heapsnap, run_test, say, temporary_directory

FUNCTIONS = ["--allocator", "take_block=alloc(size) nothrow", "--allocator", "give_block=free"]


def live(target, path):
    ledger = {line["name"]: line["value"] for line in dump(target.pid, path)["ledger"]}
    sites = profiles.by_innermost(path)
    lost = [ledger.get(name, 0) for name in ("lost_signal_reentry", "abandoned", "lost_shared_pointer", "nested")]
    return sum(sites[name].live_objects for name in ("obey", "on_signal") if name in sites), lost


def one(kind, options, allocates, path):
    target = Target("array_stack", *kind)
    records = "none" not in kind
    before = Unharmed(target.pid)
    attach(target.pid, *FUNCTIONS, *options)
    check_equal(target.ask("work"), "done", "work")
    check_equal(target.ask("interrupt"), "in handler", "interrupt")
    for _ in range(allocates):
        check_equal(target.ask("work"), "done", "work in the handler")
    # It may be in the handler for ever: not yet.
    check_refused(heapsnap("detach", target.pid), "1 of its threads is still inside the payload")
    check_equal(target.ask("return"), "returned", "return")
    check_equal(target.ask("work"), "done", "work")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    # Without a detach amid it: all that was made is there.
    attach(target.pid, *FUNCTIONS)
    blocks = lost = 0
    for _ in range(3):
        check_equal(target.ask("interrupt"), "in handler", "interrupt")
        for _ in range(allocates):
            check_equal(target.ask("work"), "done", "work in the handler")
            blocks += 100 * records
            lost += 100 * (not records)
        check_equal(target.ask("return"), "returned", "return")
        blocks += 1
        check_equal(live(target, path), (blocks, [lost, 0, 0, 0]), f"{kind}: blocks, and what was lost, left, shared, nested")
    check_equal(target.ask("work"), "done", "work")
    check_equal(live(target, path), (blocks + 100, [lost, 0, 0, 0]), f"{kind}: blocks, and what was lost, left, shared, nested")
    detach(target.pid)
    check_equal(attach_state(target.pid), None, "status")
    before.check_after(memory_may_change=True)
    target.end()


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    cases = ((["main"], [], 0), (["main"], ["--sample", "64"], 2), (["thread"], [], 2), (["main", "none"], [], 2))
    for case in cases:
        one(*case, path)
    say(f"  {len(cases)} threads detached from, in handlers and after")


run_test(main, "array_stack")
