# SPDX-License-Identifier: Apache-2.0
"""A program's own malloc that throws, is a cancellation point, and asks who calls it: none of that finds a frame of heapsnap's. Where it stands on the C library's, its
blocks are seen there; where it stands alone, the attach is refused, unless it is named: then it is
watched where it returns."""

import os

import profiles
from harness import Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_test, temporary_directory

ANSWERS = {
    "cancel": "cancelled, destructors 1, lock free",
    "throw": "caught, destructors 1, lock free",
    "caller": "its caller",
}


def check_answers(target, when):
    for command, answer in ANSWERS.items():
        check_equal(target.ask(command), answer, f"{command}, {when}")


def check_over_libc(path):
    target = Target("own_malloc")
    check_answers(target, "without heapsnap")
    before = Unharmed(target.pid)
    attach(target.pid)
    before.check_attached()
    truth, _ = target.ask_json("work")
    check_answers(target, "attached")
    report = dump(target.pid, path)
    values = profiles.by_innermost(path)["site_work"]
    check_equal((values.live_objects, values.live_bytes), (truth["objects"], truth["bytes"]), "live objects and bytes at the site")
    # The threads that were cancelled, and the exceptions, came before the C library's malloc was called.
    check_equal(values.alloc_objects, truth["calls"] + 1, "calls at the site, with that for `caller`")
    check_equal(target.ask("finish"), "ok", "answer")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_answers(target, "after detach")
    check(report["live_objects"] >= truth["objects"], "live objects")
    target.end()


def check_alone(path):
    target = Target("own_malloc_alone")
    check_answers(target, "without heapsnap")
    before = Unharmed(target.pid)
    refused = heapsnap("attach", target.pid, "--exact")
    check_refused(refused, "malloc in", "may throw or be cancelled", "--allocator")
    said = heapsnap("check", target.pid)
    check(said.status == 1 and "may throw or be cancelled" in said.stderr + said.stdout, f"check: {said}")
    before.check_after()
    check_answers(target, "after the refusals")
    # Named, it is watched where it returns, and no frame is below it.
    attach(target.pid, "--allocator", "malloc=malloc")
    truth, _ = target.ask_json("work")
    check_answers(target, "watched")
    dump(target.pid, path)
    values = profiles.by_innermost(path)["site_work"]
    check_equal((values.live_objects, values.live_bytes), (truth["objects"], truth["bytes"]), "watched: live objects and bytes at the site")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_answers(target, "after detach")
    target.end()


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    check_over_libc(path)
    check_alone(path)


run_test(main, "own_malloc")
