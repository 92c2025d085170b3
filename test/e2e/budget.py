# SPDX-License-Identifier: Apache-2.0
"""A budget: under load a thread's interval grows, each block is still accounted for by an estimate, and when the load has gone every allocation is
recorded again. How soon depends on the machine; that it comes does not."""

import time

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, detach, dump, heapsnap, run_test, say, temporary_directory)

SECONDS = 60  # within which an interval follows the load


def status(pid):
    result = heapsnap("status", pid, "--json")
    check_equal(result.status, 0, str(result))
    return result.json["processes"][0]


def until(target, command, condition, what):
    """Has the target do something again and again until its status is what is wanted."""
    end = time.monotonic() + SECONDS
    while True:
        check_equal(target.ask(command), "done", "answer")
        now = status(target.pid)
        if condition(now):
            return now
        check(time.monotonic() < end, f"{what}: not within {SECONDS} s: {now}")


def blocks(path, site):
    return profiles.by_innermost(path)[site]


def ledger(report, name):
    return next((line["value"] for line in report["ledger"] if line["name"] == name), 0)


def run():
    target = Target("bursts")
    before = Unharmed(target.pid)
    path = temporary_directory() + "/out.pb.gz"
    attach(target.pid, "--budget", "3")
    check_equal(target.ask("keep 1000"), "done", "answer")
    dump(target.pid, path)
    check_equal(blocks(path, "site_keep").live_objects, 1000, "blocks of a thread with little to do, before the load")

    busy = until(target, "churn 3000000", lambda now: now.get("interval_most", 0) > 1, "sampling under load")
    check("cost_most_percent" in busy, f"status tells no cost: {busy}")
    say(f"  under load: one sample in {busy['interval_most']} bytes, cost {busy['cost_most_percent']} %")
    churned = 3000000
    check_equal(target.ask(f"churn {churned}"), "done", "answer")
    report = dump(target.pid, path)
    check(ledger(report, "allocations") < blocks(path, "site_churn").alloc_objects, "all of the churn was recorded")
    check_equal(blocks(path, "site_churn").live_objects, 0, "live blocks of the churn")
    check_equal(blocks(path, "site_keep").live_objects, 1000, "blocks from before the load")

    quiet = until(target, "rest 50", lambda now: now.get("interval_most") == 1, "every allocation again after the load")
    check_equal(quiet["interval_least"], 1, "interval of the thread")
    check_equal(target.ask("keep 500"), "done", "answer")
    dump(target.pid, path)
    check_equal(blocks(path, "site_keep").live_objects, 1500, "blocks of a thread with little to do, after the load")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


run_test(run, "budget")
