# SPDX-License-Identifier: Apache-2.0
"""Functions that the user adds and that may be left by an exception, or because their thread is cancelled: cleanup handlers and destructors further out run as
they do without heapsnap, and locks are given back. What is proved to be left by its return only, and what can be watched, is recorded exactly; the
rest is refused, unless the user gives his word."""

import os
import re

import profiles
from harness import Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_test, say, temporary_directory

POOL = ["--allocator", "pool_alloc=alloc(_,size)", "--allocator", "pool_free=free(_,block)"]
CALM = ["--allocator", "calm_alloc=alloc(_,size)", "--allocator", "pool_free=free(_,block)"]
FAR = ["--allocator", "far_alloc=alloc(_,size)", "--allocator", "pool_free=free(_,block)"]
CANCELLED = "cancelled, handlers 1, destructors 1, lock free"
CAUGHT = "caught, handlers 1, destructors 1, lock free"


def ledger(report):
    return {line["name"]: line["value"] for line in report["ledger"]}


def at_site(path, name):
    values = profiles.by_innermost(path).get(name)
    return values and (values.live_objects, values.live_bytes, values.alloc_objects)


def check_account(target, name, path, calls=0):
    """`calls`: so many before."""
    truth, _ = target.ask_json(f"work {name}")
    dump(target.pid, path)
    check_equal(at_site(path, f"site_{name}"), (truth["objects"], truth["bytes"], calls + truth["calls"]), f"{name}: live objects, live bytes, calls")
    check_equal(target.ask(f"finish {name}"), "ok", "answer")
    report = dump(target.pid, path)
    check_equal((report["live_objects"], ledger(report)["replaced"]), (0, 0), f"{name}: live at the end, replaced")


def check_watched(target, path):
    before = Unharmed(target.pid)
    attach(target.pid, *POOL)
    before.check_attached()
    check_account(target, "pool_alloc", path)
    for _ in range(3):
        check_equal(target.ask("cancel pool_alloc"), CANCELLED, "a thread that is cancelled in pool_alloc")
        check_equal(target.ask("throw pool_alloc"), CAUGHT, "pool_alloc throws")
        check_equal(target.ask("cancel pool_free"), CANCELLED, "a thread that is cancelled in pool_free")
    check_account(target, "pool_alloc", path, calls=200)  # no call that was left is among them
    report = dump(target.pid, path)
    check_equal((at_site(path, "site_between"), at_site(path, "site_next_thread")), ((0, 0, 9), (0, 0, 6)), "blocks after exceptions and cancelled threads")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("cancel pool_alloc"), CANCELLED, "after detach")
    return report


def hooks_written(target, *options):
    """With those where watched functions return."""
    result = heapsnap("attach", "-v", target.pid, "--exact", *options)
    check_equal(result.status, 0, str(result))
    detach(target.pid)
    check_equal(result.stderr.count("write a hook"), 1, f"that hooks are written is said once: {result}")
    return int(re.search(r"hooks: (\d+) written in \d+ module", result.stderr)[1])


def check_proved(target, path):
    """A frame of heapsnap's is below it: there is no hook where it returns."""
    before = Unharmed(target.pid)
    attach(target.pid, *CALM)
    check_account(target, "calm_alloc", path)
    check_equal(target.ask("cancel pool_alloc"), CANCELLED, "what is not added")
    detach(target.pid)
    proved, watched = hooks_written(target, *CALM), hooks_written(target, *POOL)
    check_equal(hooks_written(target, "--allocator", "pool_alloc=alloc(_,size) nothrow", *POOL[2:]), watched, "hooks, with a word that is not needed")
    check(watched > proved, f"hooks: {watched} where it is watched, {proved} where it is not")
    before.check_after(memory_may_change=True)


def check_far(target, path):
    """It would find other arguments, and another return address, below a frame of heapsnap's."""
    before = Unharmed(target.pid)
    attach(target.pid, *FAR)
    check_account(target, "far_alloc", path)
    detach(target.pid)
    again = "far_alloc=realloc(_,size,block) nothrow"
    check_refused(heapsnap("attach", target.pid, "--allocator", again, *FAR[2:]), "far_alloc of", "takes arguments on the stack")
    before.check_after(memory_may_change=True)


def check_refusals(target, path):
    before = Unharmed(target.pid)
    jump, again = ["--allocator", "jump_alloc=alloc(_,size)"], ["--allocator", "pool_realloc=realloc(_,block,size)"]
    check_refused(heapsnap("attach", target.pid, *POOL, *jump), "jump_alloc of", "ends with a jump", "never throws", "nothrow", "ends the process")
    check_refused(heapsnap("attach", target.pid, *POOL, *again), "pool_realloc of", "cannot be seen without a frame", "nothrow")
    check_refused(heapsnap("attach", target.pid, "--allocator", "pool_alloc=alloc(_,size) noexcept"), "something behind", status=2)
    said = heapsnap("check", target.pid, *POOL, *jump)
    check(said.status == 1 and "nothrow" in said.stderr + said.stdout, f"check: {said}")
    before.check_after()
    # A word that is wrong does no harm where it is not needed.
    attach(target.pid, "--allocator", "pool_alloc=alloc(_,size) nothrow", *POOL[2:])
    check_equal(target.ask("throw pool_alloc"), CAUGHT, "pool_alloc throws against the user's word")
    check_equal(target.ask("cancel pool_alloc"), CANCELLED, "it is a cancellation point against the user's word")
    detach(target.pid)
    attach(target.pid, *POOL, *jump[:-1], jump[-1] + " nothrow", *again[:-1], again[-1] + "  nothrow ")
    check_account(target, "jump_alloc", path)
    check_account(target, "pool_realloc", path)
    check_equal(target.ask("cancel pool_alloc"), CANCELLED, "what needs no word")
    detach(target.pid)
    before.check_after(memory_may_change=True)


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("pool_unwinds")
    for name in ("pool_alloc", "calm_alloc", "far_alloc", "jump_alloc", "pool_realloc"):
        target.ask_json(f"work {name}")
        check_equal(target.ask(f"finish {name}"), "ok", "answer")
    check_equal(target.ask("cancel pool_alloc"), CANCELLED, "without heapsnap")
    check_equal(target.ask("throw pool_alloc"), CAUGHT, "without heapsnap")
    report = check_watched(target, path)
    check_proved(target, path)
    check_far(target, path)
    check_refusals(target, path)
    target.end()
    say(f"calls that were left: {ledger(report)['abandoned']}")


run_test(main, "pool_unwinds")
