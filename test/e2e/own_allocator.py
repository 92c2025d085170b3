# SPDX-License-Identifier: Apache-2.0
"""An allocator that no distribution has: with C23's free_sized and free_aligned_sized, the same with a malloc that calls its posix_memalign, or with all
of jemalloc's names under a prefix. The
dump equals the program's own account, site by site; each site gives its blocks back in a way of its own.
usage: own_allocator.py PROGRAM"""

import json
import os
import sys

import profiles
from harness import Target, Unharmed, attach, check, check_equal, detach, dump, run_test, say, temporary_directory


def work(target):
    *account, last = target.ask_json("work")
    check_equal(last["end"], len(account), "sites")
    return {line["site"]: (line["objects"], line["bytes"], line["calls"]) for line in account}


def at_sites(path):
    return {name: (values.live_objects, values.live_bytes, values.alloc_objects) for name, values in profiles.by_innermost(path).items()}


def ledger(report):
    return {line["name"]: line["value"] for line in report["ledger"]}


def compare(path, account):
    sites = at_sites(path)
    wrong = [f"{name}: {sites.get(name)}, the truth is {account.get(name)}" for name in sorted(set(sites) | set(account))
             if sites.get(name) != account.get(name)]
    check(not wrong, "(live objects, live bytes, calls) at\n  " + "\n  ".join(wrong))


def main():
    program = sys.argv[1]
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target(program)
    work(target)
    check_equal(target.ask("finish"), "ok", "answer")
    check_equal(target.ask("early"), "made", "answer")
    before = Unharmed(target.pid)
    report = attach(target.pid)
    check_equal(report["hooks_refused"], 0, f"refused hooks: {report}")
    before.check_attached()

    account = work(target)
    counts = ledger(dump(target.pid, path))
    compare(path, account)
    check_equal((counts["unknown_frees"], counts["replaced"]), (0, 0), "unknown frees, replaced blocks")
    check_equal(counts["nested"] > 0, program == "nested_calls", "whether calls of the allocator's functions to each other are counted")
    check_equal(target.ask("finish"), "ok", "answer")
    last = dump(target.pid, path)
    check_equal((last["live_objects"], ledger(last)["unknown_frees"]), (0, 0), "live blocks at the end, unknown frees")

    # What the caller says of the size of a block that nobody has seen made.
    truth = json.loads(target.ask("drop"))
    counts = ledger(dump(target.pid, path))
    check_equal((counts["unknown_frees"], counts["unknown_free_sizes"], counts["unknown_free_bytes"]),
                (truth["count"], truth["sized"], truth["sized_bytes"]), "frees of early blocks, those of known size, their bytes")

    detach(target.pid)
    before.check_after(memory_may_change=True)
    work(target)
    check_equal(target.ask("finish"), "ok", "answer")
    target.end()
    say(f"{program}: {report['hooks']} hooks, {sum(calls for _, _, calls in account.values())} calls at {len(account)} sites: equal")


run_test(main, "own_allocator")
