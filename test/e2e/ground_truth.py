# SPDX-License-Identifier: Apache-2.0
"""The dump equals the program's own account of what is live, site by site, objects and bytes, in every run. With "switching", settings are
changed all the time, and the account holds all the same of what was allocated while every allocation was recorded.
usage: ground_truth.py [RUNS [switching]]"""

import os
import random
import sys
import threading

import profiles
from harness import Failure, Target, Unharmed, attach, check, check_equal, detach, dump, heapsnap_ok, run_test, say, target_path, temporary_directory

THREADS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]


def compare(truth, sites, what):
    wrong = []
    for name, expected in truth.items():
        actual = sites.get(name, profiles.Values())
        if (actual.live_objects, actual.live_bytes) != (expected["objects"], expected["bytes"]):
            wrong.append(f"{name}: live {actual.live_objects} objects, {actual.live_bytes} bytes; "
                         f"the truth is {expected['objects']}, {expected['bytes']}")
        if actual.alloc_objects < actual.live_objects or actual.alloc_bytes < actual.live_bytes:
            wrong.append(f"{name}: more live than allocated: {actual}")
        # The noise began before attach, so only a part of it was seen.
        if not name.startswith("noise_") and actual.alloc_objects != expected["calls"]:
            wrong.append(f"{name}: {actual.alloc_objects} allocations; the truth is {expected['calls']}")
    check(not wrong, f"{what}:\n  " + "\n  ".join(wrong))


# What may be in force while nothing of the account is allocated.
OTHERS = [["--sample", "1"], ["--sample", "100"], ["--sample", "4096"], ["--samples-per-word", "0.01"], ["--budget", "1"], ["--stop-recording"]]


class Switching:
    """Changes of settings. Each is seen in the answer and by status."""

    def __init__(self, pid):
        self.pid, self.changes = pid, 0

    def set(self, *options):
        after = heapsnap_ok("set", self.pid, *options)["after"]
        settings = heapsnap_ok("status", self.pid)["processes"][0]["settings"]
        settings.pop("since")
        check_equal(settings, after, f"what status says after set {options}")
        self.changes += 1

    def to_and_fro(self):
        for options in random.sample(OTHERS, 3):
            self.set(*options)
            if random.random() < 0.5:
                self.set("--exact")

    def during(self, work):
        """Calls work() while every allocation is recorded, and that is said again and again, which changes nothing."""
        self.set("--exact")
        ends = threading.Event()
        errors = []

        def again():
            try:
                while not ends.is_set():
                    self.set("--exact")
            except Failure as failure:
                errors.append(failure)
        thread = threading.Thread(target=again)
        thread.start()
        try:
            return work()
        finally:
            ends.set()
            thread.join()
            for error in errors:
                raise error


class Steady:
    """No change."""
    changes = 0

    def __init__(self, pid):
        pass

    def to_and_fro(self):
        pass

    def during(self, work):
        return work()


def one_run(number, threads, settings, directory):
    target = Target("ground_truth", threads, random.randrange(1, 1 << 30), target_path("libtruth_plugin.so"))
    before = Unharmed(target.pid)
    check_equal(target.ask("noise"), "noisy", "answer")
    attach(target.pid, "--exact")
    settings = settings(target.pid)
    before.check_attached()
    settings.to_and_fro()
    *lines, _ = settings.during(lambda: target.ask_json("go"))
    truth = {line["site"]: line for line in lines}

    first, second = (os.path.join(directory, name) for name in ("first.pb.gz", "second.pb.gz"))
    report = dump(target.pid, first)
    dump(target.pid, second)
    before.check_attached()
    sites = profiles.by_innermost(first)
    compare(truth, sites, f"{threads} threads")
    check_equal(profiles.by_innermost(second), sites, "a second dump of the same state")
    compare(truth, profiles.by_innermost_with_pprof(first), f"{threads} threads, sums made by pprof")

    total = sum(sites.values(), profiles.Values())
    check_equal((report["live_objects"], report["live_bytes"]), (total.live_objects, total.live_bytes),
                "totals that dump reports and those of the file")
    check_equal((report["alloc_objects"], report["alloc_bytes"]), (total.alloc_objects, total.alloc_bytes),
                "allocation totals that dump reports and those of the file")
    losses = [line for line in report["ledger"] if line["loss"] and line["value"]]
    expected = ("hook_", "stack_cut", "was_stopped") if settings.changes else ("hook_", "stack_cut")
    check(not [line for line in losses if not line["name"].startswith(expected)], f"losses: {losses}")

    settings.to_and_fro()
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    settings.to_and_fro()
    third = os.path.join(directory, "third.pb.gz")
    dump(target.pid, third)
    freed = {name: dict(line, objects=0, bytes=0) for name, line in truth.items()}
    compare(freed, profiles.by_innermost(third), "after everything was freed")
    detach(target.pid)
    check_loaded_plugin_only(before)
    target.end()
    objects = sum(line["objects"] for line in truth.values())
    say(f"run {number}: {threads} threads, {objects} live objects in {len(truth)} sites: equal"
        + (f"; {settings.changes} changes of settings" if settings.changes else "") + (f"; ledger losses {losses}" if losses else ""))


def check_loaded_plugin_only(before):
    """The target loaded one library meanwhile; nothing else may be new."""
    now = Unharmed(before.pid)
    found = [line for line in before.differences(now, memory_may_change=True) if "libtruth_plugin.so" not in line]
    check(not found, "not as it was:\n  " + "\n  ".join(found))


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    settings = Switching if sys.argv[2:] == ["switching"] else Steady
    directory = temporary_directory()
    for number in range(1, runs + 1):
        one_run(number, 64 if number == runs else THREADS[(number - 1) % len(THREADS)], settings, directory)
    say(f"{runs} of {runs} runs equal the truth in every site")


run_test(main, "ground truth")
