# SPDX-License-Identifier: Apache-2.0
"""More threads than there are slots: one after the other, never joined or detached, and all at once. Each block of each of them is accounted for. usage:
many_lives.py HOW [PROGRAM [attach's options]]"""

import os
import re
import sys

import profiles
from harness import Target, attach, check, check_equal, detach, dump, heapsnap, heapsnap_ok, run_test, say, temporary_directory, thread_ids, wait_until

FIRST_SLOTS = 4096  # with a place of their own
COUNTS = {"chain": 20000, "detached": 20000, "alive": 5200}
CHAINS = 4


def sites(path):
    values = profiles.by_innermost(path)
    return {name: values.get(name, profiles.Values(0, 0, 0, 0)) for name in ("life_kept", "life_freed", "life_passed_on")}


def check_exact(target, path, lives):
    report = dump(target.pid, path)
    losses = {line["name"]: line["value"] for line in report["ledger"] if line["name"].startswith("lost_") and line["value"]}
    check_equal(losses, {}, "losses")
    found = {name: (value.alloc_objects, value.live_objects, value.live_bytes) for name, value in sites(path).items()}
    check_equal(found, {"life_kept": (lives, lives, 100 * lives), "life_freed": (lives, 0, 0),
                        "life_passed_on": (lives, CHAINS, CHAINS * 60)}, "blocks of all threads")


def slots_used(pid):
    return next(process for process in heapsnap_ok("status")["processes"] if process["pid"] == pid)["thread_slots_used"]


def crowded():
    """Less room than threads: `check` says so beforehand, and afterwards each allocation is either recorded or counted as lost."""
    threads, memory = 3000, "--max-memory=36M"  # room for 288 slots more: by their hash some 500 to 900 threads have none
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("many_lives")
    check_equal(target.ask(f"alive {threads}", seconds=120), "done", "answer")
    said = heapsnap("check", target.pid, memory)
    check_equal(said.status, 0, str(said))
    check(re.search(rf"{threads + 1} threads, and some \d+ can be followed", said.stdout + said.stderr), f"check does not say that threads are many: {said}")
    target.ask(f"finish {threads}")
    wait_until(lambda: len(thread_ids(target.pid)) == 1, "the threads end", 60)
    said = heapsnap("check", target.pid, memory)
    check("can be followed" not in said.stdout + said.stderr, f"check says so of one thread: {said}")
    attach(target.pid, memory)
    check_equal(target.ask(f"alive {threads}", seconds=120), "done", "answer")
    report = dump(target.pid, path)
    lost = next(line for line in report["ledger"] if line["name"] == "lost_no_slot")
    check(lost["value"] > 0 and "--max-memory" in lost["text"], f"losses: {lost}")
    check_equal(sum(value.alloc_objects for value in sites(path).values()) + lost["value"], 3 * threads, "recorded and lost")
    target.ask(f"finish {threads}")
    wait_until(lambda: len(thread_ids(target.pid)) == 1, "the threads end", 60)
    detach(target.pid)
    target.end()
    say(f"crowded: {lost['value']} of {3 * threads} allocations lost, all counted")


def main():
    if sys.argv[1] == "crowded":
        crowded()
        return
    how, program = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "many_lives"
    count = COUNTS[how] if program == "many_lives" else 6000
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target(program)
    attach(target.pid, *sys.argv[3:])
    check_equal(target.ask(f"{how} {count}", seconds=240), "done", "answer")
    if how == "alive":
        check(len(thread_ids(target.pid)) == count + 1, "the threads are not there at once")
    used = slots_used(target.pid)
    check_exact(target, path, count)
    if how == "alive":
        target.ask(f"finish {count}")
    elif program == "many_lives":
        # Each was taken back when its thread ended.
        check(used <= FIRST_SLOTS + FIRST_SLOTS // 4, f"{used} slots for four threads at a time")
    wait_until(lambda: len(thread_ids(target.pid)) == 1, "the threads end", 60)
    check_exact(target, path, count)
    # Those that come after have the slots of those that went.
    check_equal(target.ask(f"detached {FIRST_SLOTS}", seconds=120), "done", "answer")
    wait_until(lambda: len(thread_ids(target.pid)) == 1, "the threads end", 60)
    check_exact(target, path, count + FIRST_SLOTS)
    say(f"{program}: {how} {count}: exact; {used} slots, {slots_used(target.pid)} in the end")
    detach(target.pid)
    target.end()


run_test(main, "many_lives")
