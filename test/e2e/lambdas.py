# SPDX-License-Identifier: Apache-2.0
"""Lambdas without a symbol of their own: each is a function of its own by the line where it begins, and what std::thread is made of is nobody's code."""

import os

from harness import check, check_equal, heapsnap, heapsnap_ok, leave_out, run_test, say, target_path, temporary_directory

LAMBDAS = (("first", 100, 1111), ("second", 100, 2222), ("third", 100, 3333))
SOURCE = "lambdas.cc"


def lines():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets", SOURCE), encoding="utf-8") as file:
        return [line.strip() for line in file]


def begin_of(name):
    """The number of the line where the lambda begins."""
    text = lines()
    place = next(number for number, line in enumerate(text) if line.endswith(f"// {name}"))
    return next(number + 1 for number in range(place, 0, -1) if "[]" in text[number])


def main():
    if not os.path.exists(target_path("lambdas")):
        leave_out("no compiler of C++ here")
        return
    path = os.path.join(temporary_directory(), "out.pb.gz")
    result = heapsnap("run", "--exact", "--no-cache", "-q", "--at-exit", path, "--", target_path("lambdas"))
    check_equal(result.status, 0, str(result))
    rows = heapsnap_ok("report", path, "--by", "function")["rows"]
    for name, blocks, size in LAMBDAS:
        found = [row for row in rows if os.path.basename(row["file"]) == SOURCE and row["line"] == begin_of(name)]
        say(f"  {name}: {[(row['name'], row['line'], row['live_objects']) for row in found]}")
        check_equal([(row["live_objects"], row["live_bytes"]) for row in found], [(blocks, blocks * size)], f"rows of the {name} lambda")
    sites = [site for site in heapsnap_ok("report", path)["sites"] if os.path.basename(site["file"]) == SOURCE and site["live_objects"] >= 50]
    check_equal(sorted(site["live_objects"] for site in sites), [50, 50, 100, 100], f"blocks of the sites: {sites}")
    for site in sites:
        own = [frame for frame in site["stack"] if frame["class"] == "own"]
        check(len(own) == 1 and os.path.basename(own[0]["file"]) == SOURCE, f"own code: {own}")


run_test(main, "lambdas")
