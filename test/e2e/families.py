# SPDX-License-Identifier: Apache-2.0
"""Every function of every allocator: the dump equals the program's own account, site by site; frees of early blocks are in the ledger, with
their bytes where those can be known; operators that throw do what they do without heapsnap.
usage: families.py [NAME]"""

import json
import os
import re
import sys

import profiles
from harness import Target, Unharmed, attach, check, check_equal, detach, dump, leave_out, run_test, say, target_path, temporary_directory

LIBRARIES = "/usr/lib/x86_64-linux-gnu"


class Family:
    def __init__(self, name, program, preload=None, usable=True, rounds=False):
        """`usable`: whether the allocator tells the sizes of early blocks; `rounds`: whether its aligned operators ask for multiples of the
        alignment (libstdc++'s)."""
        self.name, self.program, self.preload, self.usable, self.rounds = name, program, preload, usable, rounds

    def missing(self):
        for path in [target_path(self.program)] + ([self.preload] if self.preload else []):
            if not os.path.exists(path):
                return path
        return None

    def start(self):
        command = [target_path(self.program)]
        if self.preload:
            command = ["env", f"LD_PRELOAD={self.preload}"] + command
        return Target(self.program, command=command)


FAMILIES = [
    Family("glibc", "families", rounds=True),
    Family("jemalloc preloaded", "families", f"{LIBRARIES}/libjemalloc.so.2", usable=False),
    Family("jemalloc linked", "families_jemalloc", usable=False),
    Family("jemalloc archive", "families_jemalloc_archive", usable=False),
    Family("tcmalloc preloaded", "families", f"{LIBRARIES}/libtcmalloc.so.4"),
    Family("tcmalloc minimal preloaded", "families", f"{LIBRARIES}/libtcmalloc_minimal.so.4"),
    Family("tcmalloc linked", "families_tcmalloc"),
    Family("tcmalloc archive", "families_tcmalloc_archive"),
    Family("mimalloc preloaded", "families", f"{LIBRARIES}/libmimalloc.so.2"),
    Family("mimalloc linked", "families_mimalloc"),
]


def read_account(target, family):
    *lines, end = target.ask_json("work")
    account = {line["site"]: line for line in lines}
    check_equal(end["end"], len(account), "sites")
    for name, line in account.items():
        if family.rounds and re.search("new.*_aligned", name):
            line["bytes"] = line["rounded"]
    return account


def compare(account, sites, what):
    wrong = []
    for name, expected in account.items():
        actual = sites.get(name, profiles.Values())
        if (actual.live_objects, actual.live_bytes, actual.alloc_objects) != (expected["objects"], expected["bytes"], expected["calls"]):
            wrong.append(f"{name}: {actual}; the truth is {expected}")
    for name, actual in sites.items():
        if name not in account and actual.live_objects:
            wrong.append(f"{name} is live and no site: {actual}")
    check(not wrong, f"{what}:\n  " + "\n  ".join(wrong))


def ledger(report):
    return {line["name"]: line["value"] for line in report["ledger"]}


def check_early(family, before, after, truth, answer):
    """What the early blocks have added to the ledger."""
    if answer == "drop":
        check_equal(after["unknown_frees"] - before["unknown_frees"], truth["count"], "frees of early blocks")
        sizes = after["unknown_free_sizes"] - before["unknown_free_sizes"]
        size_bytes = after["unknown_free_bytes"] - before["unknown_free_bytes"]
    else:
        check_equal(after["unknown_reallocations"] - before["unknown_reallocations"], truth["count"], "reallocations of early blocks")
        check_equal(after["unknown_frees"], before["unknown_frees"], "frees of reallocated blocks")
        sizes = after["unknown_reallocation_sizes"] - before["unknown_reallocation_sizes"]
        size_bytes = after["unknown_reallocation_bytes"] - before["unknown_reallocation_bytes"]
    if family.usable:
        check_equal(sizes, truth["count"], "early blocks of known size")
        check(truth["bytes"] <= size_bytes <= truth["bytes"] * 1.5, f"bytes of early blocks: {size_bytes}; the truth is {truth['bytes']}")
    elif answer == "drop":
        check_equal((sizes, size_bytes), (truth["sized"], truth["sized_bytes"]), "early blocks of which the caller says the size")
    else:
        check_equal((sizes, size_bytes), (0, 0), "reallocated blocks of known size")


def go_through(family, directory):
    path = os.path.join(directory, "out.pb.gz")
    target = family.start()
    for _ in range(2):  # warm
        read_account(target, family)
        check_equal(target.ask("finish"), "ok", "contents of the blocks")
    thrown = target.ask("throw")
    target.ask("early")
    before = Unharmed(target.pid)
    report = attach(target.pid)
    before.check_attached()

    account = read_account(target, family)
    first = dump(target.pid, path)
    compare(account, profiles.by_innermost(path), family.name)
    check_equal(ledger(first)["unknown_frees"], 0, "frees of unknown blocks, where there are none")
    check_equal(ledger(first)["replaced"], 0, "blocks that were replaced")
    check_equal(ledger(first)["left_to_operator"], 0, "operators whose companion failed, where none fails")
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    second = dump(target.pid, path)
    check_equal((second["live_objects"], ledger(second)["unknown_frees"]), (0, 0), "live objects after everything was freed, unknown frees")

    truth = json.loads(target.ask("drop"))
    third = dump(target.pid, path)
    check_early(family, ledger(second), ledger(third), truth, "drop")
    for name in ("unknown_frees", "unknown_free_bytes"):
        check_equal(profiles.read(path).comment(name), str(ledger(third)[name] or None), f"{name} among the comments of the profile")

    check_equal(target.ask("throw"), thrown, "what operators that fail do")
    fourth = dump(target.pid, path)
    failed = ledger(fourth)["left_to_operator"] + ledger(fourth)["failed_allocations"]
    check(failed > 0, f"no failed operator in the ledger: {fourth['ledger']}")
    detach(target.pid)
    before.check_after(memory_may_change=True)

    target.ask("early")
    attach(target.pid)
    fifth = dump(target.pid, path)
    truth = json.loads(target.ask("grow"))
    check_early(family, ledger(fifth), ledger(dump(target.pid, path)), truth, "grow")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    read_account(target, family)
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    check_equal(target.ask("throw"), thrown, "what operators that fail do, after detach")
    target.end()
    calls = sum(line["calls"] for line in account.values())
    say(f"{family.name}: {report['hooks']} hooks, {report['hooks_refused']} refused, {len(account)} functions, {calls} calls: equal")


def main():
    families = [family for family in FAMILIES if len(sys.argv) < 2 or family.name == sys.argv[1]]
    check(families, f"no such family: {sys.argv[1:]}")
    for family in families:
        missing = family.missing()
        if missing:
            leave_out(f"{family.name}: {missing} is not there")
            continue
        go_through(family, temporary_directory())


run_test(main, "families")
