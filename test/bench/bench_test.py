# SPDX-License-Identifier: Apache-2.0
"""The benchmark itself: its programs do what they say, its figures are those of the values, what it writes has all fields, and whatever
happens it leaves nothing running. No time decides here."""

import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import figures  # noqa: E402
import instructions  # noqa: E402
import modes  # noqa: E402
import profiles  # noqa: E402
import publish  # noqa: E402
import workloads  # noqa: E402
from harness import (Failure, Target, attach, check, check_equal, detach, dump, read_text, run_cases, say, start,  # noqa: E402
                     target_path, temporary_directory, wait_until)

# Of pairs whose result is reckoned below.
PAIRS, LIVE = 2000, 100
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bench.py")


def reckoned_checksum(pairs, live):
    """What `pair` must answer, by the same rules in another language; blocks of one size."""
    mask, state, serial, total = (1 << 64) - 1, 0x9e3779b97f4a7c15, live, 0
    blocks = list(range(1, live + 1))
    for _ in range(pairs):
        state ^= state << 13 & mask
        state ^= state >> 7
        state ^= state << 17 & mask
        index = (state >> 32) * live >> 32
        total = (total * 31 + blocks[index]) & mask
        serial += 1
        blocks[index] = serial
    return f"{total:016x}"


def checksums():
    expected = reckoned_checksum(PAIRS, LIVE)
    for options in ([], ["--exact"]):
        target = Target("pair", 13, LIVE, 1, 64)
        if options:
            attach(target.pid, *options)
        check_equal(target.ask(f"pairs {PAIRS}"), expected, "checksum of the pairs")
        check_equal(len(target.ask("measure 20").split()), 3, "words of the answer")
        target.end()
    say(f"  {expected}, attached and not")
    for program, arguments in (("exchange", [13]), ("growth", [13]), ("pair", [29, 1000, 4, 0])):
        target = Target(program, *arguments)
        median, mean, operations = map(float, target.ask("measure 20").split())
        check(median > 0 and mean > 0 and operations > 0, f"{program}: {median} {mean} {operations}")
        target.end()


