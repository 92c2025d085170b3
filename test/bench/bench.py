# SPDX-License-Identifier: Apache-2.0
"""What heapsnap costs on this machine, beside what others cost: workloads x modes, measured in turn. Nothing is asserted but that the
programs give right results. The tables are workloads.py and modes.py; publish.py makes the documents of what this writes with --json."""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import first_seconds  # noqa: E402
import heaps  # noqa: E402
import instructions  # noqa: E402
import machine  # noqa: E402
import modes  # noqa: E402
import stop_times  # noqa: E402
import turns  # noqa: E402
import workloads  # noqa: E402
from harness import Failure, check, run_test, say, temporary_directory  # noqa: E402

PARTS = ("stop", "first", "memory", "dump", "instructions")  # besides the workloads


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--only", metavar="WORKLOAD", action="append", help="this workload, or stop, first, memory, dump, instructions; may be repeated")
    parser.add_argument("--rounds", type=int, metavar="N", help="7 unless told; slow profilers and long workloads have fewer")
    parser.add_argument("--modes", metavar="A,B", help="only these of heapsnap's modes, or none")
    parser.add_argument("--peers", metavar="A,B", help="only these peers, or none")
    parser.add_argument("--quick", action="store_true", help="2 rounds, small sizes: to see that it works")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--commit", metavar="NAME", default="", help="what is measured, for the JSON")
    parser.add_argument("--list", action="store_true", help="print the names of workloads, modes and peers")
    return parser.parse_args()


def chosen(names, all_names, what):
    if names is None:
        return all_names
    wanted = [] if names in ("none", ["none"]) else names.split(",") if isinstance(names, str) else names
    check(set(wanted) <= set(all_names), f"no such {what}: {', '.join(sorted(set(wanted) - set(all_names)))}; there are {', '.join(all_names)}")
    return [name for name in all_names if name in wanted]


def usable(table, names):
    """Those that can run here; says why the others cannot."""
    result = []
    for mode in table:
        if mode.name in names and mode.left_out:
            say(f"left out: {mode.title}: {mode.left_out}")
        elif mode.name in names:
            result.append(mode)
    return result


def quick_workloads(table):
    workloads.MEASURE_MS = 50
    workloads.RedisServer.REQUESTS = 20000
    return [workload for workload in table if getattr(workload, "live", 0) <= 100000]


def memory_cases(exact, own, quick):
    """Mode, blocks, size, digits of the number of stacks."""
    cases = [(exact, 10**5, 64, 3)]
    if not quick:
        cases += [(exact, 10**6, 64, 3), (exact, 10**6, 64, 4), (exact, 10**7, 64, 3), (exact, 10**6, 1024, 3)]
    for mode in [mode for mode in own if mode.name in ("sample", "budget")]:
        cases += [(mode, 10**5, 64, 3)] if quick else [(mode, 2**24, 64, 3), (mode, 2**20, 1024, 3)]
    return cases


def own_figures(quick, rounds, own, peers, directory):
    """What only heapsnap is asked, but for the instructions: name -> a function that measures it."""
    exact = modes.heapsnap_modes()[0]

    def clang():
        return workloads.CppCompile(directory).begin(modes.INSTALLED)
    dumped = [(10**4, 3), (10**5, 3)] + ([] if quick else [(10**6, 3), (10**6, 4), (10**7, 3)])
    few, busy = [("sleep", count) for count in (1, 100)], "allocate every 200 ms"
    stopped = few if quick else [*few, ("sleep", 1000), (busy, 1000), (busy, 5000)]
    by_name = {mode.name: mode for mode in modes.heapsnap_modes()}
    budget, shallow = by_name["budget"], by_name["shallow"]
    return {"stop": lambda: stop_times.measure(stopped, rounds, exact),
            "first": lambda: first_seconds.measure(2 if quick else 20, budget),
            "memory": lambda: heaps.memory(memory_cases(exact, own, quick)),
            "dump": lambda: heaps.dumps(dumped, rounds, exact, clang, shallow),
            "instructions": lambda: instructions.measure([mode for mode in [*own, *peers] if not mode.only_workloads],
                                                         (13,) if quick else (5, 13, 29), 1000, 100 if quick else 1000)}


def save(result, path):
    """After each step: what was measured is not lost with what comes later."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


def run(options):
    directory = temporary_directory()
    own, peers = modes.heapsnap_modes(), modes.peer_modes()
    table = workloads.all_workloads(directory)
    if options.list:
        for what, names in (("workloads", [workload.name for workload in table] + list(PARTS)), ("modes", [mode.name for mode in own]),
                            ("peers", [mode.name for mode in peers])):
            say(f"{what}: {' '.join(names)}")
        return
    wanted = chosen(options.only, [workload.name for workload in table] + list(PARTS), "workload")
    own_names = chosen(options.modes, [mode.name for mode in own], "mode")
    peer_names = chosen(options.peers, [mode.name for mode in peers], "peer")
    if options.quick:
        table = quick_workloads(table)
    rounds = options.rounds or (2 if options.quick else 7)
    check(rounds > 0, "--rounds takes a number from 1")
    result = {"machine": machine.description(), "commit": options.commit, "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
              "rounds": rounds, "quick": options.quick,
              "modes": [{"name": mode.name, "title": mode.title, "left_out": mode.left_out} for mode in [*own, *peers]
                        if mode.name in own_names + peer_names], "costs": [], "failed": []}
    say(f"{result['machine']['processors']} processors, {result['machine']['processor']}, Linux {result['machine']['kernel']}; up to {rounds} rounds")
    own, peers = usable(own, own_names), usable(peers, peer_names)
    for workload in table:
        if workload.name in wanted:
            rows, failed = turns.measure(workload, [*own, *peers], rounds)
            result["costs"] += rows
            result["failed"] += failed
            save(result, options.json)
    for name, measure in own_figures(options.quick, rounds, own, peers, directory).items():
        if name in wanted:
            try:
                result[name] = measure()
            except Failure as failure:
                say(f"left out: {name}: {failure}")
                result["failed"].append({"workload": name, "mode": "heapsnap", "reason": str(failure)})
            save(result, options.json)


if __name__ == "__main__":
    chosen_options = arguments()
    run_test(lambda: run(chosen_options), "bench")
