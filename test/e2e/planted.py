# SPDX-License-Identifier: Apache-2.0
"""A server keeps what its clients hand it: memory files with a name of heapsnap's, and with its content. None is closed, unmapped, believed or reported.
What heapsnap has left itself is known all the same, also where its user has changed, and cleared away in short stops.
usage: planted.py [CASE...]"""

import os
import re

from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, mappings, root, run_cases, say,
                     temporary_directory)

NAMED = re.compile(r"/memfd:heapsnap-code-[0-9a-f]{32} \(deleted\)")
PLANTS = [("empty", "fd"), ("magic", "fd"), ("page", "private"), ("page", "exec"), ("page", "shared"), ("magic", "private"), ("magic", "exec"),
          ("image", "private"), ("image", "exec")]


def use(target):
    """A whole life of heapsnap in the process: none of it sees or touches what is planted."""
    check_equal(attach_state(target.pid), None, "state beside what is planted")
    check("not attached" in heapsnap("detach", target.pid).stderr, "detach beside what is planted")
    check("unfinished" not in heapsnap("check", target.pid).stdout, "check tells of a rest")
    before = Unharmed(target.pid)
    for _ in range(2):
        attach(target.pid)
        check_equal(attach_state(target.pid), "attached", "state")
        dump(target.pid, os.path.join(temporary_directory(), "out.pb.gz"))
        detach(target.pid)
        check_equal(target.ask("check"), "intact", "what is planted")
    before.check_after(memory_may_change=True)


def each(*options):
    for digits in (16, 32):
        for content, how in PLANTS:
            target = Target("planted", *options)
            check_equal(target.ask(f"plant {digits} {content} {how}"), "planted", "answer")
            use(target)
            target.end()
    target = Target("planted", *options)
    for content, how in PLANTS:
        if (content, how) != ("image", "private"):
            check_equal(target.ask(f"plant 32 {content} {how}"), "planted", "answer")
    use(target)
    target.end()


def planted():
    each()


def without_secret():
    """A program that has cleared the bytes at AT_RANDOM."""
    each("cleared")


def kill_at(step, target):
    """Kills an attach at the step of that name."""
    result = heapsnap("attach", target.pid, "--exact", "-v", environment={"HEAPSNAP_FAIL_AT": "1000"})
    number = re.search(rf"step (\d+): {step}$", result.stderr, re.M)
    check(number, f"no such step: {result}")
    heapsnap_ok("detach", target.pid)
    heapsnap("attach", target.pid, "--exact", environment={"HEAPSNAP_KILL_AT": number[1]})


def ours(target):
    """Descriptors and mappings of the files that heapsnap has made there."""
    links = [os.readlink(f"/proc/{target.pid}/fd/{number}") for number in os.listdir(f"/proc/{target.pid}/fd")]
    return [link for link in links if NAMED.fullmatch(link)] + [mapping.name for mapping in mappings(target.pid) if NAMED.fullmatch(mapping.name)]


def left_beside():
    """Of a killed attach everything is found beside what is planted, wherever it was killed."""
    for step in ("map code", "map the state pages", "map the region", "write a hook"):
        target = Target("planted")
        for content, how in PLANTS:
            if (content, how) != ("image", "private"):
                check_equal(target.ask(f"plant 16 {content} {how}"), "planted", "answer")
        kill_at(step, target)
        check(ours(target), f"nothing is left of an attach that is killed at {step!r}")
        check(attach_state(target.pid), "status says nothing of the rest")
        detach(target.pid)
        check_equal(ours(target), [], "of heapsnap")
        check_equal(target.ask("check"), "intact", "what is planted")
        target.end()


def left_without_secret():
    """Where there is no secret, the rest of an attach is known from the moment on that the region's header names it."""
    target = Target("planted", "cleared")
    kill_at("write a hook", target)
    check_equal(attach_state(target.pid), "attach unfinished", "state")
    detach(target.pid)
    check_equal(ours(target), [], "of heapsnap")
    kill_at("map the region", target)
    rest = ours(target)
    check(rest, "nothing is left")
    check_equal(attach_state(target.pid), None, "state")
    for _ in range(2):  # it lies there, and harms nobody
        attach(target.pid)
        detach(target.pid)
    check_equal(sorted(ours(target)), sorted(rest), "what nobody knows")
    attach(target.pid)
    child = int(target.ask("child"))
    check_refused(heapsnap("attach", child), "already patched")
    detach(target.pid)
    check_equal(target.ask("check"), "intact", "what is planted")
    target.end()


def other_user():
    """A child that was forked while attached, and has given up root: the files in it are root's."""
    if not root():
        return
    target = Target("planted")
    attach(target.pid)
    child = int(target.ask("child"))
    result = heapsnap_ok("detach", child)
    check(result["verified"], f"detach of the child: {result}")
    check(not [mapping for mapping in mappings(child) if "heapsnap" in mapping.name], "code of heapsnap is left in the child")
    detach(target.pid)
    target.end()


def many_tables():
    """What a killed attach has left is in the tables of all threads, beside thousands of others: attach stops the program for moments only, and says for how
    long in all."""
    target = Target("planted")
    kill_at("map code", target)
    check_equal(target.ask("own 40 2000"), "made", "answer")
    check(attach_state(target.pid), "status says nothing of the rest")
    check_equal(target.ask("watch"), "watched", "answer")
    reported = attach(target.pid)["stopped_us"] / 1000
    longest = int(target.ask("longest"))
    say(f"  the longest pause {longest} ms, stopped for {reported:.0f} ms in all")
    check(longest <= reported + 150, f"a pause of {longest} ms, of {reported:.0f} ms that attach reports")
    check(longest < 1000, f"a pause of {longest} ms")
    left = [number for number in os.listdir(f"/proc/{target.pid}/fd") if NAMED.fullmatch(os.readlink(f"/proc/{target.pid}/fd/{number}"))]
    check_equal(left, [], "descriptors")
    detach(target.pid)
    target.end()


run_cases([planted, without_secret, left_beside, left_without_secret, other_user, many_tables], "planted")
