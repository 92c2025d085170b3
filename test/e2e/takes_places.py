# SPDX-License-Identifier: Apache-2.0
"""A detach is killed when the hooks are out, and where heapsnap's code or state pages were there is memory or code of the program's own: the next
detach, or attach, leaves that alone, and finishes."""

import re

from harness import Target, attach, attach_state, check, check_equal, detach, heapsnap, heapsnap_ok, mappings, run_test, say

STEP = "unmap"
PLACES = {"memory": 3, "file": 3, "anonymous code": 3, "state pages": 1}  # how many are taken at least: image, state pages and islands


def number_of_step(pid):
    """Of that step in a detach."""
    attach(pid)
    result = heapsnap("detach", pid, "-v")
    check_equal(result.status, 0, str(result))
    number = re.search(rf"step (\d+): {STEP}$", result.stderr, re.M)
    check(number, f"no such step: {result}")
    return number[1]


def ours(pid):
    return [str(mapping) for mapping in mappings(pid) if "heapsnap" in mapping.name or mapping.is_region()]


def one(kind, by_attach):
    target = Target("takes_places")
    check_equal(target.ask("work"), "worked", "answer")
    step = number_of_step(target.pid)
    attach(target.pid)
    check_equal(heapsnap("detach", target.pid, environment={"HEAPSNAP_KILL_AT": step}).status, -9, "a detach that is killed")
    check_equal(attach_state(target.pid), "detach unfinished", "status")
    taken = target.ask(f"take {kind}")
    check(int(taken.split()[1]) >= PLACES[kind], f"places: {taken}")
    check_equal(target.ask("work"), "worked", "answer")
    if by_attach:
        heapsnap_ok("attach", target.pid)
        check_equal((target.ask("work"), target.ask("check")), ("worked", "ok"), "answers while attached")
    detach(target.pid)
    check_equal(target.ask("check"), "ok", f"the program's own, in the places of heapsnap's: {kind}")
    check_equal(target.ask("work"), "worked", "answer")
    check_equal((attach_state(target.pid), ours(target.pid)), (None, []), "what is left")
    target.end()


def main():
    for kind in PLACES:
        for by_attach in (False, True):
            one(kind, by_attach)
    say("memory and code of the program's own, in the places of heapsnap's: left alone by detach and by attach")


run_test(main, "takes places")
