# SPDX-License-Identifier: Apache-2.0
"""Programs that never stand still: processes, threads, stacks, libraries, descriptors and protections that come and go, signals in floods,
sleeps, restartable sequences. Each checks its own results all the time. Attach, dump and detach in the middle of it, again and again: it goes
on, its blocks are recorded exactly, and when it has stopped it is as it was.
usage: restless.py GROUP [BEHAVIOUR...]"""

import os
import sys

import profiles
from harness import Target, Unharmed, check, check_equal, repetitions, run_test, say, target_path, temporary_directory
from restless_cases import GROUPS, OPTIONS, finish, run

CYCLES = repetitions(2, 8)


def locked_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmLck:"))


def go_through(group, name, path):
    target = Target(f"restless_{group}", name, target_path("libloop_plugin.so"), ready=None)
    first = target.line()
    if first != "ready":
        say(f"  {name} is left out: {first}")
        return

    def expect(question, answer):
        check_equal(target.ask(question, seconds=120), answer, f"what {name} answers to {question}")

    for question, answer in (("start", "started"), ("work", "right"), ("stop", "stopped")):
        expect(question, answer)
    before = Unharmed(target.pid)
    locked = locked_bytes(target.pid)
    expect("start", "started")
    for number in range(1, CYCLES + 1):
        run(["attach", target.pid], "--exact", *OPTIONS.get(name, []))
        expect("work", "right")
        expect("keep", "kept")
        report = run(["dump", target.pid, "-o", path])
        site = profiles.by_innermost(path)["restless_kept"]
        check_equal((site.live_objects, site.live_bytes), (100, 7000), f"{name}: blocks of restless_kept")
        # A signal handler may interrupt the recorder; nothing else is lost.
        losses = {line["name"]: line["value"] for line in report["ledger"] if line["loss"] and line["value"]}
        lost = [key for key in losses if key.startswith("lost_") and key != "lost_signal_reentry"]
        check(not lost, f"{name}: {losses}")
        if name == "locked":
            check(locked_bytes(target.pid) < locked + (1 << 30), "the region was locked as a whole")
        expect("work", "right")
        finish(target.pid)
        expect("work", "right")
    expect("stop", "stopped")
    before.check_after(memory_may_change=True, settle=20)
    target.end()
    say(f"  {name}: {CYCLES} times attached, dumped and detached in the middle of it")


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    group = sys.argv[1]
    for name in sys.argv[2:] or GROUPS[group]:
        go_through(group, name, path)


run_test(main, "restless")
