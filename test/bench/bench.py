# SPDX-License-Identifier: Apache-2.0
"""The figures of heapsnap on this machine: how long threads are stopped, what a malloc+free pair costs, how long a dump takes.
Nothing is asserted. usage: bench.py [--json FILE] [--quick]"""

import argparse
import json
import os
import platform
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import Target, attach, check_equal, detach, dump, run_test, say, temporary_directory  # noqa: E402


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "count": len(values)}


def text(figures, unit, digits=0):
    return f"{figures['median']:.{digits}f} {unit} ({figures['min']:.{digits}f}..{figures['max']:.{digits}f})"


def stop_times(rounds):
    say("\nHow long threads are stopped: median (least..most)")
    say(f"{'sleeping threads':>18} {'attach':>28} {'dump':>28} {'detach':>28}")
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rows = []
    for threads in (1, 16, 100):
        target = Target("many_threads", threads - 1)  # and its main thread
        times = {"attach": [], "dump": [], "detach": []}
        for _ in range(rounds):
            times["attach"].append(attach(target.pid)["stopped_us"])
            times["dump"].append(dump(target.pid, path)["stopped_us"])
            times["detach"].append(detach(target.pid)["stopped_us"])
        target.end()
        row = {name: summary(values) for name, values in times.items()}
        say(f"{threads:>18} " + " ".join(f"{text(row[name], 'us'):>28}" for name in times))
        rows.append({"threads": threads, **row})
    return rows


def pair_costs(rounds):
    say("\nA malloc(64)+free pair, exact against unhooked, measured in turn: median (least..most)")
    say(f"{'frames':>8} {'live blocks':>12} {'unhooked':>22} {'exact':>22} {'ratio':>20}")
    rows = []
    for frames in (5, 13, 29):
        for live in (1, 1000, 100000):
            target = Target("pair", frames, live)
            float(target.ask("measure"))  # warm
            plain, exact, ratios = [], [], []
            for _ in range(rounds):
                plain.append(float(target.ask("measure")))
                attach(target.pid)
                exact.append(float(target.ask("measure")))
                detach(target.pid)
                ratios.append(exact[-1] / plain[-1])
            target.end()
            row = {"unhooked_ns": summary(plain), "exact_ns": summary(exact), "ratio": summary(ratios)}
            say(f"{frames:>8} {live:>12} {text(row['unhooked_ns'], 'ns', 1):>22} {text(row['exact_ns'], 'ns', 1):>22} "
                f"{text(row['ratio'], 'x', 2):>20}")
            rows.append({"frames": frames, "live": live, **row})
    return rows


def dump_times(rounds):
    say("\nA dump of live blocks from 1,000 stacks: median (least..most)")
    say(f"{'live blocks':>12} {'total':>26} {'stopped':>26} {'copy':>26} {'file':>12}")
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rows = []
    for blocks in (10**4, 10**5, 10**6):
        target = Target("pair", 5, 1)
        attach(target.pid)
        check_equal(target.ask(f"fill {blocks}"), "done", "answer")
        reports = [dump(target.pid, path) for _ in range(rounds)]
        detach(target.pid)
        target.end()
        row = {name: summary([report[name] / 1000 for report in reports]) for name in ("total_us", "stopped_us", "copy_us")}
        size = reports[-1]["bytes"]
        say(f"{blocks:>12} " + " ".join(f"{text(row[name], 'ms', 1):>26}" for name in row) + f" {size:>10} B")
        rows.append({"live": blocks, "live_objects": reports[-1]["live_objects"], "bytes": size,
                     **{name[:-3] + "_ms": values for name, values in row.items()}})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    rounds = 3 if options.quick else 7
    say(f"{platform.machine()}, {os.cpu_count()} processors, Linux {platform.release()}; {rounds} rounds each")
    result = {"stop": stop_times(rounds), "pair": pair_costs(rounds), "dump": dump_times(rounds)}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


run_test(main, "bench")
