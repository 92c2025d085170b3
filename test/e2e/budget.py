# SPDX-License-Identifier: Apache-2.0
"""A budget: under load a thread's interval grows, each block is still accounted for by an estimate, and when the load has gone every allocation is
recorded again. Where it is the number of records that costs too much, they are downsampled, and status says so. How soon depends on the machine; that it
comes does not."""

import time

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, detach, dump, heapsnap, run_test, say, temporary_directory)

OWN = ("--own", "^site_")  # functions that only allocate for their caller are no sites otherwise
SECONDS = 60  # within which an interval follows the load
FEW = 120      # records that no budget is too small for
MANY = 200000  # so many that the Bloom filter excludes nothing


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


def follows_the_load():
    target = Target("bursts")
    before = Unharmed(target.pid)
    path = temporary_directory() + "/out.pb.gz"
    attach(target.pid, "--budget", "3")
    check_equal(target.ask(f"keep {FEW}"), "done", "answer")
    dump(target.pid, path)
    check_equal(blocks(path, "site_keep").live_objects, FEW, "blocks of a thread with little to do, before the load")

    busy = until(target, "churn 3000000", lambda now: now.get("interval_most", 0) > 1, "sampling under load")
    check("cost_most_percent" in busy, f"status tells no cost: {busy}")
    say(f"  under load: one sample in {busy['interval_most']} bytes, cost {busy['cost_most_percent']} %")
    churned = 3000000
    check_equal(target.ask(f"churn {churned}"), "done", "answer")
    report = dump(target.pid, path, *OWN)
    check(ledger(report, "allocations") < blocks(path, "site_churn").alloc_objects, "all of the churn was recorded")
    check_equal(blocks(path, "site_churn").live_objects, 0, "live blocks of the churn")
    check_equal(blocks(path, "site_keep").live_objects, FEW, "blocks from before the load")

    quiet = until(target, "rest 50", lambda now: now.get("interval_most") == 1, "every allocation again after the load")
    check_equal(quiet["interval_least"], 1, "interval of the thread")
    check("downsampled_to" not in quiet, f"few records were downsampled: {quiet}")
    check_equal(target.ask(f"keep {FEW}"), "done", "answer")
    dump(target.pid, path)
    check_equal(blocks(path, "site_keep").live_objects, 2 * FEW, "blocks of a thread with little to do, after the load")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


def check_estimate(report, name, objects):
    """Within six of the standard errors that the dump reports: by chance one run in 500 million is not."""
    site = next(each for each in report["sites"] if each["function"] == name)
    check(abs(site["live_objects"] - objects) <= 6 * site["live_objects_error"], f"{objects} blocks, not {site}")
    return site


def downsamples_what_there_is():
    target = Target("bursts")
    before = Unharmed(target.pid)
    path = temporary_directory() + "/downsampled.pb.gz"
    attach(target.pid, "--budget", "100")
    check_equal(target.ask(f"keep {MANY}"), "done", "answer")
    report = dump(target.pid, path, "--errors", *OWN)
    check_estimate(report, "site_keep", MANY)
    check(report["samples"] > MANY // 10, f"only {report['samples']} records, with all of the time for a budget")

    set_to = heapsnap("set", target.pid, "--budget", "3", "--json")
    check_equal((set_to.status, set_to.json.get("bloom_in_use")), (0, True), str(set_to))
    busy = until(target, "churn 1000000", lambda now: now.get("downsampled_to", 0) > 1 and not now["is_downsampling"], "downsampling under load")
    # What is allocated under load, after that: no finer.
    busy = until(target, "churn 1000000", lambda now: now.get("interval_least", 0) >= now["downsampled_to"] and not now["is_downsampling"], "coarser samples")
    say(f"  records downsampled to one sample in {busy['downsampled_to']} bytes, now one in {busy['interval_least']}")
    text = heapsnap("status", target.pid)
    check(" downsampled to one sample in " in text.stdout + text.stderr, f"status does not tell: {text}")
    downsampled = dump(target.pid, path, "--errors", *OWN)
    site = check_estimate(downsampled, "site_keep", MANY)
    check(0 < downsampled["samples"] < report["samples"] / 4, f"{downsampled['samples']} records of {report['samples']}")
    check(ledger(downsampled, "downsampled") > 0, "the ledger says nothing of what was given up")
    check(site["live_objects_error"] > 0, f"an estimate without an error: {site}")

    until(target, "rest 50", lambda now: now.get("interval_most") == 1, "every allocation again after the load")
    check_equal(target.ask(f"hold {FEW}"), "done", "answer")
    again = dump(target.pid, path, "--errors", *OWN)
    check_estimate(again, "site_keep", MANY)
    hold = check_estimate(again, "site_hold", FEW)
    check(hold["live_bytes_error"] >= again["interval_most"], f"others may have come while not all were recorded: {hold}")
    check_equal(heapsnap("set", target.pid, "--budget", "3").status, 0, "status of set")
    check("downsampled_to" not in status(target.pid), "new settings leave samples as coarse as the old ones had to be")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


def run():
    follows_the_load()
    downsamples_what_there_is()


run_test(run, "budget")
