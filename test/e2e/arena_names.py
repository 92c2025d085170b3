# SPDX-License-Identifier: Apache-2.0
"""Allocators with arenas, heaps and slices, by their names: the dump equals the program's own account, site by site. A list that is given back at once is seen
to go; a heap that is given back as a whole is not, and the ledger says so."""

import os

import profiles
from harness import Target, Unharmed, attach, check, check_equal, detach, dump, run_test, say, temporary_directory


def at_sites(path):
    return {name: (values.live_objects, values.live_bytes, values.alloc_objects) for name, values in profiles.by_innermost(path).items()
            if name.startswith("site_")}


def ledger(report):
    return {line["name"]: line["value"] for line in report["ledger"]}


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("arena_names")
    target.ask_json("work")
    check_equal(target.ask("finish"), "ok", "answer")
    before = Unharmed(target.pid)
    report = attach(target.pid, "--exact")
    check_equal(report["hooks_refused"], 0, f"refused hooks: {report}")
    before.check_attached()

    *lines, last = target.ask_json("work")
    check_equal(last["end"], len(lines), "sites")
    account = {line["site"]: (line["objects"], line["bytes"], line["calls"]) for line in lines}
    counts = ledger(dump(target.pid, path))
    sites = at_sites(path)
    wrong = [f"{name}: {sites.get(name)}, the truth is {account.get(name)}" for name in sorted(set(sites) | set(account))
             if sites.get(name) != account.get(name)]
    check(not wrong, "(live objects, live bytes, calls) at\n  " + "\n  ".join(wrong))
    check_equal((counts["unknown_frees"], counts["replaced"], counts["nested"]), (0, 0, 0), "unknown frees, replaced blocks, nested calls")
    check_equal(target.ask("finish"), "ok", "answer")
    check_equal(dump(target.pid, path)["live_objects"], 0, "live blocks at the end")

    listed = int(target.ask("chain"))
    counts = ledger(dump(target.pid, path))
    check_equal(at_sites(path)["site_listed"], (0, 0, listed), "a list that was given back at once")
    check_equal(counts["unknown_frees"], 0, "unknown frees")

    whole = int(target.ask("all"))
    report = dump(target.pid, path)
    line = next(line for line in report["ledger"] if line["name"] == "whole_frees")
    check_equal((line["value"], line["loss"]), (2, True), "heaps that were given back as a whole")
    live, _, calls = at_sites(path)["site_whole"]
    check_equal(calls, 2 * whole, "blocks made in the heap")
    # The first round's addresses came again in the second one.
    check_equal((live, ledger(report)["replaced"]), (whole, whole), "blocks still shown, blocks found again without having been freed")

    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.ask_json("work")
    check_equal(target.ask("finish"), "ok", "answer")
    target.end()
    say(f"{len(account)} functions, {sum(calls for _, _, calls in account.values())} calls: equal")


run_test(main, "arena_names")
