# SPDX-License-Identifier: Apache-2.0
"""Samples of what C++ operators make: estimates are right whether the operator calls other hooked functions (each block would count twice) or not,
in each allocator that has operators of its own."""

import json
import os

import profiles
from harness import Failure, Target, Unharmed, attach, check, check_equal, detach, dump, leave_out, run_test, say, target_path, temporary_directory

PROGRAMS = ["new_calls", "new_calls_tcmalloc", "new_calls_mimalloc", "new_calls_jemalloc", "new_calls_own_operators"]


class Improbable(Failure):
    """A check that does not hold, which may be chance."""


def one_try(program, directory):
    target = Target(program)
    before = Unharmed(target.pid)
    attach(target.pid, "--sample", "4K")
    truth = json.loads(target.ask("hold"))
    path = os.path.join(directory, "hold.pb.gz")
    report = dump(target.pid, path, "--errors")
    check_equal(target.ask("free"), "freed", "answer")
    dump(target.pid, path)
    check_equal(sum(values.live_objects for values in profiles.by_innermost(path).values()), 0, "live after all was freed")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    ledger = {line["name"]: line["value"] for line in report["ledger"]}
    # A call within another is seen for as long as the operator is not yet known to make some.
    check_equal(ledger.get("nested", 0) > 0, program == "new_calls_own_operators", "calls within others were seen")
    say(f"{program}: {report['live_objects']} +- {report['live_objects_error']} blocks of {truth['blocks']}, {report['live_bytes']} +- "
        f"{report['live_bytes_error']} bytes of {truth['bytes']}")
    check(report["live_objects_error"] < truth["blocks"] / 20, "the error is small")
    for name in ("objects", "bytes"):
        if abs(report[f"live_{name}"] - truth["blocks" if name == "objects" else "bytes"]) > 4 * report[f"live_{name}_error"]:
            raise Improbable(f"{program}: {name}: {report[f'live_{name}']} is not {truth}")


def main():
    directory = temporary_directory()
    for program in PROGRAMS:
        if not os.path.exists(target_path(program)):
            leave_out(f"{program} was not built")
            continue
        try:
            one_try(program, directory)
        except Improbable as failure:
            say(f"once more, because: {failure}")
            one_try(program, directory)


run_test(main, "operators sampled")
