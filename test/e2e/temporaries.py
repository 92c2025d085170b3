# SPDX-License-Identifier: Apache-2.0
"""Temporary allocations, given back before their thread allocates another (--sort temporary-blocks): compared with a program that knows them.
usage: temporaries.py [CASE...]"""

import json
import math
import os
import re

import profiles
from harness import Target, attach, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, run_cases, temporary_directory


def begin(rounds, *options):
    target = Target("temporaries")
    attach(target.pid, *options)
    return target, json.loads(target.ask(f"run {rounds}"))


def counted(of):
    """function -> temporary allocations, all allocations"""
    return {row["name"]: (row["temporary_objects"], row["alloc_objects"])
            for row in heapsnap_ok("report", of, "--by", "function", "--sort", "temporary-blocks")["rows"]}


def end(target):
    detach(target.pid)
    target.end()


def exact():
    rounds = 4000
    target, truth = begin(rounds, "--exact")
    path = os.path.join(temporary_directory(), "exact.pb.gz")
    for of in (target.pid, path):
        dump(target.pid, path)
        found = counted(of)
        check_equal({name: found[name][0] for name in truth}, truth, f"temporary allocations of {of}")
        check_equal(found["reallocated"][1], 2 * rounds, "each block that is reallocated counts as two")
    profiles.check_reader_is_content(path)
    end(target)


def sampled():
    """Estimates: of as many samples as there are, within five standard errors."""
    rounds, interval = 60000, 4096
    target, truth = begin(rounds, "--sample", str(interval))
    found = counted(target.pid)
    sizes = {"simple": 64, "inner": 48, "beside_other_frees": 96, "reallocated": 400}
    for name, size in sizes.items():
        samples = truth[name] * -math.expm1(-size / interval)
        check(abs(found[name][0] - truth[name]) < 5 * truth[name] / math.sqrt(samples), f"{name}: {found[name][0]}, truly {truth[name]}")
    for name in ("outer", "replaced", "give", "give_back"):
        check_equal(found.get(name, (0, 0))[0], 0, f"temporary ones of {name}")
    end(target)


def rows():
    target, _ = begin(1000, "--exact")
    shown = heapsnap("report", target.pid, "--sort", "temporary-blocks").stdout
    check(re.search(r"^ temporary  share rate +site$", shown, re.M), shown)
    check(re.search(r"^ +1,000 +100 % [0-9.k,]+/s +simple ", shown, re.M), shown)
    tree = heapsnap("report", target.pid, "--sort", "temporary-blocks", "--tree").stdout
    check(re.search(r"^ temporary   share  of own ", tree, re.M), tree)
    check_refused(heapsnap("report", target.pid, "--sort", "temporary-blocks", "--min-size", "1"), "does not say how many allocations were temporary")
    check_refused(heapsnap("diff", "a", "b", "--sort", "temporary-blocks"), "a difference is not ordered by temporary-blocks")
    end(target)


run_cases([exact, sampled, rows], "temporaries")
