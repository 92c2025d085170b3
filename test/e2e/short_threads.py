# SPDX-License-Identifier: Apache-2.0
"""Estimates of programs whose threads live for ten allocations each, and of coroutines: at an interval and under a budget. And no figure of a program that was
sampled for a time is said to be exact."""

import os
import re

import profiles
from harness import Target, attach, check, check_equal, detach, dump, heapsnap, run_test, say, temporary_directory

OWN = ("--own", "^in_")  # functions that only allocate for their caller are no sites otherwise
THREADS, BLOCKS, SIZE = 2000, 10, 1000
QUIET, QUIET_SIZE = 300, 512
ERRORS = 8  # of its standard errors: how far an estimate may be from the truth


def site(report, name):
    return next((each for each in report["sites"] if each["function"] == name), None)


def check_estimate(report, name, objects, size):
    """Within ERRORS of the errors that the dump tells."""
    found = site(report, name)
    check(found, f"{name} is not among the sites")
    for what, truth in (("live_objects", objects), ("live_bytes", objects * size)):
        check(abs(found[what] - truth) <= ERRORS * found[what + "_error"], f"{name}: {truth}, not {found}")
        check(found[what + "_error"] > 0, f"{name}: an estimate without an error: {found}")
    say(f"  {name}: {found['live_objects']} +- {found['live_objects_error']} blocks of {objects}")
    return found


def at_an_interval(path):
    target = Target("short_threads")
    attach(target.pid, "--sample", "64K")
    check_equal(target.ask(f"threads {THREADS}"), "done", "answer")
    check_equal(target.ask(f"coroutines {THREADS}"), "done", "answer")
    report = dump(target.pid, path, *OWN)
    for name in ("in_thread", "in_coroutine"):
        found = check_estimate(report, name, THREADS * BLOCKS, SIZE)
        check(found["live_objects_error"] < THREADS * BLOCKS / 10, f"some 300 samples have an error of some 6 %: {found}")
    check_equal(report["interval_most"], 65536, "largest interval")
    detach(target.pid)
    target.end()


def check_quiet(report):
    """A site so small that perhaps no sample fell into it. Then it is not shown, and the dump says elsewhere that so much may be missing."""
    if site(report, "in_quiet"):
        check_estimate(report, "in_quiet", QUIET, QUIET_SIZE)
        return
    most = next((line for line in report["ledger"] if line["name"] == "interval_most"), None)
    check(most and most["value"] == report["interval_most"], f"the ledger does not say what any site may have: {report['ledger']}")
    check(QUIET * QUIET_SIZE <= ERRORS * most["value"], f"{QUIET * QUIET_SIZE} bytes are shown nowhere, at {most}")
    say(f"  in_quiet: none of {QUIET} blocks was recorded, at up to {most['value']} bytes between samples")


def under_a_budget(path):
    target = Target("short_threads")
    attach(target.pid, "--budget", "1")
    for _ in range(50):
        check_equal(target.ask("busy 1000000"), "done", "answer")
        if dump(target.pid, path)["interval_most"] > 1:
            break
    check_equal(target.ask(f"keep {QUIET}"), "done", "answer")
    check_equal(target.ask(f"threads {THREADS}"), "done", "answer")
    report = dump(target.pid, path, "--errors", *OWN)
    check(report["estimate"] and report["interval_most"] > 1, f"it was not sampled: {report['interval_most']}")
    check_quiet(report)
    check_estimate(report, "in_thread", THREADS * BLOCKS, SIZE)
    for each in report["sites"]:
        check(each["live_bytes_error"] >= report["interval_most"], f"an error below what may be missing: {each}")
    check(report["live_bytes_error"] >= report["interval_most"], "the error of all of it")
    for sample in profiles.read(path).samples:
        check(sample.labels["inuse_space_error"][0] >= report["interval_most"] and sample.labels["inuse_objects_error"][0] > 0, f"a label: {sample.labels}")
    check_equal(profiles.read(path).comment("sampling_interval_most"), str(report["interval_most"]), "comment")
    text = heapsnap("dump", target.pid, "-o", path)
    table = text.stdout + text.stderr
    check("±" in table and not re.search(r"(?<![0-9.])0 %", table), f"a figure that is said to be exact:\n{table}")
    detach(target.pid)
    target.end()


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    at_an_interval(path)
    under_a_budget(path)


run_test(main, "short_threads")
