# SPDX-License-Identifier: Apache-2.0
"""Heaps of a known size: what heapsnap keeps about them, and what a dump of them takes."""

import json
import os
import re
import subprocess

from figures import plain, summary, text
from harness import HEAPSNAP, Mapping, Target, attach, check, check_equal, detach, read_text, say, start, temporary_directory

MIB = 1 << 20


def resident(pid):
    """Bytes: of heapsnap's shared memory, of all its mappings, of the heap and other anonymous memory."""
    shared, ours, anonymous = 0, 0, 0
    is_ours = False
    name = permissions = end = ""
    for line in read_text(f"/proc/{pid}/smaps").splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)", line)
        if match:
            # Behind the payload's image lie its state pages, which have no name.
            behind = name if match[1] == end and "heapsnap-code" in name else ""
            permissions, end, name = match[3], match[2], match[5] or behind
            is_ours = Mapping(line).is_region() or "heapsnap" in name
        elif line.startswith("Rss:"):
            size = int(line.split()[1]) * 1024
            if is_ours:
                ours += size
                shared += size if "s" in permissions else 0
            elif name in ("", "[heap]"):
                anonymous += size
    return shared, ours, anonymous


class Filled:
    """A program with such a heap, attached to before it has it."""

    def __init__(self, blocks, size, digits, *options):
        self.target = Target("fill")
        before = resident(self.target.pid)[2]
        attach(self.target.pid, *options)
        check_equal(self.target.ask(f"fill {blocks} {size} {digits}", 600), "done", "answer")
        self.region, self.ours, anonymous = resident(self.target.pid)
        # But for the program's own list of its blocks.
        self.heap = anonymous - before - blocks * 8

    def end(self):
        detach(self.target.pid)
        self.target.end()


def memory(cases):
    """cases: mode, blocks, size, digits."""
    say("\nMemory that heapsnap keeps resident in the target")
    say(f"{'mode':>28} {'live blocks':>12} {'bytes each':>11} {'stacks':>8} {'asked for':>12} {'the heap':>12} {'heapsnap':>12} "
        f"{'a block':>9} {'of asked for':>13} {'of the heap':>12}")
    rows = []
    for mode, blocks, size, digits in cases:
        filled = Filled(blocks, size, digits, *mode.options)
        filled.end()
        row = {"mode": mode.name, "live": blocks, "size": size, "stacks": 10**digits, "asked_bytes": blocks * size,
               "heap_bytes": filled.heap, "region_bytes": filled.region, "heapsnap_bytes": filled.ours}
        say(f"{mode.title:>28} {blocks:>12,} {size:>11,} {10**digits:>8,} {blocks * size / MIB:>8.1f} MiB {filled.heap / MIB:>8.1f} MiB "
            f"{filled.ours / MIB:>8.2f} MiB {filled.region / blocks:>7.1f} B {filled.region / (blocks * size):>13.3f} "
            f"{filled.region / filled.heap:>12.3f}")
        rows.append(row)
    return rows


def dump_measured(pid, path, options):
    """The report of a dump, with the peak of memory of the largest of the tool's processes and its processor time."""
    process = start([HEAPSNAP, "dump", str(pid), "-o", path, "--json", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL)
    report = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check_equal(process.returncode, 0, "exit status of heapsnap dump")
    return {**json.loads(report), "peak_bytes": usage.ru_maxrss * 1024, "processor_us": (usage.ru_utime + usage.ru_stime) * 1e6}


TIMES = ("total", "stopped", "copy", "symbolize", "processor")


def dump_row(name, pid, path, rounds, *options):
    reports = [dump_measured(pid, path, options) for _ in range(rounds)]
    last = reports[-1]
    row = {"of": " ".join([name, *options]), "live": last["live_objects"], "stacks": last["stack_count"], "bytes": last["bytes"],
           "peak_bytes": summary([report["peak_bytes"] for report in reports]),
           **{f"{time}_ms": summary([report[f"{time}_us"] / 1000 for report in reports]) for time in TIMES}}
    say(f"{row['of']:>16} {row['live']:>11,} {row['stacks']:>7,} " + " ".join(f"{text(row[f'{time}_ms']):>24}" for time in TIMES)
        + f" {plain(row['peak_bytes']['median'] / MIB):>7} MiB {row['bytes'] / 1024:>8.1f} KiB")
    return row


def dumps(cases, rounds, mode, compilation, shallow):
    """cases: blocks, digits, all attached to in this mode. `compilation`: starts a clang that waits for its source; it is dumped in both modes."""
    say("\nA dump, in ms: median (least..most). Peak: of the tool's memory, its largest process")
    say(f"{'of':>16} {'live':>11} {'stacks':>7} " + " ".join(f"{time:>24}" for time in TIMES) + f" {'peak':>11} {'file':>12}")
    path, rows = os.path.join(temporary_directory(), "out.pb.gz"), []
    for blocks, digits in cases:
        filled = Filled(blocks, 0, digits, *mode.options)
        rows.append(dump_row("fill", filled.target.pid, path, rounds))
        check(rows[-1]["live"] >= blocks, f"{rows[-1]['live']} live blocks of {blocks}")
        rows.append(dump_row("fill", filled.target.pid, path, rounds, "--stop"))
        filled.end()
    return rows + [dump_of_clang(name, path, rounds, one, compilation) for name, one in (("clang", mode), ("clang, 64 frames", shallow))]


def dump_of_clang(name, path, rounds, mode, compilation):
    """In the middle of its work, where it stands still: stacks through libLLVM, libclang-cpp and libstdc++."""
    running = compilation()
    attach(running.pid, *mode.options)
    running.begin(8)
    running.works(0.7)
    running.pause()
    row = dump_row(name, running.pid, path, rounds)
    row["region_bytes"] = resident(running.pid)[0]
    say(f"{'':>16} the region has {row['region_bytes'] / MIB:.1f} MiB")
    running.end()  # attached to as it is: it may stand still within a hook
    return row