def depths():
    """The stack that heapsnap finds has as many frames as were asked for."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    for program, more in (("pair", [100, 1, 64]), ("growth", [])):
        for frames in (5, 13, 29):
            target = Target(program, frames, *more)
            attach(target.pid, "--exact")
            target.ask("measure 5")
            dump(target.pid, path)
            detach(target.pid)
            target.end()
            profile = profiles.read(path)
            most = len(max(profile.samples, key=lambda sample: sample.values[0]).locations)
            check_equal(most, frames, f"frames of most allocations of {program}")
    say("  5, 13 and 29 frames")


def instructions_are_counted():
    """Each interval between two breakpoints; a hook has more instructions than none."""
    target = Target("pair", 5, 100, 1, 64)
    counts = []
    for options in ([], ["--exact"]):
        if options:
            attach(target.pid, *options)
        target.ask(f"pairs {PAIRS}")
        tracer = start([target_path("steps"), str(target.pid), "20"], stdout=subprocess.PIPE, text=True)
        check_equal(tracer.stdout.readline(), "ready\n", "first line of steps")
        target.send("steps 20")
        lines = tracer.communicate(timeout=120)[0].split()
        check_equal((tracer.returncode, len(lines)), (0, 20), "status and lines of steps")
        target.line()
        counts.append(sorted(map(int, lines))[10])
    target.end()
    check(20 < counts[0] < counts[1], f"instructions unhooked and hooked: {counts}")
    say(f"  a pair: {counts[0]} instructions, {counts[1]} when it is recorded")


def figures_of_values():
    check_equal(figures.summary([3, 1, 2]), {"median": 2, "least": 1, "most": 3, "count": 3}, "summary")
    check_equal(figures.text(figures.summary([1, 2, 30])), "2.00 (1.00..30.0)", "text")
    check_equal(figures.text(None), "-", "text of nothing")
    mode = modes.unknown_option(("--no-such-option",))
    check(mode and "--no-such-option" in mode, f"an unknown option is taken for a known one: {mode}")
    check_equal(modes.unknown_option(("--exact",)), None, "the reason to leave out a known option")
    try:
        workloads.find("no-such-program")
    except workloads.Skipped as skipped:
        check("no-such-program" in str(skipped), str(skipped))
    else:
        raise Failure("a program that is not there was found")


def plain_instructions_are_counted():
    """As many as are said, and the calls that lead to them."""
    plain = modes.Plain()
    check_equal(plain.left_out, None, "why it is left out")
    unhooked, more = (statistics.median(instructions.count_under(mode, temporary_directory(), 13, 1000, 20)) for mode in (instructions.BASE, plain))
    check(304 <= more - unhooked <= 320, f"{unhooked} and {more} instructions")
    check(str(304) in plain.title, plain.title)
    say(f"  304 plain instructions: {more - unhooked:.0f} more")


def bench(*options):
    process = start(["/usr/bin/python3", BENCH, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.communicate(timeout=300)[0]
    return process.returncode, output


def whole_run():
    path = os.path.join(temporary_directory(), "bench.json")
    status, output = bench("--quick", "--rounds", "1", "--only", "tight-13-1000", "--only", "stop", "--only", "first", "--only", "memory", "--peers", "none",
                           "--modes", "exact,detached", "--commit", "abc", "--json", path)
    check_equal(status, 0, f"status of the benchmark: {output}")
    result = json.loads(read_text(path))
    check_equal((result["commit"], result["rounds"], result["quick"]), ("abc", 1, True), "what was measured")
    check(result["machine"]["processors"] > 0 and result["machine"]["kernel"] and result["machine"]["heapsnap"], f"{result['machine']}")
    check_equal([(row["workload"], row["mode"], row["base"]) for row in result["costs"]],
                [("tight-13-1000", "exact", "glibc"), ("tight-13-1000", "detached", "glibc")], "rows")
    for row in result["costs"]:
        for name in ("base_cost", "cost", "ratio", "processor_ratio"):
            check(row[name]["count"] == 1 and 0 < row[name]["least"] <= row[name]["median"] <= row[name]["most"], f"{name}: {row[name]}")
    check_equal([row["threads"] for row in result["stop"]], [1, 100], "threads")
    check_equal([(row["to_ms"], row["share"]["count"]) for row in result["first"]], [(t, 2) for t in (100, 300, 700, 1500, 3100, 6300)], "windows")
    check(result["memory"][0]["region_bytes"] > 0 and result["memory"][0]["heap_bytes"] > 64 * 10**5, f"{result['memory']}")
    check_equal(result["failed"], [], "what failed")
    directory = temporary_directory()
    publish.publish(result, directory)
    for picture in glob.glob(f"{directory}/*.svg"):
        xml.etree.ElementTree.parse(picture)
    figures = read_text(f"{directory}/performance-figures.md")
    check("tight pair" in figures and "| 3100 ms | 6300 ms |" in figures, "the figures are not in the document")
    status, output = bench("--only", "nothing")
    check(status == 1 and "no such workload: nothing" in output, f"{status} {output}")


def begun(pid):
    """When the kernel started it; None when it is no more. With the number it says which process this is."""
    try:
        return read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def descendants(pid):
    """{pid: (name, when it was started)}"""
    found = {}
    try:
        for child in map(int, read_text(f"/proc/{pid}/task/{pid}/children").split()):
            found[child] = read_text(f"/proc/{child}/comm").strip(), begun(child)
            found.update(descendants(child))
    except OSError:
        pass
    return found


def ended_in_the_middle():
    """A server would go on for ever, if nobody ended it."""
    process = start(["/usr/bin/python3", BENCH, "--only", "redis", "--rounds", "100000", "--peers", "none", "--modes", "exact"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: "redis-server" in [name for name, _ in descendants(process.pid).values()], "it has started a server", 60)
    started = descendants(process.pid)
    process.send_signal(signal.SIGTERM)
    check(process.wait(60) != 0, "it did not say that it was ended")

    def left():
        return [name for pid, (name, when) in started.items() if when and begun(pid) == when]
    wait_until(lambda: not left(), f"nothing of {started} is left running", 30)
    say("  a server is ended with the benchmark")


run_cases([figures_of_values, checksums, depths, instructions_are_counted, plain_instructions_are_counted, whole_run, ended_in_the_middle], "bench")
