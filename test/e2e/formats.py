# SPDX-License-Identifier: Apache-2.0
"""One process in each format that -o knows: the same stacks, the same values. What other programs make of the files: test/readers/."""

import json
import os
import re
import subprocess

import profiles
from harness import Target, attach, check, check_equal, detach, dump, heapsnap, heapsnap_ok, run_test, say, target_path, temporary_directory

VALUES = ("alloc_objects", "alloc_bytes", "live_objects", "live_bytes")


def sums(stacks):
    """By the names of a stack's functions, innermost first. An address without a name has different names in different formats."""
    result = {}
    for names, values in stacks:
        names = tuple("?" if name.startswith("0x") or "+0x" in name else name for name in names) or ("[stack unknown]",)
        result[names] = tuple(a + b for a, b in zip(result.get(names, (0,) * len(values)), values))
    return {names: values for names, values in result.items() if any(values)}


def of_json(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    return profile, sums(((frame["function"] for frame in stack["frames"]), tuple(stack[value] for value in VALUES)) for stack in profile["stacks"])


def of_collapsed(text):
    rows = [line.rsplit(" ", 1) for line in text.splitlines()]
    return sums((reversed(stack.split(";")), (int(value),)) for stack, value in rows)


def of_speedscope(path):
    with open(path, encoding="utf-8") as file:
        scope = json.load(file)
    frames = [frame["name"] for frame in scope["shared"]["frames"]]
    return [sums(((frames[frame] for frame in reversed(stack)), (weight,)) for stack, weight in zip(each["samples"], each["weights"])) for each in scope["profiles"]]


def column(stacks, index):
    return {names: (values[index],) for names, values in stacks.items() if values[index]}


def main():
    folder = temporary_directory()
    path = lambda name: os.path.join(folder, name)
    target = Target("ground_truth", 3, 77, target_path("libtruth_plugin.so"))
    attach(target.pid)
    target.ask_json("go")

    dump(target.pid, path("out.pb.gz"))
    pprof = sums((names, values.tuple()) for names, values in profiles.samples(path("out.pb.gz")))
    report = dump(target.pid, path("out.json"))
    whole, stacks = of_json(path("out.json"))
    check_equal(stacks, pprof, "stacks of .json and of pprof")
    check(len(stacks) > 20 and any(len(names) > 5 for names in stacks), f"only {len(stacks)} stacks")
    for key in ("pid", "live_objects", "live_bytes", "estimate", "samples", "interval", "live_bytes_error"):
        check_equal(whole[key], report[key], f"{key} of .json and of dump --json")
    check_equal([line["name"] for line in whole["ledger"]], [line["name"] for line in report["ledger"]], "lines of the ledger")
    check_equal(set(whole["stacks"][0]["frames"][0]) | {"class", "why"}, set(report["sites"][0]["stack"][0]), "what is said of a frame")
    shown = heapsnap_ok("report", path("out.pb.gz"))["stacks"]
    check_equal(sums(((frame["function"] for frame in stack["frames"]), tuple(stack[value] for value in VALUES)) for stack in shown), stacks, "what report --json says")

    for name in ("out.collapsed", "out.folded"):
        dump(target.pid, path(name))
        with open(path(name), encoding="utf-8") as file:
            check_equal(of_collapsed(file.read()), column(pprof, 3), name)
    piped = subprocess.run([os.environ["HEAPSNAP"], "dump", str(target.pid), "-o", "-", "--format", "collapsed", "--quiet"], check=True, stdout=subprocess.PIPE, text=True)
    check_equal(of_collapsed(piped.stdout), column(pprof, 3), "collapsed stacks on standard output")
    for options in (["--json"], []):  # nobody reads on, as behind head
        read, write = os.pipe()
        os.close(read)
        ended = subprocess.run([os.environ["HEAPSNAP"], "report", path("out.pb.gz"), *options], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
        os.close(write)
        check_equal((ended.returncode, ended.stderr), (1, ""), f"a closed pipe, {options}")
    dump(target.pid, path("as_json.pb.gz"), "--format", "json")
    check_equal(of_json(path("as_json.pb.gz"))[1], stacks, "--format json")
    dump(target.pid, path("out.speedscope.json"))
    check_equal(of_speedscope(path("out.speedscope.json")), [column(pprof, index) for index in (3, 2, 1, 0)], "speedscope's four profiles")

    dump(target.pid, path("out.txt"))
    with open(path("out.txt"), encoding="utf-8") as file:
        text = file.read()
    totals = re.search(r"^  live +(.*) in ([0-9,]+) blocks?\n  allocated +(.*) in ([0-9,]+) blocks?; ", text, re.M)
    check(text.startswith("heapsnap report of ") and totals, f"text: {text[:400]}")
    check_equal([int(totals[group].replace(",", "")) for group in (2, 4)], [whole["live_objects"], whole["alloc_objects"]], "blocks in the text")
    rows = re.findall(r"^ +[0-9.]+ \w+ +([0-9,]+) +[0-9.]+ \w+  (\S.*)$", text, re.M)
    check_equal((len(rows), sum(int(count.replace(",", "")) for count, _ in rows)), (len(report["sites"]), whole["live_objects"]), "sites in the text")
    check_equal(sum(bool(re.match(r"[! ] {4,}[0-9, ]+  \S", line)) for line in text.split("Ledger")[1].splitlines()[1:]), len(whole["ledger"]), "its ledger")

    for name, words in (("out.folded", "below 0"), ("out.speedscope.json", "below 0")):
        before = os.stat(path(name)).st_mtime_ns
        result = heapsnap("diff", path("out.pb.gz"), path("out.pb.gz"), "-o", path(name))
        check(result.status == 1 and words in result.stderr, f"a difference as {name}: {result}")
        check_equal(os.stat(path(name)).st_mtime_ns, before, f"{name} was touched")
    result = heapsnap("diff", path("out.pb.gz"), path("out.pb.gz"), "-o", path("diff.json"))
    check_equal(result.status, 0, str(result))
    check_equal(of_json(path("diff.json"))[0]["compared_with"], path("out.pb.gz"), "what was taken off")
    result = heapsnap("diff", path("out.pb.gz"), path("out.pb.gz"), "-o", path("diff.txt"))
    with open(path("diff.txt"), encoding="utf-8") as file:
        check(result.status == 0 and file.read().startswith("heapsnap report of a difference, of "), f"a difference as text: {result}")
    for arguments, words in ((("-o", path("x"), "--format", "xml"), "--format expects"), (("--format", "json"), "--format needs -o")):
        result = heapsnap("dump", target.pid, *arguments)
        check(result.status == 2 and words in result.stderr, f"{arguments}: {result}")
    check(not os.path.exists(path("x")), "a file was written all the same")
    check_equal(target.ask("finish"), "ok", "contents of the blocks")
    detach(target.pid)
    target.end()
    say(f"{len(stacks)} stacks in 6 formats")


run_test(main, "formats")
