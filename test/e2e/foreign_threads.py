# SPDX-License-Identifier: Apache-2.0
"""Threads that no libc has made, with thread pointers of all kinds: nothing is read behind them, each that can be told from the others is recorded to the
block, and what is not recorded is counted by its reason. Two threads with one pointer are refused, or, made later, not recorded."""

import os

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, leave_out,
                     may_read_thread_pointers, run_test, say, temporary_directory,
                     thread_ids, wait_until)

FUNCTIONS = ["--allocator", "take_block=alloc(size)", "--allocator", "give_block=free"]
THREADS, COUNT = 6, 400
SIZE = 48
LOSSES = ("lost_no_slot", "lost_no_thread_pointer", "lost_shared_pointer", "lost_signal_reentry", "abandoned")


def losses(report):
    counts = {line["name"]: line["value"] for line in report["ledger"]}
    return {name: counts.get(name, 0) for name in LOSSES if counts.get(name, 0)}


def finish(target):
    """Ends the threads; the program is as it was."""
    check_equal(target.ask("finish"), "ok", "answer")
    wait_until(lambda: len(thread_ids(target.pid)) == 1, "the threads end")


def follow(path, how, when):
    """`when`: whether the threads are there before the attach, and work then already."""
    target = Target("foreign_threads")
    if when == "before":
        target.ask(f"start {how} {THREADS} {COUNT}")
    value = attach(target.pid, *FUNCTIONS)
    check_equal(value["unseen_threads"], THREADS if (how, when) == ("none", "before") else 0, "threads of which nothing is recorded")
    if when == "before":
        finish(target)
    kept = int(target.ask(f"start {how} {THREADS} {COUNT}"))
    report = dump(target.pid, path)
    sites = profiles.by_innermost(path)
    live = sites.get("site_foreign", profiles.Values(0, 0, 0, 0))
    if how == "none" or (how == "other" and not may_read_thread_pointers()):  # its first word is no pointer to itself, and nothing else is read
        check_equal(losses(report), {"lost_no_thread_pointer": THREADS * COUNT}, f"{how}: losses")
        check_equal(live.live_objects, 0, f"{how}: blocks")
        check_equal(heapsnap_ok("status", target.pid)["processes"][0]["lost_no_thread_pointer"], THREADS * COUNT, "what status says of it")
    else:
        check_equal(losses(report), {}, f"{how}: losses")
        check_equal((live.alloc_objects, live.live_objects, live.live_bytes), (THREADS * COUNT, kept, kept * SIZE), f"{how}: blocks")
    detach(target.pid)
    finish(target)
    target.end()
    say(f"  {how}, {when}: {live.live_objects} of {kept} blocks")


def refused(how):
    """Where the payload cannot read such a thread's pointer."""
    target = Target("foreign_threads")
    before = Unharmed(target.pid)
    target.ask(f"start {how} {THREADS} {COUNT}")
    check_refused(heapsnap("attach", target.pid, *FUNCTIONS), "without RDFSBASE")
    finish(target)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"  {how}: refused")


def nothing_to_record():
    """A program without a C library, none of whose threads has one."""
    target = Target("no_libc_pool")
    before = Unharmed(target.pid)
    words = "no thread of process .* has a thread pointer" if may_read_thread_pointers() else "without RDFSBASE"
    check_refused(heapsnap("attach", target.pid, *FUNCTIONS), words)
    before.check_after()
    target.end()


def shared(path, how):
    target = Target("foreign_threads")
    before = Unharmed(target.pid)
    target.ask(f"start {how} {THREADS} {COUNT}")
    check_refused(heapsnap("attach", target.pid, "--exact", *FUNCTIONS), "same thread pointer")
    finish(target)
    before.check_after(memory_may_change=True)

    # Those that are made later.
    attach(target.pid, *FUNCTIONS)
    for _ in range(3):
        kept = int(target.ask(f"start {how} {THREADS} 4000"))
        report = dump(target.pid, path)
        check(losses(report).get("lost_shared_pointer", 0) > 0, f"{how}: nobody says that blocks were not recorded: {losses(report)}")
        finish(target)
    live = profiles.by_innermost(path).get("site_foreign", profiles.Values(0, 0, 0, 0)).live_objects
    check(live <= 3 * kept, f"{how}: {live} blocks shown, and {3 * kept} are there")
    say(f"  {how}: {live} of {3 * kept} blocks shown; {losses(report)}")
    detach(target.pid)
    target.end()


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    nowhere = ("nowhere", "none")
    for how in ("edge", "mimic", "other"):
        follow(path, how, "after")
    follow(path, "edge", "before")
    if may_read_thread_pointers():
        follow(path, "odd", "after")
        for how in nowhere:
            follow(path, how, "after")
            follow(path, how, "before")
    else:
        leave_out("no FSGSBASE here")
        for how in nowhere:
            refused(how)
    nothing_to_record()
    for how in ("shared", "twins"):
        shared(path, how)


run_test(main, "foreign_threads")
