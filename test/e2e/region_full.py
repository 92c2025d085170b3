# SPDX-License-Identifier: Apache-2.0
"""A region that fills: what found no room is counted, the rest is right, and the target goes on."""

import os

from harness import Target, Unharmed, attach, check, check_equal, detach, dump, run_test, say, temporary_directory


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("cycles", 8)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")
    attach(target.pid, "--max-memory", "1M")
    operations = int(target.ask("count"))
    while int(target.ask("count")) < operations + 1000000:
        pass
    report = dump(target.pid, path, "--stop")  # its counters are of the same instant as the table
    ledger = {line["name"]: line for line in report["ledger"]}
    lost = ledger["lost_region_full"]
    check(lost["value"] > 0 and lost["loss"], f"no loss in the ledger although the region is full: {lost}")
    check(ledger["region_bytes"]["value"] <= 1 << 20, f"more than was allowed: {ledger['region_bytes']}")
    recorded, gone = ledger["allocations"]["value"], ledger["frees"]["value"] + ledger["reallocations"]["value"]
    # Each of the eight threads may have been stopped between two of the stores of one call (docs/abi.md has their order).
    missing = recorded - gone - ledger["replaced"]["value"] - report["live_objects"]
    check(abs(missing) <= 8, f"live {report['live_objects']} of {recorded} recorded, {gone} gone: {missing} missing")
    detach(target.pid)
    check_equal(target.ask("pause"), "paused", "answer")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("continue"), "continued", "answer")
    rest = target.end()
    check(rest.startswith("ok "), f"the target said {rest!r}")
    say(f"{recorded} recorded, {lost['value']} lost and counted")


run_test(main, "region full")
