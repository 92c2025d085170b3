# SPDX-License-Identifier: Apache-2.0
"""symbols.py NAME_ADDRESSES FILE [COUNT]: names of addresses of a file, by heapsnap, llvm-symbolizer and eu-addr2line, in turn: processor time,
and in how many answers they differ. NAME_ADDRESSES is that program of the build (test/targets/name_addresses)."""

import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys

TURNS = 3


def text_range(path):
    table = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\] \.text\s+PROGBITS\s+(\w+) \w+ (\w+)", table)
    return range(int(match[1], 16), int(match[1], 16) + int(match[2], 16))


def run(command, given):
    """Output, and processor time of the program and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def frame(function, place):
    """Paths are told by their last part: the tools join folder and name in ways of their own."""
    file, line = re.fullmatch(r"(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator.*\))?", place).groups()
    return re.sub(r"@.*", "", function), os.path.basename(file), 0 if line == "?" else int(line)


def of_heapsnap(output):
    frames = []
    for line in output.splitlines():
        if line.startswith("0x"):
            frames.append([])
        else:
            frames[-1].append(frame(*line.rsplit(" ", 1)))
    return frames


def of_llvm(output):
    answers = []
    for block in output.split("\n\n"):
        lines = block.strip("\n").splitlines()
        frames = [frame(lines[i], lines[i + 1]) for i in range(0, len(lines) - 1, 2)]
        answers.append([item for item in frames if item[0] != "??"])
    return answers[:-1] if not answers[-1] else answers


def side_by_side(program, path, given, expected):
    """The file as eight modules, by one process after the other, and by as many at once as there are processors: how long that takes."""
    ratios = []
    for _ in range(TURNS):
        seconds = []
        for readers in ({"HEAPSNAP_TEST_SYMBOL_READERS": "1"}, {}):
            result = subprocess.run([program, path, "8"], input=given, capture_output=True, text=True, check=True, env={**os.environ, **readers})
            assert result.stdout == expected, "eight modules have other names than one"
            seconds.append(float(result.stderr.split()[0]))
        ratios.append(seconds[0] / seconds[1])
    print(f"eight modules at once on {len(os.sched_getaffinity(0))} processors: {statistics.median(ratios):.1f} times as fast as one after the other "
          f"({min(ratios):.1f} to {max(ratios):.1f} in {TURNS} turns)")


def main():
    program, path = sys.argv[1:3]
    text = text_range(path)
    count = min(int(sys.argv[3]) if len(sys.argv) > 3 else 100000, len(text))
    addresses = sorted(random.Random(1).sample(text, count))
    given = "".join(f"0x{address:x}\n" for address in addresses)
    commands = {"heapsnap": [program, path]}
    if shutil.which("llvm-symbolizer"):
        commands["llvm-symbolizer"] = ["llvm-symbolizer", f"--obj={path}", "--inlines", "--functions=linkage", "--no-demangle"]
    if shutil.which("eu-addr2line"):
        commands["eu-addr2line -i"] = ["eu-addr2line", "-i", "-f", "-e", path]
    times, outputs = {name: [] for name in commands}, {}
    for _ in range(TURNS):
        for name, command in commands.items():
            outputs[name], seconds = run(command, given)
            times[name].append(seconds)
    for name, values in times.items():
        # Of runs one after the other: what else the machine does, it does to both.
        ratios = [value / ours for value, ours in zip(values, times["heapsnap"])]
        print(f"{name:16} {statistics.median(values):7.3f} s of processor time for {count} addresses, {statistics.median(ratios):.1f} times heapsnap's "
              f"({min(ratios):.1f} to {max(ratios):.1f} in {TURNS} turns)")
    side_by_side(program, path, given, outputs["heapsnap"])
    if "llvm-symbolizer" not in outputs:
        return
    left, right = of_heapsnap(outputs["heapsnap"]), of_llvm(outputs["llvm-symbolizer"])
    assert len(left) == count and len(right) == count, (len(left), len(right))
    kinds = {"as many frames, other names": 0, "as many frames, other lines": 0, "other frames": 0, "heapsnap alone names it": 0,
             "llvm-symbolizer alone names it": 0}
    shown = {}
    for address, a, b in zip(addresses, left, right):
        if a == b:
            continue
        kind = ("heapsnap alone names it" if not b else "llvm-symbolizer alone names it" if not a else "other frames" if len(a) != len(b)
                else "as many frames, other names" if [item[0] for item in a] != [item[0] for item in b] else "as many frames, other lines")
        kinds[kind] += 1
        shown.setdefault(kind, f"0x{address:x}: {a}, not {b}")
    print(f"the same in {count - sum(kinds.values())} of {count}")
    for kind, number in kinds.items():
        if number:
            print(f"  {number} {kind}, for example {shown[kind]}")


main()
